"""Connections to one server: made when needed, directly or through a proxy, and kept for the next request."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import ssl
import urllib.parse
from collections import deque
from collections.abc import Callable
from functools import cached_property

from eachnode.client.http1 import Broken, Connection, Head, request_bytes

CONNECT_WITHIN = 15.0
KEPT_IDLE = 30.0  # Seconds that an unused connection is kept.


class CannotConnect(OSError):
    """No connection came about; the message says why."""


class Untrusted(CannotConnect):
    """The server is not who it should be."""


class Place:
    """Where a URL leads: host, port, and whether what is said is encrypted."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.encrypted = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.encrypted else 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = f"{host}:{self.port}"
        self.named = host if self.port == (443 if self.encrypted else 80) else self.authority  # As Host headers do.
        self.userinfo = ""
        if parts.username is not None:
            self.userinfo = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"


class Connections:
    """The connections to one server, as one client."""

    def __init__(
        self, server: str, *, tls: Callable[[], ssl.SSLContext], server_name: str = "", proxy: str = ""
    ) -> None:
        self.place = Place(server)
        self._tls = tls
        self._server_name = server_name
        self._proxy = Place(proxy) if proxy else None
        self._idle: deque[Connection] = deque()
        self._busy: set[Connection] = set()
        self._closed = False

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._tls()

    @cached_property
    def prefix(self) -> str:
        """What stands before the path in a request's first line: a proxy must be told whom it is for."""
        tunnelled = self._proxy is None or self.place.encrypted
        return "" if tunnelled else f"http://{self.place.named}"

    @cached_property
    def first_headers(self) -> tuple[tuple[str, str], ...]:
        """Whom a request is for, and who we are to a proxy that passes it on."""
        proxy = self._proxy_authorization() if self.prefix else {}
        return (("Host", self.place.named), *proxy.items())

    async def ask(self, request: bytes, silence: float, *, may_repeat: bool) -> tuple[Connection, Head]:
        """Send a request; answers with the head of what comes back and the connection on which its body comes.

        The connection is the caller's until `give_back`. A kept one may have been closed by the server just when we
        spoke: then the request is sent again if that does no harm.
        """
        while True:
            connection = self._kept() or await self._make()
            try:
                return connection, await connection.ask(request, silence)
            except BaseException as error:
                self.give_back(connection)
                too_late = isinstance(error, Broken | ConnectionError) and not connection.has_heard
                if not (too_late and may_repeat and not connection.is_fresh):
                    raise

    def _kept(self) -> Connection | None:
        """A connection that was used before, if one still can be."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()  # The one used last: the others may grow old and go.
            if connection.reusable and connection.idle_since > now - KEPT_IDLE:
                connection.is_fresh = False
                self._busy.add(connection)
                return connection
            connection.abandon()
        return None

    async def _make(self) -> Connection:
        """A new connection; raises CannotConnect."""
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                connection = await self._dial()
        except TimeoutError:
            raise CannotConnect(f"no connection within {CONNECT_WITHIN:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(error.verify_message or str(error)) from error
        except OSError as error:
            raise CannotConnect(_reason(error)) from error
        except Broken as error:
            raise CannotConnect(f"the proxy: {error}") from error
        self._busy.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """The connection is not needed at the moment; it is kept if it can be used again."""
        self._busy.discard(connection)
        if self._closed or not connection.reusable:
            connection.abandon()
            return
        now = connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        while self._idle[0].idle_since <= now - KEPT_IDLE:
            self._idle.popleft().abandon()

    def retire(self) -> None:
        """Keep no connection any more; those in use may finish."""
        self._closed = True
        while self._idle:
            self._idle.pop().abandon()

    def close(self) -> None:
        """End all connections."""
        self.retire()
        for connection in self._busy:
            connection.abandon()
        self._busy.clear()

    async def _dial(self) -> Connection:
        if self._proxy is None:
            connection = await _connect(self.place, self._context if self.place.encrypted else None, self._server_name)
        else:
            outer = ssl.create_default_context() if self._proxy.encrypted else None
            connection = await _connect(self._proxy, outer)
            if self.place.encrypted:
                try:
                    return await self._tunnelled(connection)
                except BaseException:
                    connection.abandon()
                    raise
        return connection

    async def _tunnelled(self, connection: Connection) -> Connection:
        """A connection to the server, which the proxy passes on and cannot read."""
        headers = {"Host": self.place.authority, **self._proxy_authorization()}.items()
        head = await connection.ask(request_bytes("CONNECT", self.place.authority, headers, b""), CONNECT_WITHIN)
        if head.status != 200:
            raise Broken(f"it answered {head.status} when asked for {self.place.authority}")
        assert connection.transport is not None
        inner = Connection()
        name = self._server_name or self.place.host
        transport = await asyncio.get_running_loop().start_tls(
            connection.transport, inner, self._context, server_hostname=name
        )
        if transport is None:
            raise Broken("it closed the connection")
        inner.connection_made(transport)
        return inner

    def _proxy_authorization(self) -> dict[str, str]:
        if self._proxy is None or not self._proxy.userinfo:
            return {}
        return {"Proxy-Authorization": f"Basic {base64.b64encode(self._proxy.userinfo.encode()).decode()}"}


async def _connect(place: Place, context: ssl.SSLContext | None, server_name: str = "") -> Connection:
    name = (server_name or place.host) if context is not None else None
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(
        Connection, place.host, place.port, ssl=context, server_hostname=name
    )
    _keep_watch(transport.get_extra_info("socket"))
    return connection


def _keep_watch(made: socket.socket) -> None:
    """Have the kernel notice within a minute that the peer is gone."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 20),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 50_000),
    ):
        if hasattr(socket, option):  # Each system has its own set.
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _reason(error: OSError) -> str:
    """Why no connection came about, in the system's words."""
    if isinstance(error, ssl.SSLError | socket.gaierror) or not error.errno or error.errno < 0:
        return error.strerror or str(error)
    return os.strerror(error.errno)
