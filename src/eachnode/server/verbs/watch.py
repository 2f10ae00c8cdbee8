"""GET of a collection with `watch`: what happens to its objects, from some version on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from eachnode.objects.document import Document
from eachnode.objects.watching import WatchEvent
from eachnode.server.store import Follower, Selection, Told
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import encode
from eachnode.server.verbs.writing import show

_AT_ONCE = 500  # Initial objects in one batch.
_BETWEEN_BOOKMARKS = 55.0


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch."""

    version: str = ""
    initial: bool = False
    bookmarks: bool = False
    timeout: float | None = None


async def watch(
    registry: Registry, served: Served, selection: Selection, options: WatchOptions
) -> AsyncIterator[Sequence[WatchEvent]]:
    """Batches of events, until the timeout."""
    store, shelf = registry.store, served.shelf
    await store.readable(shelf)
    start = store.committed if options.version in ("", "0") or options.initial else int(options.version)
    follower = shelf.history.follow(selection, start)
    timers = _Timers(registry, follower, options)
    try:
        if options.initial or options.version in ("", "0"):
            present = [stored for stored in shelf.within(selection.namespace) if selection.matches(stored)]
            for first in range(0, len(present), _AT_ONCE):
                yield [Told("ADDED", show(served, stored)) for stored in present[first : first + _AT_ONCE]]
            if options.initial:
                yield [_bookmark(served, start, initial_end=True)]
        while not timers.over:
            if batch := _shown(served, follower.take()):
                yield batch
            elif timers.bookmark_is_due():
                yield [_bookmark(served, store.committed)]
            else:
                await follower.wait()
    finally:
        timers.cancel()
        follower.close()


class _Timers:
    """The moments at which a watch has something to do though nothing happened."""

    def __init__(self, registry: Registry, follower: Follower, options: WatchOptions) -> None:
        self.over = False
        self._loop = asyncio.get_running_loop()
        self._follower = follower
        self._pause = _BETWEEN_BOOKMARKS + 10.0 * registry.chance.random()
        self._due = False
        self._bookmark = self._loop.call_later(self._pause, self._remind) if options.bookmarks else None
        self._end = None if options.timeout is None else self._loop.call_later(options.timeout, self._finish)

    def bookmark_is_due(self) -> bool:
        """Whether it is time for a bookmark; asking counts as having sent it."""
        if not self._due:
            return False
        self._due = False
        self._bookmark = self._loop.call_later(self._pause, self._remind)
        return True

    def cancel(self) -> None:
        """Forgets them all."""
        for timer in (self._bookmark, self._end):
            if timer is not None:
                timer.cancel()

    def _remind(self) -> None:
        self._due = True
        self._follower.nudge()

    def _finish(self) -> None:
        self.over = True
        self._follower.nudge()


def _shown(served: Served, batch: list[Told]) -> list[Told]:
    if served.kind.alias is None:
        return batch
    return [Told(told.type, Document(encode(served.outward(told.document.tree())))) for told in batch]


def _bookmark(served: Served, version: int, *, initial_end: bool = False) -> Told:
    about: dict[str, object] = {"resourceVersion": str(version)}
    if initial_end:
        about["annotations"] = {"k8s.io/initial-events-end": "true"}
    tree = {"kind": served.resource.kind, "apiVersion": served.resource.api_version, "metadata": about}
    return Told("BOOKMARK", Document(encode(tree)), initial_end)
