"""What is to become of objects whose owners are gone or going.

An object belongs to the owners it names by uid. It goes when none of them is left; it holds back an owner that is being
deleted in the foreground for as long as its reference says so (`blockOwnerDeletion`); and it is set free by an owner
that is deleted with `orphan`. Mirrors pkg/controller/garbagecollector of Kubernetes.

The three answers, one for each situation of an object:

    judge_dependent   it has owners: does it still have one that stays?
    holds_back        its owner is being deleted in the foreground: must that wait for it?
    (an orphaning owner needs no judgement: every dependent is released, then the owner)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

from eachnode.objects.deletion import Propagation
from eachnode.objects.meta import Key, OwnerReference

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class GarbageMetadata(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The part of `metadata` that ownership is decided on."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def key(self) -> Key:
        """Its name within its kind."""
        return Key(self.namespace, self.name)


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """Any object, as the garbage collector sees it."""

    metadata: GarbageMetadata

    @property
    def is_going(self) -> bool:
        """Whether its deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is being deleted in the foreground."""
        return self.is_going and FOREGROUND in (self.metadata.finalizers or ())

    @property
    def releases_dependents(self) -> bool:
        """Whether it is being deleted and leaves its dependents behind."""
        return self.is_going and ORPHAN in (self.metadata.finalizers or ())

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        """Those it names as its owners."""
        return self.metadata.owner_references or ()


class OwnerState(Enum):
    """How an owner stands, as far as its dependents are concerned."""

    STAYS = "stays"
    WAITS = "is being deleted in the foreground"
    ABSENT = "is gone"


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Release:
    """Take these owners (by uid) off the object: it has another that stays."""

    uids: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object; before that, have it hold back none of its owners if `unblocks`."""

    propagation: Propagation
    because: str
    unblocks: bool = False


def judge_dependent(
    item: Owned, owners: Mapping[str, OwnerState], dependents: Sequence[Owned]
) -> Keep | Release | Delete:
    """What becomes of an object that has dependents, given how each of its owners (by uid) stands."""
    if item.is_going:
        return Keep()  # Its deletion has begun already; finalizers are their owners' business.
    gone = tuple(owner for owner in item.owners if owners[owner.uid] is not OwnerState.STAYS)
    if not gone:
        return Keep()
    names = ", ".join(f"{owner.kind} {owner.name} {owners[owner.uid].value}" for owner in gone)
    if len(gone) < len(item.owners):
        return Release(tuple(owner.uid for owner in gone), because=f"{names}, and another owner stays")
    in_foreground = bool(dependents) and any(owners[owner.uid] is OwnerState.WAITS for owner in gone)
    # A dependent that waits as well may own, in the end, what this object waits for: nobody would ever go.
    is_circle = in_foreground and any(dependent.waits_for_dependents for dependent in dependents)
    return Delete(_propagation(item, in_foreground), because=f"its owner {names}", unblocks=is_circle)


def _propagation(item: Owned, in_foreground: bool) -> Propagation:
    finalizers = item.metadata.finalizers or ()
    if in_foreground or FOREGROUND in finalizers:
        return "Foreground"
    return "Orphan" if ORPHAN in finalizers else "Background"


def holds_back(dependent: Owned, owner_uid: str) -> bool:
    """Whether this dependent keeps an owner that waits for its dependents."""
    return any(owner.uid == owner_uid and owner.block_owner_deletion for owner in dependent.owners)
