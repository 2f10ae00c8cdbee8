"""All objects of one kind: their newest state, in order, and the history of how it came about.

Two views of them: the *newest* state is what writers check against and build upon; readers and watchers get the
*committed* state, which lacks the writes that the database does not have yet.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.server.store.changes import Change
from eachnode.server.store.history import History, HistoryLimits, Lane
from eachnode.server.store.stored import FieldReaders, Stored, path_of

# The object before and after a change.
Reaction = Callable[[Document | None, Document | None], None]


class Shelf:
    """The objects of one kind."""

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
        self.history = History(start, limits)
        self._objects = {stored.path: stored for stored in objects}
        self._paths = sorted(self._objects)
        self._reactions: list[Reaction] = []
        self._before: dict[str, Stored | None] = {}  # What stood where writes wait for their commit.

    def __len__(self) -> int:
        return len(self._objects)

    # The newest state -------------------------------------------------------------------------------------------------

    def get(self, namespace: str, name: str) -> Stored | None:
        """One object, or None."""
        return self._objects.get(path_of(namespace, name))

    def within(self, namespace: str = "") -> Iterator[Stored]:
        """The objects of a namespace, or all, in order."""
        return (self._objects[path] for path in _range(self._paths, namespace))

    def is_current(self, stored: Stored) -> bool:
        """Whether this is still the newest version of its object."""
        return self._objects.get(stored.path) is stored

    def apply(self, change: Change) -> None:
        """Makes a write part of the newest state."""
        path = change.present.path
        self._before.setdefault(path, change.old)
        self._replace(path, change.new)

    def confirm(self) -> None:
        """All writes are committed."""
        self._before.clear()

    def publish(self, change: Change) -> list[Lane]:
        """Writes a committed change into the history; answers with the lanes whose followers want to be woken."""
        for react in self._reactions:
            try:
                react(_document(change.old), _document(change.new))
            except Exception as error:  # What is committed must be told to everybody else all the same.
                context = {"message": f"a reaction to {self.resource.qualified} failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
        if change.old is not None:
            change.old.document.forget_views()
        return self.history.append(change)

    def follow(self, react: Reaction) -> None:
        """Calls `react` for every object there is, and for every committed change."""
        for stored in self.listed():
            react(None, stored.document)
        self._reactions.append(react)

    def revert(self) -> None:
        """The writes that wait could not be committed: takes them back."""
        for path, stored in self._before.items():
            self._replace(path, stored)
        self._before.clear()

    # The committed state ----------------------------------------------------------------------------------------------

    def committed(self, namespace: str, name: str) -> Stored | None:
        """One object, or None."""
        path = path_of(namespace, name)
        return self._before[path] if path in self._before else self._objects.get(path)

    def listed(self, namespace: str = "", start: str = "", version: int | None = None) -> Sequence[Stored]:
        """The objects of a namespace, or all, in order, from the path `start` on, now or at a past version.

        Raises Gone when the history does not reach back to that version.
        """
        then: dict[str, Stored | None] = dict(self._before)
        for change in reversed(self.history.since(version)) if version is not None else ():
            then[change.present.path] = change.old
        if not then:
            return [self._objects[path] for path in _range(self._paths, namespace, start)]
        paths = sorted({*_range(self._paths, namespace, start), *_range(sorted(then), namespace, start)})
        return [stored for path in paths if (stored := _overlaid(path, then, self._objects)) is not None]

    def _replace(self, path: str, stored: Stored | None) -> None:
        known = path in self._objects
        if stored is not None:
            self._objects[path] = stored
            if not known:
                insort(self._paths, path)
        elif known:
            del self._objects[path]
            del self._paths[bisect_left(self._paths, path)]


def _document(stored: Stored | None) -> Document | None:
    return None if stored is None else stored.document


def _overlaid(path: str, above: Mapping[str, Stored | None], below: Mapping[str, Stored]) -> Stored | None:
    return above[path] if path in above else below.get(path)


def _range(paths: list[str], namespace: str, start: str = "") -> list[str]:
    """The paths of a namespace, or all, from `start` on."""
    first = bisect_left(paths, f"{namespace}/") if namespace else 0
    last = bisect_left(paths, f"{namespace}0") if namespace else len(paths)  # "0" follows "/".
    return paths[max(first, bisect_left(paths, start)) : last]
