"""Role bindings and cluster role bindings: who has a role."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from eachnode.objects.formats import dns_subdomain, path_segment
from eachnode.objects.resources import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS
from eachnode.server.field_errors import FieldError, invalid, not_supported, required
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of

GROUP = "rbac.authorization.k8s.io"


def _default(tree: Tree) -> None:
    role = tree.setdefault("roleRef", {})
    role["apiGroup"] = role.get("apiGroup") or GROUP
    for subject in tree.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or GROUP


def _validate(namespaced: bool, tree: Tree) -> Iterator[FieldError]:
    role = tree.get("roleRef", {})
    if role.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind", "") not in kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), kinds)
    for problem in path_segment(role.get("name", "")):
        yield invalid("roleRef.name", role["name"], problem)
    subjects = tree.get("subjects") or ()
    for index, subject in enumerate(subjects):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced)
    # The reference checks these two by its schema, after everything else.
    for index, subject in enumerate(subjects):
        if not subject.get("name"):
            yield required(f"subjects[{index}].name")
    if not role.get("name"):
        yield required("roleRef.name")


def _validate_subject(subject: Tree, path: str, namespaced: bool) -> Iterator[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        for problem in dns_subdomain(name) if name else ():
            yield invalid(f"{path}.name", name, problem)
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != GROUP:
            yield not_supported(f"{path}.apiGroup", group, (GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    if new.get("roleRef") != old.get("roleRef"):
        role = new.get("roleRef", {})
        internal = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
        yield invalid("roleRef", internal, "field is immutable")


def _row(tree: Tree, now: float) -> list[Any]:
    role, subjects = tree.get("roleRef", {}), tree.get("subjects") or ()
    accounts = [
        f"{subject.get('namespace', '')}/{subject.get('name', '')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(tree),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(tree, now),
        _names(subjects, "User"),
        _names(subjects, "Group"),
        ", ".join(accounts),
    ]


def _names(subjects: Any, kind: str) -> str:
    return ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)


def _columns(kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        Column("Role", description="The role that its subjects have."),
        AGE,
        Column("Users", priority=1, description=f"Users in the {kind}"),
        Column("Groups", priority=1, description=f"Groups in the {kind}"),
        Column("ServiceAccounts", priority=1, description=f"ServiceAccounts in the {kind}"),
    )


ROLE_BINDING = Kind(
    resource=ROLE_BINDINGS,
    singular="rolebinding",
    definition="io.k8s.api.rbac.v1.RoleBinding",
    default=_default,
    validate=partial(_validate, True),
    validate_update=_validate_update,
    validate_name=name_rules.path_segment,
    create_on_update=True,
    columns=_columns("roleBinding"),
    row=_row,
)

CLUSTER_ROLE_BINDING = Kind(
    resource=CLUSTER_ROLE_BINDINGS,
    singular="clusterrolebinding",
    definition="io.k8s.api.rbac.v1.ClusterRoleBinding",
    default=_default,
    validate=partial(_validate, False),
    validate_update=_validate_update,
    validate_name=name_rules.path_segment,
    create_on_update=True,
    columns=_columns("clusterRoleBinding"),
    row=_row,
)
