"""May they? Role-based access control over the roles and bindings in the store.

Roles are read once and kept until one of them changes. Members of `system:masters` may do everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eachnode.objects.document import Document, View
from eachnode.objects.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Resource
from eachnode.objects.status import Details, Forbidden
from eachnode.server.http.rbac import EVERYTHING, Ask, Binding, Given, Role, RoleBook, Rule, allows
from eachnode.server.kind import Caller

RBAC_KINDS = (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
_FULL = (Rule(("*",), ("*",), ("*",)), Rule(("*",), non_resource_urls=("*",)))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed, and what else there is to say."""

    allowed: bool
    cause: str | Given = ""

    @property
    def reason(self) -> str:
        """The same in the reference's words."""
        return f"RBAC: allowed by {self.cause}" if isinstance(self.cause, Given) else self.cause


class Authorizer:
    """Decides by the roles in the store what callers may do."""

    def __init__(self, documents: Callable[[Resource], Iterable[Document]], version: Callable[[Resource], int]) -> None:
        """`documents` lists all objects of a kind; `version` changes whenever one of them does."""
        self._documents = documents
        self._version = version
        self._book = RoleBook()
        self._seen: tuple[int, ...] = ()

    def allowed(self, caller: Caller, ask: Ask) -> Decision:
        """Whether the caller may do it, and by which binding, or which roles could not be found."""
        if EVERYTHING in caller.groups:
            return Decision(True)
        missing: list[str] = []
        book = self.book()
        for given in book.given_to(caller, ask.namespace):
            for rule in book.rules_of(given.binding.role_ref, given.namespace, missing):
                if allows(rule, ask):
                    return Decision(True, given)
        return Decision(False, _resolution(missing))

    def rules_for(self, caller: Caller, namespace: str) -> tuple[Rule, ...]:
        """All rules that apply to the caller in a namespace."""
        return _FULL if EVERYTHING in caller.groups else tuple(self.book().rules_for(caller, namespace))

    def require(self, caller: Caller, ask: Ask) -> None:
        """Nothing if the caller may do it; raises the API's Forbidden otherwise."""
        decision = self.allowed(caller, ask)
        if not decision.allowed:
            raise refusal(caller, ask, decision.reason)

    def book(self) -> RoleBook:
        """The roles and bindings as they are now."""
        versions = tuple(self._version(kind) for kind in RBAC_KINDS)
        if versions != self._seen:
            self._book, self._seen = self._read(), versions
        return self._book

    def _read(self) -> RoleBook:
        bindings: defaultdict[str, list[Binding]] = defaultdict(list)
        for binding in self._views(ROLE_BINDINGS, Binding):
            bindings[binding.metadata.namespace].append(binding)
        by_namespace: Mapping[str, tuple[Binding, ...]] = {name: tuple(items) for name, items in bindings.items()}
        return RoleBook(
            roles={role.metadata.key: role for role in self._views(ROLES, Role)},
            cluster_roles={role.metadata.name: role for role in self._views(CLUSTER_ROLES, Role)},
            bindings=by_namespace,
            cluster_bindings=tuple(self._views(CLUSTER_ROLE_BINDINGS, Binding)),
        )

    def _views(self, resource: Resource, view: type[View]) -> list[View]:
        return [document.read(view) for document in self._documents(resource)]


def refusal(caller: Caller, ask: Ask, reason: str = "") -> Forbidden:
    """The 403 that says who cannot do what, and where."""
    sentence = _sentence(caller, ask).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    sentence = f"{sentence}: {reason}" if reason else sentence
    qualified = f"{ask.resource}.{ask.group}" if ask.group else ask.resource
    if not qualified:
        return Forbidden(f"forbidden: {sentence}", details=Details())
    named = f'{qualified} "{ask.name}"' if ask.name else qualified
    details = Details(name=ask.name, group=ask.group, kind=ask.resource)
    return Forbidden(f"{named} is forbidden: {sentence}", details=details)


def _sentence(caller: Caller, ask: Ask) -> str:
    if ask.path:
        return f'User "{caller.name}" cannot {ask.verb} path "{ask.path}"'
    what = f'User "{caller.name}" cannot {ask.verb} resource "{ask.combined}" in API group "{ask.group}"'
    return f'{what} in the namespace "{ask.namespace}"' if ask.namespace else f"{what} at the cluster scope"


def _resolution(missing: list[str]) -> str:
    if not missing:
        return ""
    return f"RBAC: {missing[0]}" if len(missing) == 1 else f"RBAC: [{', '.join(missing)}]"
