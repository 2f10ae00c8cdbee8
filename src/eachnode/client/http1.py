"""One HTTP/1.1 connection of a client: a request at a time, and its answer as it comes.

Only what API servers use: bodies of a stated length, in chunks, or up to the end of the connection; gzip where it was
asked for. An API call through it costs about a third of the CPU that it costs through a general HTTP library, and API
calls are most of what a controller does.

It is strict: what could be read in two ways is `Broken`, and its connection is not used again. So an answer that is cut
off, or followed by something, never becomes part of the answer to another request.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterable
from typing import Protocol, cast

LONGEST_HEAD = 1 << 16  # Bytes of a status line with its headers.
BUFFERED = 1 << 18  # Bytes of a body that wait for their reader before the server has to wait for us.
GZIP = 16 + zlib.MAX_WBITS  # How zlib is told that there is a gzip header.
LONGEST_NUMBER = 16  # Digits of a length.

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEX = re.compile(rb"[0-9A-Fa-f]{1,%d}" % LONGEST_NUMBER)
_DECIMAL = re.compile(rf"[0-9]{{1,{LONGEST_NUMBER}}}")


class Broken(Exception):
    """The connection ended before the answer did, or carried something that is no HTTP."""


class Head:
    """The status of an answer, and its headers by their names in lower case; values of one that repeats are joined."""

    __slots__ = ("headers", "status", "version")

    def __init__(self, text: str) -> None:
        first, *lines = text.split("\r\n")
        self.version, _, rest = first.partition(" ")
        code = rest[:3]
        if not self.version.startswith("HTTP/1.") or not (code.isascii() and code.isdecimal() and len(code) == 3):
            raise Broken(f"what came is no HTTP answer: {first[:80]!r}")
        self.status = int(code)
        self.headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not _NAME.fullmatch(name):
                raise Broken(f"what came is no HTTP header: {line[:80]!r}")
            name, value = name.lower(), value.strip()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow on the connection."""
        said = self.headers.get("connection", "").lower()
        if "transfer-encoding" in self.headers and "content-length" in self.headers:
            return False  # Somebody on the way may have believed the other one.
        return "close" not in said and (self.version != "HTTP/1.0" or "keep-alive" in said)


class Body(Protocol):
    """How the bytes after a head are told apart from what frames them."""

    done: bool
    overfed: bool  # More came than belongs to it.

    def feed(self, data: bytes) -> bytes:
        """What of these bytes belongs to the body."""
        ...


class Measured:
    """A body of a stated length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.overfed = False

    def feed(self, data: bytes) -> bytes:
        """What of these bytes belongs to the body."""
        self.overfed = len(data) > self._left
        data = data[: self._left]
        self._left -= len(data)
        self.done = self._left == 0
        return data


class Endless:
    """A body that ends with the connection."""

    done = overfed = False

    def feed(self, data: bytes) -> bytes:
        """All of it."""
        return data


class Chunked:
    """A body in chunks, each with its length before it."""

    def __init__(self) -> None:
        self.done = self.overfed = False
        self._raw = b""  # What has come of a line that is not complete.
        self._left = 0  # Bytes of the chunk still to come.
        self._ends_line = False  # What comes next is the line end after a chunk.
        self._trailing = 0  # After the last chunk: bytes of headers that nobody reads, up to an empty line.

    def feed(self, data: bytes) -> bytes:
        """The contents of the chunks in these bytes."""
        raw, at = self._raw + data if self._raw else data, 0
        self._raw = b""
        found: list[bytes] = []
        while at < len(raw):
            if self.done:
                self.overfed = True
                break
            if self._left:
                piece = raw[at : at + self._left]
                found.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._ends_line = not self._left
                continue
            end = raw.find(b"\r\n", at)
            if end < 0:
                self._raw = raw[at:]
                if len(self._raw) > LONGEST_HEAD or (self._ends_line and self._raw != b"\r"):
                    raise Broken(f"what came is no chunk of an answer: {self._raw[:80]!r}")
                break
            self._take_line(raw[at:end])
            at = end + 2
        return b"".join(found)

    def _take_line(self, line: bytes) -> None:
        if self._ends_line:
            if line:
                raise Broken(f"a chunk of an answer is longer than it says: {line[:80]!r}")
            self._ends_line = False
        elif self._trailing:
            self.done = not line
            self._trailing += len(line)
            if self._trailing > LONGEST_HEAD:
                raise Broken("the headers after an answer do not end")
        else:
            length = line.partition(b";")[0].rstrip(b" \t")
            if not _HEX.fullmatch(length):
                raise Broken(f"what came is no chunk of an answer: {line[:80]!r}")
            self._left = int(length, 16)
            self._trailing = int(not self._left)


def body_of(head: Head) -> Body:
    """How the body after this head is framed."""
    if head.status in (204, 304):
        return Measured(0)
    encoding = head.headers.get("transfer-encoding")
    if encoding is not None:
        if encoding.lower() != "chunked":
            raise Broken(f"the answer is sent in a way that is not known: {encoding[:80]!r}")
        return Chunked()
    said = head.headers.get("content-length")
    if said is None:
        return Endless()
    lengths = {each.strip() for each in said.split(",")}  # The same one may be said again.
    length = lengths.pop()
    if lengths or not _DECIMAL.fullmatch(length):
        raise Broken(f"what came is no length of an answer: {said[:80]!r}")
    return Measured(int(length))


class Packed:
    """A body packed by gzip: any number of members one after the other, as servers send that pack each event alone."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP)
        self.is_whole = True  # What has come so far ends with a member.

    def feed(self, data: bytes) -> bytes:
        """What these bytes unpack to."""
        found: list[bytes] = []
        try:
            while data:
                found.append(self._member.decompress(data))
                self.is_whole = self._member.eof
                data = self._member.unused_data
                if self.is_whole:
                    self._member = zlib.decompressobj(GZIP)
        except zlib.error as error:
            raise Broken(f"what came is not compressed as it says: {error}") from error
        return b"".join(found)


