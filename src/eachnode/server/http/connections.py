"""Connections that cannot be used to hold the server up.

Each one has a deadline for the head of a request once its first byte has come, and a longer one for silence between
requests; there are only so many of them, and one too many is told to come back later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

# What clients send that is not HTTP is their affair; failures of ours are logged where requests are handled.
_SILENT = logging.getLogger(f"{__name__}.clients")
_SILENT.setLevel(logging.CRITICAL)
LONGEST_LINE = 64 << 10  # Long selectors and big tokens are legal.


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, in seconds, the server waits for its clients, and for how many of them it has room."""

    head: float = 15.0  # For the rest of a request's head.
    body: float = 60.0  # For the rest of its body.
    silence: float = 120.0  # Between requests.
    reading: float = 60.0  # Until a watcher has taken what it was sent.
    connections: int = 10_000


class Listener(web.Server):
    """Makes a protocol for each connection, or turns it away when there are too many."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], patience: Patience) -> None:
        super().__init__(handler, handler_cancellation=True)
        self.patience = patience

    def __call__(self) -> web.RequestHandler:
        if len(self.connections) >= self.patience.connections:
            return _TurnedAway(self, loop=self._loop)
        return _Connection(
            self,
            loop=self._loop,
            access_log=None,
            logger=_SILENT,
            keepalive_timeout=self.patience.silence,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            lingering_time=2.0,
            auto_decompress=False,
        )


class _Connection(web.RequestHandler):
    """A connection that is closed when the head of a request takes too long."""

    __slots__ = ("_deadline", "_seen")

    _manager: Listener

    def __init__(self, manager: Listener, **options: object) -> None:
        super().__init__(manager, **options)  # type: ignore[arg-type]  # handed on as they come from the listener
        self._deadline: asyncio.TimerHandle | None = None
        self._seen = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None and self._waits_for_head():
            self._seen = self._request_count
            self._deadline = self._loop.call_later(self._manager.patience.head, self._head_is_due)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        super().connection_lost(exc)

    def _waits_for_head(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _head_is_due(self) -> None:
        """Closes the connection unless the request whose head began then has arrived since."""
        self._deadline = None
        if self._request_count == self._seen and self._waits_for_head():
            self.force_close()


class _TurnedAway(web.RequestHandler):
    """A connection too many: it is told so and closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        body = b"too many connections\n"
        head = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
        transport.write(b"%bContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
        transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Nothing was begun, so nothing is to be ended."""

    def data_received(self, data: bytes) -> None:
        """Whatever it says is not heard."""
