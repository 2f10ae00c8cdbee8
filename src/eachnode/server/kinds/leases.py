"""Leases: who holds what, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects.resources import LEASES
from eachnode.server.field_errors import FieldError, invalid
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, at, name_of

_GATED = ("strategy", "preferredHolder")  # Of coordinated leader election, which a default cluster has switched off.


def _prepare_create(tree: Tree, _call: Call) -> None:
    for field in _GATED:
        tree.get("spec", {}).pop(field, None)


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    for field in _GATED:
        if field not in old.get("spec", {}):
            new.get("spec", {}).pop(field, None)


def _validate(tree: Tree) -> Iterator[FieldError]:
    spec = tree.get("spec", {})
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), at(tree, "spec", "holderIdentity", missing=""), age_of(tree, now)]


LEASE = Kind(
    resource=LEASES,
    singular="lease",
    definition="io.k8s.api.coordination.v1.Lease",
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_name=name_rules.dns_subdomain,
    unconditional_update=False,
    any_finalizers=True,
    create_on_update=True,
    columns=(NAME, Column("Holder", description="Who holds the lease."), AGE),
    row=_row,
)
