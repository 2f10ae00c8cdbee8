"""Priority classes: names for how much a pod matters; two of them belong to the system."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from eachnode.objects.resources import PRIORITY_CLASSES
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of

HIGHEST_OF_USERS = 1_000_000_000
SYSTEM_CLASSES = MappingProxyType({"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000})
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "


def _default(tree: Tree) -> None:
    tree.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["metadata"]["generation"] = 1


def _validate(tree: Tree) -> Iterator[FieldError]:
    name, value = name_of(tree), tree.get("value", 0)
    if name.startswith("system-"):
        if problem := _unlike_system_class(tree, name, value):
            yield forbidden("metadata.name", _RESERVED + problem)
    elif value > HIGHEST_OF_USERS:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}")
    policy = tree.get("preemptionPolicy")
    if policy == "":
        yield required("preemptionPolicy")
    elif policy is not None and policy not in PREEMPTION_POLICIES:
        yield not_supported("preemptionPolicy", policy, PREEMPTION_POLICIES)


def _unlike_system_class(tree: Tree, name: str, value: int) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if tree.get("globalDefault") else ""


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable")


def _row(tree: Tree, now: float) -> list[Any]:
    return [
        name_of(tree),
        tree.get("value", 0),
        tree.get("globalDefault", False),
        age_of(tree, now),
        tree.get("preemptionPolicy", ""),
    ]


PRIORITY_CLASS = Kind(
    resource=PRIORITY_CLASSES,
    singular="priorityclass",
    definition="io.k8s.api.scheduling.v1.PriorityClass",
    short_names=("pc",),
    default=_default,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_update=_validate_update,
    whole_update=True,
    validate_name=name_rules.dns_subdomain,
    columns=(
        NAME,
        Column("Value", "integer", description="The priority that pods of this class get."),
        Column("Global-Default", "boolean", description="Whether pods without a class get this one."),
        AGE,
        Column("PreemptionPolicy", description="Whether pods of this class push out others."),
    ),
    row=_row,
)
