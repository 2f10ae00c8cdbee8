"""What all kinds have in common in `metadata`: what the server sets there, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.server.field_errors import FieldError
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.verbs.refusals import wrong_namespace
from eachnode.server.verbs.registry import Served

_SET_BY_THE_SERVER = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def wipe(about: Tree) -> None:
    """Takes out of a new object's metadata what only the server may say."""
    for key in _SET_BY_THE_SERVER:
        about.pop(key, None)


def settle_namespace(about: Tree, served: Served, namespace: str) -> None:
    """Puts the object into the namespace of the request; raises BadRequest when it says another."""
    if not served.resource.namespaced:
        about.pop("namespace", None)
    elif about.setdefault("namespace", namespace) != namespace:
        if about["namespace"]:
            raise wrong_namespace()
        about["namespace"] = namespace


def drop_repeated_owners(about: Tree, call: Call) -> None:
    """Keeps each owner reference once."""
    owners: list[Any] = about.get("ownerReferences") or []
    kept: list[Any] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
    if len(kept) != len(owners):
        about["ownerReferences"] = kept


def validate(about: Tree, kind: Kind) -> Iterator[FieldError]:
    """Everything wrong with a new object's metadata."""
    return iter(())


def validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    """Everything wrong with how metadata is to change."""
    return iter(())


def keep(new: Tree, old: Tree) -> None:
    """Restores in an update's metadata what an update cannot change."""
    for key in ("generation", "creationTimestamp", "deletionTimestamp"):
        if key in old:
            new[key] = old[key]
    for key in ("uid", "deletionGracePeriodSeconds"):
        if key in old:
            new.setdefault(key, old[key])
