"""All objects of one kind: their newest state, in order, and the history of how it came about."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from eachnode.objects.resources import Resource
from eachnode.server.store.changes import Change
from eachnode.server.store.history import History, HistoryLimits
from eachnode.server.store.stored import FieldReaders, Stored, path_of


class Shelf:
    """The objects of one kind. What is written stands here at once; the history learns of it once it is committed."""

    def __init__(
        self,
        resource: Resource,
        readers: FieldReaders,
        objects: Iterable[Stored],
        *,
        start: int,
        limits: HistoryLimits,
        lifetime: float | None = None,
    ) -> None:
        self.resource = resource
        self.readers = readers
        self.lifetime = lifetime
        self.newest = 0  # The version of the last write, committed or not.
        self.history = History(start, limits)
        self._objects = {stored.path: stored for stored in objects}
        self._paths = sorted(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, namespace: str, name: str) -> Stored | None:
        """One object, or None."""
        return self._objects.get(path_of(namespace, name))

    def is_current(self, stored: Stored) -> bool:
        """Whether this is still the newest version of its object."""
        return self._objects.get(stored.path) is stored

    def within(self, namespace: str = "", after: str = "") -> Iterator[Stored]:
        """The objects of a namespace, or all, in order; those behind the path `after` only."""
        paths = self._paths
        start = bisect_left(paths, f"{namespace}/") if namespace else 0
        stop = bisect_left(paths, f"{namespace}0") if namespace else len(paths)  # "0" follows "/"
        if after:
            start = max(start, bisect_left(paths, f"{after}\0"))
        for path in paths[start:stop]:
            yield self._objects[path]

    def at(self, version: int) -> list[Stored]:
        """All objects as they were at a past version, in order; raises Gone when that is forgotten."""
        found = dict(self._objects)
        for change in reversed(self.history.since(version)):
            _put(found, change.path, change.old)
        return [found[path] for path in sorted(found)]

    def apply(self, change: Change) -> None:
        """Makes a change visible to those who write next."""
        self._replace(change.path, change.new)
        self.newest = change.version

    def undo(self, change: Change, committed: int) -> None:
        """Takes back a change that could not be committed."""
        self._replace(change.path, change.old)
        self.newest = committed

    def _replace(self, path: str, stored: Stored | None) -> None:
        known = path in self._objects
        _put(self._objects, path, stored)
        if stored is None and known:
            del self._paths[bisect_left(self._paths, path)]
        elif stored is not None and not known:
            insort(self._paths, path)


def _put(objects: dict[str, Stored], path: str, stored: Stored | None) -> None:
    if stored is None:
        objects.pop(path, None)
    else:
        objects[path] = stored
