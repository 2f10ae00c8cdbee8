"""What happened lately to the objects of one kind, and those who follow it.

A watcher is a cursor into a *lane*: a numbered sequence of changes. Watchers of everything share the main lane; the
others share a lane with those who look for the same value of the same property (pods of one node, objects of one name),
so that a change costs as much as there are watchers who may want to know it. There are no queues: a watcher whose next
change has fallen off the bounded history is cut off, and lists again.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eachnode.objects.status import Gone
from eachnode.server.store.changes import Change, Told
from eachnode.server.store.selection import Dimension, Selection
from eachnode.server.store.stored import Stored


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How much of the past is kept: what is older or more goes, but for the last few changes, which always stay."""

    seconds: float = 300.0
    bytes: int = 32 << 20
    changes: int = 100_000
    always: int = 1_000


class Lane:
    """A numbered sequence of changes, and who waits for the next."""

    __slots__ = ("changes", "first", "followers", "waiting")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.first = 0  # The number of changes[0].
        self.followers = 0
        self.waiting: dict[asyncio.Future[None], None] = {}

    @property
    def end(self) -> int:
        """The number that the next change will get."""
        return self.first + len(self.changes)

    def drop(self, count: int) -> None:
        """Forgets the oldest changes."""
        del self.changes[:count]
        self.first += count

    def wake(self) -> None:
        """Lets everybody go who waits."""
        waiting, self.waiting = self.waiting, {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class History:
    """The changes of one kind, newest last, from just after version `oldest` on."""

    def __init__(self, start: int, limits: HistoryLimits) -> None:
        self.oldest = start
        self.closed = False
        self.main = Lane()
        self._limits = limits
        self._bytes = 0
        self._lanes: dict[Dimension, dict[str, Lane]] = {}

    def append(self, change: Change) -> list[Lane]:
        """Adds a change; answers with the lanes it belongs to, whose followers want to be woken."""
        self.main.changes.append(change)
        self._bytes += _size(change)
        touched = [self.main]
        for dimension, lanes in self._lanes.items():
            for value in _values(dimension, change.old, change.new):
                lane = lanes.get(value)
                if lane is not None:
                    lane.changes.append(change)
                    touched.append(lane)
        return touched

    def since(self, version: int) -> Sequence[Change]:
        """All changes after a version; raises Gone when some of them are forgotten."""
        return self.main.changes[self._index_after(version) :]

    def forget(self, now: float) -> None:
        """Drops what is beyond the limits, an eighth at a time: dropping from the front of a list moves the rest."""
        while count := self._droppable(now):
            dropped = self.main.changes[:count]
            self._bytes -= sum(map(_size, dropped))
            self.oldest = dropped[-1].version
            self.main.drop(count)
            for lane in self.lanes():
                lane.drop(bisect_right(lane.changes, self.oldest, key=_version))

    def _droppable(self, now: float) -> int:
        """How many of the oldest changes are too old or too many; 0 while that is not worth the trouble."""
        limits, changes = self._limits, self.main.changes
        count = min(max(len(changes) // 8, 1), len(changes) - limits.always)
        if count <= 0:
            return 0
        too_much = len(changes) > limits.changes or self._bytes > limits.bytes
        return count if too_much or changes[count - 1].at < now - limits.seconds else 0

    def close(self) -> None:
        """Ends all who follow: there is nothing more to come."""
        self.closed = True
        for lane in (self.main, *self.lanes()):
            lane.wake()

    def follow(self, selection: Selection, version: int) -> Follower:
        """A cursor that stands just after a version; raises Gone when that is too long ago."""
        start = self._index_after(version)
        index = selection.index()
        if index is None:
            return Follower(self, self.main, selection, version, self.main.first + start, [])
        dimension, value = index
        lane = self._lanes.setdefault(dimension, {}).setdefault(value, Lane())
        missed = [told for change in self.main.changes[start:] if (told := change.told_to(selection))]
        return Follower(self, lane, selection, version, lane.end, missed)

    def lanes(self) -> Iterator[Lane]:
        """The lanes besides the main one."""
        return (lane for lanes in self._lanes.values() for lane in lanes.values())

    def release(self, lane: Lane, selection: Selection) -> None:
        """Forgets a lane that nobody follows any more."""
        index = selection.index()
        if index is None or lane.followers:
            return
        dimension, value = index
        lanes = self._lanes[dimension]
        del lanes[value]
        if not lanes:
            del self._lanes[dimension]

    def _index_after(self, version: int) -> int:
        if version < self.oldest:
            raise Gone(f"too old resource version: {version} ({self.oldest})")
        return bisect_right(self.main.changes, version, key=_version)


class Follower:
    """A cursor into the history: hands out what its selection sees, in order, a batch at a time."""

    def __init__(
        self, history: History, lane: Lane, selection: Selection, after: int, position: int, missed: list[Told]
    ) -> None:
        self._history = history
        self._lane = lane
        self._selection = selection
        self._after = after
        self._position = position
        self._missed = missed
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        lane.followers += 1

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self._history.closed

    def take(self) -> list[Told]:
        """What happened since the last call; raises Gone when the history no longer reaches back to it."""
        lane, start = self._lane, self._position - self._lane.first
        if start < 0:
            newest = lane.changes[0].version if lane.changes else self._history.oldest
            raise Gone(f"too old resource version: {newest} ({self._history.oldest})")
        changes = lane.changes[start:]
        self._position = lane.end
        if changes and changes[0].version <= self._after:  # Somebody asked for a version that was yet to come.
            changes = [change for change in changes if change.version > self._after]
        if self._selection.everything:
            found = [change.told for change in changes]
        else:
            selection = self._selection
            found = [told for change in changes if (told := change.told_to(selection))]
        if self._missed:
            found = self._missed + found
            self._missed = []
        return found

    async def wait(self) -> None:
        """Returns when there may be something to take, or when somebody nudges."""
        if self.over or self._missed or self._position != self._lane.end:
            return
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        self._lane.waiting[waiter] = None
        try:
            await waiter
        finally:
            self._lane.waiting.pop(waiter, None)

    def nudge(self) -> None:
        """Lets `wait` return now."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Stops following."""
        if not self._closed:
            self._closed = True
            self._lane.followers -= 1
            self._history.release(self._lane, self._selection)


def _version(change: Change) -> int:
    return change.version


def _size(change: Change) -> int:
    return len(change.present.document.raw)


def _values(dimension: Dimension, old: Stored | None, new: Stored | None) -> dict[str, None]:
    """The values of a property before and after, usually one."""
    found = (dimension.of(stored) for stored in (old, new) if stored is not None)
    return {value: None for value in found if value is not None}
