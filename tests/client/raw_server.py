"""A server that says exactly the bytes it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HANG_UP = b"(hang up)"  # Among the pieces of an answer: close the connection here.


@dataclass
class RawServer:
    """Where it listens, what it was asked, and on how many connections."""

    port: int = 0
    asked: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request with its body; nothing when the client hung up."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.partition(b":")[2]))
    return head


@asynccontextmanager
async def saying(answer: Callable[[int], Sequence[bytes]], told: RawServer | None = None) -> AsyncIterator[RawServer]:
    """Says the pieces that `answer` returns for each request, counted from 0; each piece arrives by itself."""
    told = told or RawServer()
    tasks: set[asyncio.Task[None]] = set()

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await read_request(reader):
            told.asked.append(request)
            for piece in answer(len(told.asked) - 1):
                if piece == HANG_UP:
                    return
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.connections += 1
        try:
            await answered(reader, writer)
        finally:
            writer.transport.abort()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    told.port = server.sockets[0].getsockname()[1]
    try:
        yield told
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
