"""Options of requests, judged alike wherever they stand: in a query, in the body of a DELETE, in an eviction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import Resource
from eachnode.objects.status import BadRequest
from eachnode.server.field_errors import FieldError, invalid, not_supported, refusal

_POLICIES = ("Foreground", "Background", "Orphan")


def delete_options(tree: Mapping[str, Any]) -> DeleteOptions:
    """The options of a delete from their JSON form; raises Invalid for those that nobody knows."""
    policy, orphan = tree.get("propagationPolicy"), tree.get("orphanDependents")
    errors: list[FieldError] = []
    if orphan is not None and policy is not None:
        errors.append(
            invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    dry_run = tree.get("dryRun") or []
    if isinstance(dry_run, list):
        errors += dry_run_errors(dry_run)
    errors += _unsafe_delete_errors(tree)
    refuse("DeleteOptions", errors)
    try:
        return msgspec.convert(tree, DeleteOptions)
    except msgspec.ValidationError as error:
        raise BadRequest(f"DeleteOptions cannot be read: {error}") from None


def _unsafe_delete_errors(tree: Mapping[str, Any]) -> Iterator[FieldError]:
    """A deletion for what cannot even be read has no other options; here everything can, so it is one like others."""
    name = "ignoreStoreReadErrorWithClusterBreakingPotential"
    if tree.get(name):
        for other in ("propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"):
            if tree.get(other) is not None:
                yield invalid(name, True, f"cannot be set together with .{other}")


def dry_run_errors(values: list[str]) -> list[FieldError]:
    """What is wrong with the stages that a request is not to go through."""
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", values, ("All",))]


def refuse(kind: str, errors: Iterable[FieldError]) -> None:
    """Raises Invalid for options of this kind, if there are any errors."""
    found = tuple(errors)
    if found:
        raise refusal(Resource("meta.k8s.io", "v1", "", kind), "", found)
