"""A web server for tests of the client: it answers as it is told and remembers what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class Server:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)

    @property
    def last(self) -> Asked:
        return self.asked[-1]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[Server]:
    """A server on a free port of this machine for as long as the block lasts."""
    server = Server("")

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = [(key, value) for key, value in request.headers.items()]
        server.asked.append(Asked(request.method, request.raw_path.split("?")[0], dict(request.query), headers, body))
        return await handler(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
