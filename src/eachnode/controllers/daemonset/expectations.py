"""What we have done and not yet seen: nothing is decided upon a world that does not know our last writes.

Two guards, as in the reference. Expectations name the pods that a pass created or deleted; until each was seen, or the
patience ends, only the status is kept up to date. Versions say how far the caches must have come to hold what we wrote.
Both live in memory only: a new process has seen everything that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eachnode.objects.meta import Key


@dataclass(slots=True)
class Expectations:
    """The pods of one DaemonSet that we created or deleted in its last pass, and have not seen come or go."""

    patience: float
    creates: set[Key] = field(default_factory=set)
    deletes: set[str] = field(default_factory=set)
    since: float = 0.0

    def begin(self, now: float) -> None:
        """A new pass acts: what the one before left open is no longer waited for."""
        self.creates.clear()
        self.deletes.clear()
        self.since = now

    def satisfied(self, now: float) -> bool:
        """Whether everything was seen, or was waited for long enough."""
        return (not self.creates and not self.deletes) or now - self.since > self.patience

    @property
    def deadline(self) -> float:
        """When waiting ends at the latest."""
        return self.since + self.patience

    def saw(self, key: Key, uid: str, *, leaving: bool) -> None:
        """A pod of ours is there, or leaving, or gone."""
        self.creates.discard(key)
        if leaving:
            self.deletes.discard(uid)

    def will_not_create(self, key: Key) -> None:
        """That create failed, so it will never be seen."""
        self.creates.discard(key)

    def will_not_delete(self, uid: str) -> None:
        """That delete failed, so it will never be seen."""
        self.deletes.discard(uid)


@dataclass(slots=True)
class Versions:
    """How far the caches must have come before the next decision, by the plural of what was written."""

    needed: dict[str, int] = field(default_factory=dict)

    def wrote(self, plural: str, version: str) -> None:
        """An object was written at this version; what is no number never blocks."""
        number = _number(version)
        if number > self.needed.get(plural, 0):
            self.needed[plural] = number

    def behind(self, seen: Callable[[str], str]) -> str:
        """The cache that has not come far enough; empty when all have. `seen` tells how far one has come."""
        for plural, wanted in list(self.needed.items()):
            version = seen(plural)
            if 0 < _number(version) < wanted:
                return plural
            del self.needed[plural]
        return ""


def _number(version: str) -> int:
    return int(version) if version.isascii() and version.isdigit() else 0
