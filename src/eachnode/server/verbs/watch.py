"""GET of a collection with `watch`: what happens to its objects, from some version on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from eachnode.objects.document import Document
from eachnode.objects.watching import WatchEvent
from eachnode.server.schema import encode
from eachnode.server.store import Follower, Selection, Told
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.writing import show, show_document

_AT_ONCE = 500  # Initial objects in one batch.
_BETWEEN_BOOKMARKS = 55.0  # Seconds, and up to ten more so that not all watchers are told at once.


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch; without a version, or from version 0, the present objects come first."""

    version: str = ""
    initial: bool = False  # The present objects first, whatever the version, and with bookmarks one that ends them.
    bookmarks: bool = False
    timeout: float | None = None


async def watch(
    registry: Registry, served: Served, selection: Selection, version: int, options: WatchOptions
) -> AsyncIterator[Sequence[WatchEvent]]:
    """Batches of events until the timeout; raises Gone when they reach back too far, or are read too slowly."""
    store, shelf = registry.store, served.shelf
    from_now = options.initial or not version
    start = store.committed if from_now else version
    present = [stored for stored in shelf.listed(selection.namespace) if selection.matches(stored)] if from_now else []
    follower = shelf.history.follow(selection, start)
    timers = _Timers(registry, follower, options)
    try:
        for first in range(0, len(present), _AT_ONCE):
            yield [Told("ADDED", show(served, stored)) for stored in present[first : first + _AT_ONCE]]
        present.clear()
        if options.initial and options.bookmarks:
            yield [_bookmark(served, start, initial_end=True)]
        while not timers.over and not follower.over:
            if batch := follower.take():
                yield [_shown(served, told) for told in batch] if served.shows_otherwise else batch
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


def _shown(served: Served, told: Told) -> Told:
    return Told(told.type, show_document(served, told.document))


def _bookmark(served: Served, version: int, *, initial_end: bool = False) -> Told:
    about: dict[str, object] = {"resourceVersion": str(version)}
    if initial_end:
        about["annotations"] = {"k8s.io/initial-events-end": "true"}
    tree = {"kind": served.resource.kind, "apiVersion": served.resource.api_version, "metadata": about}
    return Told("BOOKMARK", Document(encode(tree)), initial_end)
