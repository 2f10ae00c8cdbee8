"""Watches over HTTP: one line of JSON per event, written in batches, for as long as client and server like.

Nothing is queued for a client: what it has not taken yet stands in the history that all watchers share, and at most one
batch in its connection. One that takes nothing for a while is cut off, and one that falls behind the history is told
that it has to list again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

import msgspec
from aiohttp import web

from eachnode.objects.status import ApiError
from eachnode.objects.watching import WatchEvent
from eachnode.server.http.connections import Patience
from eachnode.server.http.metrics import Metrics
from eachnode.server.http.replies import add_warnings
from eachnode.server.http.shapes import Shaper, TableWatch

Batches = AsyncIterator[Sequence[WatchEvent]]
Line = Callable[[WatchEvent], bytes]

MOST_AT_ONCE = 256 << 10  # Bytes handed to a connection before waiting for it.
FIRST_WORD = 0.05  # Seconds in which a watch that cannot begin says so.


class Watches:
    """All open watches."""

    def __init__(self, patience: Patience, metrics: Metrics) -> None:
        self._patience = patience
        self._metrics = metrics
        self._open: set[asyncio.Task[None]] = set()
        self._ending = False

    async def serve(
        self,
        request: web.BaseRequest,
        batches: Batches,
        line: Line,
        content_type: str,
        audit_id: str,
        warnings: Iterable[str] = (),
    ) -> web.StreamResponse:
        """Streams a watch to its end; raises the ApiError for which it cannot begin."""
        first = asyncio.ensure_future(anext(batches, None))
        try:
            await asyncio.wait({first}, timeout=FIRST_WORD)
            if first.done() and (refusal := first.exception()) is not None and not _is_gone(refusal):
                raise refusal
            response = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache, private"})
            response.headers["Server"] = "eachnode"
            response.headers["Audit-Id"] = audit_id
            add_warnings(response.headers, warnings)
            response.enable_chunked_encoding()
            await response.prepare(request)
            await self._stream(request, response, first, batches, line)
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await close(batches)
        return response

    async def end_all(self) -> None:
        """Ends every watch as if its time were over."""
        self._ending = True
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _stream(
        self,
        request: web.BaseRequest,
        response: web.StreamResponse,
        first: asyncio.Future[Sequence[WatchEvent] | None],
        batches: Batches,
        line: Line,
    ) -> None:
        """Sends all batches, each as soon as the one before is taken."""
        work = asyncio.ensure_future(self._send_all(response, first, batches, line))
        self._open.add(work)
        self._metrics.watchers += 1
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()  # The client has gone, if it is not done.
            self._open.discard(work)
            self._metrics.watchers -= 1
        if work.cancelled() or work.exception() is None:
            return
        self._metrics.cut_off += 1
        if request.transport is not None:
            request.transport.abort()

    async def _send_all(
        self,
        response: web.StreamResponse,
        first: asyncio.Future[Sequence[WatchEvent] | None],
        batches: Batches,
        line: Line,
    ) -> None:
        try:
            batch = await first
            while batch is not None:
                for piece in _pieces(batch, line):
                    async with asyncio.timeout(self._patience.reading):
                        await response.write(piece)
                batch = await anext(batches, None)
        except ApiError as error:
            await response.write(error_line(error))


def plain_line(event: WatchEvent) -> bytes:
    """An event with its whole object; watchers of the same event share the text."""
    shared: bytes | None = getattr(event, "line", None)
    if shared is not None:
        return shared
    return event_line(event.type, bytes(event.document.raw))


def shaped_line(shaper: Shaper, now: Callable[[], float]) -> Line:
    """How a watch with Tables or metadata alone writes an event."""
    if shaper.form.shape == "Table":
        table = TableWatch(shaper)
        return lambda event: event_line(event.type, table.one(event.document, now(), bookmark=event.type == "BOOKMARK"))
    if shaper.form.metadata_only:
        return lambda event: event_line(event.type, shaper.partial(event.document))
    return plain_line


def event_line(kind: str, raw: bytes) -> bytes:
    """One line of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), raw)


def error_line(error: ApiError) -> bytes:
    """The last line of a watch that cannot go on."""
    return event_line("ERROR", msgspec.json.encode(error.status.tree()))


def _pieces(batch: Sequence[WatchEvent], line: Line) -> Iterator[bytes]:
    """The lines of a batch, as few at a time as a connection should hold."""
    lines: list[bytes] = []
    size = 0
    for event in batch:
        text = line(event)
        lines.append(text)
        size += len(text)
        if size >= MOST_AT_ONCE:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _is_gone(error: BaseException) -> bool:
    """Whether it is said within the watch rather than instead of it: list again, that version is too old."""
    return isinstance(error, ApiError) and error.code == 410


async def close(batches: Batches) -> None:
    """Tells a watch that nobody listens any more."""
    end = getattr(batches, "aclose", None)
    if end is not None:
        await end()
