"""Gates: between one process and the server, where both can die.

A process that was killed sends nothing more, whatever its coroutines still try while they are cancelled; an answer of a
server that was killed meanwhile never arrives, whatever it would have been. Every request that passes is counted, and
who asked for the end of an object is remembered, so that the checks from outside know whose hand it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting, close_watch
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import PODS, Resource
from eachnode.objects.status import ApiError, Unreachable
from eachnode.objects.watching import WatchEvent

Answer = TypeVar("Answer")
PATIENCE = 290.0  # Seconds for which an answer is trusted although nobody sees its effect; loops have five minutes.


@dataclass(slots=True)
class Ledger:
    """What passed all gates of a world."""

    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # Who, verb, kind.
    deleters: dict[tuple[Resource, Key], str] = field(default_factory=dict)  # Who asked last.
    acknowledged: dict[tuple[Resource, Key], tuple[str, int]] = field(default_factory=dict)  # uid and newest version.

    def attempt(self, who: str, call: Call) -> None:
        """Somebody sends a request."""
        self.calls[who, call.verb, call.resource.plural] += 1
        if call.verb == "delete":
            self.deleters[call.resource, call.key] = who

    def answered(self, call: Call, answer: object) -> None:
        """A write was acknowledged."""
        if not call.writes or call.verb == "delete" or call.subresource or not isinstance(answer, Document):
            return
        metadata = answer.read(MetadataOnly).metadata
        if metadata.resource_version.isdigit() and metadata.name:
            known = metadata.uid, int(metadata.resource_version)
            self.acknowledged[call.resource, metadata.key] = known


class Gate(Intercepting):
    """The way of one process to the server."""

    def __init__(self, door: Door, who: str, ledger: Ledger) -> None:
        super().__init__(door)
        self.who = who
        self._ledger = ledger
        self._process_lives = True
        self._server_lives = True
        self._server = 0  # Which server it is, counted by their deaths.
        self.shut_to: Resource | None = None  # A kind about which the process reaches nobody.
        self._fuse: asyncio.Future[None] | None = None
        self._requests_left = 0
        self._dies_before_sending = False

    def close(self) -> None:
        """The process is dead."""
        self._process_lives = False

    def die_at(self, request: int) -> asyncio.Future[None]:
        """Have the process die amid the n-th request from now: before it is sent when n is even, else unanswered."""
        self._fuse = asyncio.get_running_loop().create_future()
        self._dies_before_sending = request % 2 == 0
        self._requests_left = request
        return self._fuse

    def lose_server(self) -> None:
        """The server is dead."""
        self._server_lives = False
        self._server += 1

    def find_server(self, door: Door) -> None:
        """A server is there again."""
        self._door = door
        self._server_lives = True

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Pass one request, if there is somebody at both ends, and its answer, if both are still there."""
        dies = self._burns_down()
        if dies and self._dies_before_sending:
            self.close()
        self._check(call)
        server = self._server
        self._ledger.attempt(self.who, call)
        try:
            answer = await send()
        except ApiError:
            self._check_same(call, server)
            raise
        finally:
            if dies:
                self.close()
        self._check_same(call, server)
        self._ledger.answered(call, answer)
        return answer

    async def watching(
        self, call: Call, batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Pass a watch on for as long as both ends live."""
        self._check(call)
        server = self._server
        self._ledger.attempt(self.who, call)
        stream = batches()
        try:
            async for batch in stream:
                self._check_same(call, server)
                yield batch
        finally:
            await close_watch(stream)
        self._check_same(call, server)

    def _burns_down(self) -> bool:
        """Whether this is the request amid which the process dies."""
        if self._fuse is None or self._fuse.done():
            return False
        self._requests_left -= 1
        if self._requests_left > 0:
            return False
        self._fuse.set_result(None)
        return True

    def _check(self, call: Call) -> None:
        if not self._process_lives:
            raise Unreachable(f"{call}: {self.who} was killed")
        if not self._server_lives:
            raise Unreachable(f"{call}: the server is down")
        if call.resource == self.shut_to:
            raise Unreachable(f"{call}: nothing arrives")

    def _check_same(self, call: Call, server: int) -> None:
        self._check(call)
        if server != self._server:
            raise Unreachable(f"{call}: the server was killed before it answered")


class Memory(Intercepting):
    """What one process was promised: it should not ask for it again before its patience ends."""

    def __init__(self, door: Door, who: str, on_repetition: Callable[[str], None]) -> None:
        super().__init__(door)
        self._who, self._on_repetition = who, on_repetition
        self._removed: dict[Key, float] = {}  # Pods whose deletion was acknowledged, and when.

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Pass one request, and remember what its answer promised."""
        if call.verb != "delete" or call.resource != PODS:
            return await send()
        loop = asyncio.get_running_loop()
        since = self._removed.get(call.key)
        if since is not None and loop.time() - since < PATIENCE:
            self._on_repetition(f"{self._who} deletes pod {call.key}, which it has deleted already")
        answer = await send()
        self._removed[call.key] = loop.time()
        return answer
