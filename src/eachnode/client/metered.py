"""A door that counts: each call by verb, resource and the code of its answer, and how long it took."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting, close_watch
from eachnode.objects.status import ApiError, Unreachable
from eachnode.objects.watching import WatchEvent

Answer = TypeVar("Answer")
Tally = Callable[[Call, str, float], None]


class Metered(Intercepting):
    """A door around a door; `tally` is told each call, its code ("200", "409", or "unreachable") and its seconds.

    A watch is told once, when it is over, with the code that ended it.
    """

    def __init__(self, door: Door, tally: Tally) -> None:
        super().__init__(door)
        self._tally = tally

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Carry out the call and tell of it."""
        began = asyncio.get_running_loop().time()
        code = "cancelled"
        try:
            answer = await send()
            code = "201" if call.verb == "create" else "200"
        except (ApiError, Unreachable) as error:
            code = _code(error)
            raise
        finally:
            self._tally(call, code, asyncio.get_running_loop().time() - began)
        return answer

    async def watching(
        self, call: Call, batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Pass the watch on and tell of it when it is over."""
        began = asyncio.get_running_loop().time()
        code = "200"
        stream = batches()
        try:
            async for batch in stream:
                yield batch
        except (ApiError, Unreachable) as error:
            code = _code(error)
            raise
        finally:
            self._tally(call, code, asyncio.get_running_loop().time() - began)
            await close_watch(stream)


def _code(error: ApiError | Unreachable) -> str:
    return str(error.code) if isinstance(error, ApiError) else "unreachable"
