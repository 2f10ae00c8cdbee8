"""A door behind which everything goes wrong that goes wrong with real API servers, by chance but repeatably.

What it never does is what no API server does: within one watch events keep their order and none is left out. An event
that is lost takes its connection with it; that different watches run apart is enough to see the world in any order.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting, close_watch
from eachnode.objects.clock import Chance
from eachnode.objects.resources import Resource
from eachnode.objects.status import (
    Conflict,
    Details,
    Gone,
    InternalError,
    Invalid,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from eachnode.objects.watching import Page, WatchEvent

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How likely each fault is, per request, per watch or per batch of a watch; all from 0 to 1."""

    conflict: float = 0.0  # 409 to an update, a patch or a delete: somebody else wrote first.
    too_many: float = 0.0  # 429, come back in a second.
    internal: float = 0.0  # 500, nothing was done.
    unavailable: float = 0.0  # 503, nothing was done.
    lost_request: float = 0.0  # No answer, nothing was done.
    lost_answer: float = 0.0  # No answer, but it was done.
    slow: float = 0.0  # The request takes up to `slowest` seconds.
    slowest: float = 5.0
    stale_list: float = 0.0  # A list as it was when it was last asked for.
    too_old: float = 0.0  # 410 to a watch that is resumed.
    no_initial: bool = False  # The server does not stream the present objects.
    watch_lost: float = 0.0  # Per batch: the connection breaks and takes the batch with it.
    watch_ends: float = 0.0  # Per batch: the server ends the watch after it.
    watch_late: float = 0.0  # Per batch: it arrives up to `latest` seconds late, and all after it.
    latest: float = 5.0
    watch_repeats: float = 0.0  # Per batch: some of the batches before it come once more, one after another.


NONE = Faults()
NOTICED = 0.5  # Seconds: a delay shorter than that is no fault.
CATCHES_UP = 2  # Stale lists in a row: a server that lags behind the others catches up with them.
REMEMBERED = 20  # Batches of a watch that may be repeated.
BETWEEN = 0.05  # Seconds at the most between two repeated batches, in which somebody may act upon old news.


class Faulty(Intercepting):
    """A door around a door; `faults` may be changed at any time, to NONE when the trouble is to stop.

    `happened` counts what really went wrong, by the name of the fault.
    """

    def __init__(self, door: Door, faults: Faults, *, chance: Chance, happened: Counter[str] | None = None) -> None:
        super().__init__(door)
        self.faults = faults
        self.happened: Counter[str] = Counter() if happened is None else happened
        self._chance = chance
        self._seen_lists: dict[tuple[Resource, str, str, str], Page] = {}
        self._stale_in_a_row = 0

    def _happens(self, fault: str, likelihood: float) -> bool:
        # Nothing is drawn for what cannot happen, so that a fault added later leaves old seeds as they were.
        happens = likelihood > 0 and self._chance.random() < likelihood
        self.happened[fault] += happens
        return happens

    async def _delay(self, fault: str, likelihood: float, longest: float) -> None:
        if likelihood > 0 and self._chance.random() < likelihood:
            seconds = longest * self._chance.random()
            self.happened[fault] += seconds >= NOTICED
            await asyncio.sleep(seconds)

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Carry out one request, or not, or without saying so."""
        faults = self.faults
        await self._delay("slow", faults.slow, faults.slowest)
        if call.verb in ("update", "patch", "delete") and self._happens("conflict", faults.conflict):
            raise Conflict(f"{call}: the object has been modified (a fault)")
        self._refuse(call)
        answer = await send()
        if self._happens("lost_answer", faults.lost_answer):
            raise Unreachable(f"{call}: no answer, but it was done (a fault)")
        return answer

    def _refuse(self, call: Call) -> None:
        """Raise what a server in trouble says instead of doing anything; to a watch too."""
        faults = self.faults
        if self._happens("too_many", faults.too_many):
            raise TooManyRequests(f"{call}: too many requests (a fault)", details=Details(retry_after_seconds=1))
        if self._happens("internal", faults.internal):
            raise InternalError(f"{call}: internal error (a fault)")
        if self._happens("unavailable", faults.unavailable):
            raise Unavailable(f"{call}: unavailable (a fault)")
        if self._happens("lost_request", faults.lost_request):
            raise Unreachable(f"{call}: no answer, and nothing was done (a fault)")

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        after: str = "",
        version: str = "",
    ) -> Page:
        """A page of objects, perhaps an old one."""
        page = await super().list(
            resource, namespace, labels=labels, fields=fields, limit=limit, after=after, version=version
        )
        if after or page.continues:
            return page  # Part of a snapshot: a page from another one would not fit.
        query = (resource, namespace, labels, fields)
        before = self._seen_lists.get(query)
        if (
            before is not None
            and self._stale_in_a_row < CATCHES_UP
            and self._happens("stale_list", self.faults.stale_list)
        ):
            self._stale_in_a_row += 1
            return before
        self._stale_in_a_row = 0
        self._seen_lists[query] = page
        return page

    async def watching(
        self, call: Call, batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Changes in batches, until something happens to the connection."""
        self._refuse(call)
        stream = batches()
        before: deque[Sequence[WatchEvent]] = deque(maxlen=REMEMBERED)
        try:
            async for batch in stream:
                faults = self.faults
                await self._delay("watch_late", faults.watch_late, faults.latest)
                if self._happens("watch_lost", faults.watch_lost):
                    raise Unreachable(f"{call}: the connection broke (a fault)")
                if before and self._happens("watch_repeats", faults.watch_repeats):
                    for again in list(before)[int(len(before) * self._chance.random()) :]:
                        yield again
                        await asyncio.sleep(BETWEEN * self._chance.random())
                yield batch
                if changes := [event for event in batch if event.type != "BOOKMARK"]:
                    before.append(changes)
                if self._happens("watch_ends", faults.watch_ends):
                    return
        finally:
            await close_watch(stream)

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        version: str = "",
        initial: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Changes in batches, if the server likes the question."""
        if initial and self._happens("no_initial", self.faults.no_initial):
            return _refused(Invalid("sendInitialEvents: forbidden (a fault)"))
        if version and self._happens("too_old", self.faults.too_old):
            return _refused(Gone("too old resource version (a fault)"))
        return super().watch(
            resource, namespace, labels=labels, fields=fields, version=version, initial=initial, timeout=timeout
        )


async def _refused(error: Exception) -> AsyncIterator[Sequence[WatchEvent]]:
    raise error
    yield ()
