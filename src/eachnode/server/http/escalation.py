"""Nobody grants what they do not have: checked when roles and bindings are written.

Writing a role takes the verb `escalate` or having all of its rules; writing a binding takes the verb `bind` on the role
or having all of the role's rules. It has the shape of admission, so that it also sees what a patch makes of an object.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from eachnode.objects.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from eachnode.objects.status import Details, Forbidden, NotFound
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.rbac import (
    EVERYTHING,
    Ask,
    RoleRef,
    Rule,
    compacted,
    described,
    quoted_list,
    uncovered,
)
from eachnode.server.kind import Call, Kind, Reader, Tree

_ALL = (Rule(("*",), ("*",), ("*",)), Rule(("*",), non_resource_urls=("*",)))
_RBAC_GROUP = ROLES.group


class NoEscalation:
    """Refuses roles and bindings that would give more than their writer has."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Nothing when the writer has all that is granted; raises Forbidden otherwise."""
        if kind.resource.group != _RBAC_GROUP or EVERYTHING in call.caller.groups:
            return
        if old is not None and _grants(tree) == _grants(old):
            return
        if kind.resource in (ROLES, CLUSTER_ROLES):
            self._check_role(kind, tree, old, call)
        elif kind.resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            self._check_binding(kind, tree, call)

    def _check_role(self, kind: Kind, tree: Tree, old: Tree | None, call: Call) -> None:
        name, namespace = _name(tree), _namespace(tree)
        ask = Ask("escalate", _RBAC_GROUP, kind.resource.plural, namespace=namespace, name=name)
        if self._authorizer.allowed(call.caller, ask).allowed:
            return
        rules = msgspec.convert(tree.get("rules") or [], list[Rule])
        self._require(kind, name, namespace, call, rules)
        if _gathers(tree) or (old is not None and _gathers(old)):
            owned = self._authorizer.rules_for(call.caller, namespace)
            if uncovered(owned, _ALL):
                raise _forbidden(kind, name, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, kind: Kind, tree: Tree, call: Call) -> None:
        name, namespace = _name(tree), _namespace(tree)
        ref = msgspec.convert(tree.get("roleRef") or {"kind": "", "name": ""}, RoleRef)
        plural = "clusterroles" if ref.kind == "ClusterRole" else "roles"
        ask = Ask("bind", _RBAC_GROUP, plural, namespace=namespace, name=ref.name)
        if self._authorizer.allowed(call.caller, ask).allowed:
            return
        missing: list[str] = []
        rules = list(self._authorizer.book().rules_of(ref, namespace, missing))
        if missing:
            # The reference names the kind that is written, not the one that is missing.
            details = Details(name=ref.name, group=_RBAC_GROUP, kind=kind.resource.plural)
            raise NotFound(f'{kind.resource.qualified} "{ref.name}" not found', details=details)
        self._require(kind, name, namespace, call, rules)

    def _require(self, kind: Kind, name: str, namespace: str, call: Call, rules: Iterable[Rule]) -> None:
        lacking = uncovered(self._authorizer.rules_for(call.caller, namespace), rules)
        if not lacking:
            return
        who = f'user "{call.caller.name}" (groups={quoted_list(call.caller.groups)})'
        lines = "\n".join(sorted({described(rule) for rule in compacted(lacking)}))
        raise _forbidden(kind, name, f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}")


def _forbidden(kind: Kind, name: str, sentence: str) -> Forbidden:
    details = Details(name=name, group=kind.resource.group, kind=kind.resource.plural)
    return Forbidden(f'{kind.resource.qualified} "{name}" is forbidden: {sentence}', details=details)


def _grants(tree: Tree) -> tuple[object, ...]:
    """The parts that give somebody something."""
    return tuple(tree.get(key) for key in ("rules", "aggregationRule", "roleRef", "subjects"))


def _gathers(tree: Tree) -> bool:
    return bool((tree.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _name(tree: Tree) -> str:
    return str(tree["metadata"].get("name", ""))


def _namespace(tree: Tree) -> str:
    return str(tree["metadata"].get("namespace", ""))
