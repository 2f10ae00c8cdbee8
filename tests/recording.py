"""A door that remembers what was asked through it: which permissions a loop needs, and how many calls a rule costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting
from eachnode.objects.watching import WatchEvent

Answer = TypeVar("Answer")


class Recording(Intercepting):
    """A door around a door; `calls` are what went through it, in order, whatever became of them."""

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self.calls: list[Call] = []

    @property
    def writes(self) -> list[Call]:
        """The calls that meant to change something."""
        return [call for call in self.calls if call.writes]

    def count(self) -> Counter[tuple[str, str]]:
        """How many calls of each verb and resource there were."""
        return Counter((call.verb, call.resource.qualified) for call in self.calls)

    def permissions(self) -> frozenset[tuple[str, str, str]]:
        """What had to be granted: (API group, resource with its subresource, verb)."""
        return frozenset(_permissions(self.calls))

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Note the call and carry it out."""
        self.calls.append(call)
        return await send()

    def watching(
        self, call: Call, batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Note the watch and open it."""
        self.calls.append(call)
        return batches()


def _permissions(calls: Iterable[Call]) -> Iterable[tuple[str, str, str]]:
    for call in calls:
        plural = call.resource.plural
        yield call.resource.group, f"{plural}/{call.subresource}" if call.subresource else plural, call.verb