def unpacking(head: Head, body: Body) -> Packed | None:
    """What unpacks the body after this head, if it is packed."""
    encoding = head.headers.get("content-encoding", "identity").lower()
    if encoding == "identity" or body.done:
        return None
    if encoding not in ("gzip", "x-gzip"):
        raise Broken(f"the answer is packed in a way that is not known: {encoding[:80]!r}")
    return Packed()


class Connection(asyncio.Protocol):
    """A connection to a server; `ask`, then `read` until it answers with nothing, then it can be used again."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.idle_since = 0.0  # On the loop's clock.
        self.is_fresh = True  # It has not been kept for another request.
        self._head: Head | None = None
        self._body: Body | None = None
        self.has_heard = False  # Whether anything came of the answer.
        self._raw = b""  # What has come of a head that is not complete.
        self._parts: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._packed: Packed | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False  # The connection is no more.
        self._trouble: Exception | None = None  # Why.

    # Using it

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent: the last answer was read to its end, and the server is still there."""
        if self._ended or self._head is None or self.transport is None or self.transport.is_closing():
            return False
        if self._body is None or not self._body.done or self._parts:
            return False
        # A server that answered before it had heard everything may never listen to the rest.
        return self._head.keeps_alive and not self.transport.get_write_buffer_size()

    async def ask(self, request: bytes, silence: float) -> Head:
        """Send a request; answers with the head of what comes back. `silence` is how long it may take."""
        assert self.transport is not None
        self._head = self._body = self._packed = None
        self._raw, self.has_heard = b"", False
        self.transport.write(request)
        while self._head is None:
            await self._hear(silence)
        return self._head

    async def read(self, silence: float) -> bytes:
        """The next bytes of the answer's body; none at its end."""
        while True:
            while not self._parts:
                if self._is_over:
                    self._check_unpacked()
                    return b""
                await self._hear(silence)
            data = self._take_parts()
            if self._packed is not None:
                data = self._packed.feed(data)
            if data:
                return data

    async def read_all(self, silence: float) -> bytes:
        """The answer's whole body."""
        data = await self.read(silence)
        if self._packed is None and self._body is not None and self._body.done and not self._parts:
            return data
        parts = [data]
        while data:
            data = await self.read(silence)
            parts.append(data)
        return b"".join(parts)

    @property
    def _is_over(self) -> bool:
        """Whether nothing more can come of the body."""
        if self._body is not None and self._body.done:
            return True
        return self._ended and self._trouble is None and isinstance(self._body, Endless)

    def _take_parts(self) -> bytes:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._buffered = 0
        if self._paused and self.transport is not None and not self._ended:
            self._paused = False
            self.transport.resume_reading()
        return data

    def abandon(self) -> None:
        """End it at once: a polite farewell, to a server in mid-sentence, would outlive the event loop."""
        self._ended = True
        if self.transport is not None:
            self.transport.abort()

    async def _hear(self, silence: float) -> None:
        """Return when something came; raises when the connection ended, or nothing came for so long."""
        if self._ended:
            raise self._trouble or Broken("the server closed the connection before it had answered")
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        timer = loop.call_later(silence, _give_up, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _check_unpacked(self) -> None:
        if self._packed is not None and not self._packed.is_whole:
            raise Broken("what came is not compressed as it says: its end is missing")

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are not instances of it.

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._ended:
            return  # It was abandoned a moment ago.
        self.has_heard = True
        try:
            if self._body is None:
                data = self._take_head(data)
            if data and self._body is not None:
                self._take_body(self._body, data)
        except Broken as error:
            self._trouble = error
            self.abandon()
        self._wake()

    def eof_received(self) -> None:
        """The server has said everything."""

    def connection_lost(self, error: Exception | None) -> None:
        """It is over."""
        self._ended = True
        self._trouble = self._trouble or error
        self._wake()

    def _take_head(self, data: bytes) -> bytes:
        """Look for the end of the head; answers with what comes after it."""
        raw = self._raw + data if self._raw else data
        while True:
            end = raw.find(b"\r\n\r\n")
            if end < 0:
                if len(raw) > LONGEST_HEAD:
                    raise Broken("the answer's headers do not end")
                self._raw = raw
                return b""
            head = Head(raw[:end].decode("latin-1"))
            raw = raw[end + 4 :]
            if head.status == 101:
                raise Broken("the server goes on in another language, which nobody asked for")
            if head.status >= 200:
                break  # What came before only said that this would come.
        self._raw = b""
        body = body_of(head)
        self._packed = unpacking(head, body)
        self._head, self._body = head, body
        return raw

    def _take_body(self, body: Body, data: bytes) -> None:
        content = body.feed(data)
        if content:
            self._parts.append(content)
            self._buffered += len(content)
            if self._buffered > BUFFERED and not self._paused and self.transport is not None:
                self._paused = True
                self.transport.pause_reading()
        if body.overfed:
            raise Broken("something came that belongs to no answer")

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _give_up(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


def request_bytes(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """A request as it is sent; raises ValueError when a header would become two."""
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers]]
    if body or method not in ("GET", "HEAD", "DELETE", "CONNECT"):
        lines.append(f"Content-Length: {len(body)}")
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise ValueError("a header of a request must not hold a line break")
    return text.encode() + b"\r\n\r\n" + body
