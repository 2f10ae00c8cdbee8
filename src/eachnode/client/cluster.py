"""The door over HTTP: any Kubernetes API server, near or far.

What comes back is cut, not decoded: a list into the texts of its items, a watch into the texts of its objects, so that
whoever reads decodes only what it decides upon. Writes are bounded in flight; when the server says "later" (429, or 503
to a request that may safely be sent twice) they wait as long as it asks. Silence is noticed: by the kernel's keep-alive
where the peer is gone, by a deadline between bytes where something in between swallows them.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

import aiohttp
import msgspec
from yarl import URL

import eachnode
from eachnode.client.access import Access
from eachnode.client.credentials import ClientCertificate, ConfigError, CredentialError
from eachnode.client.discovery import discover
from eachnode.client.door import PatchKind
from eachnode.client.refusals import error_in, wait_asked_for
from eachnode.client.watch_lines import watch_batch
from eachnode.objects.clock import Chance
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.status import ApiError, Unauthorized, Unreachable
from eachnode.objects.watching import Page, WatchEvent

ATTEMPTS = 10  # Of a request that the server asks us to send later.
LONGEST_WAIT = 60.0  # Seconds we let the server make us wait.
CONNECT_WITHIN = 15.0
ANSWER_WITHIN = 75.0  # Seconds of silence in an ordinary request; API servers give up after 60.
WATCH_SILENCE = 150.0  # Seconds of silence in a watch: servers send a bookmark about every minute.
CHUNK = 1 << 18  # Bytes buffered of a watch before the server has to wait for us.
KEPT_IDLE = 30.0  # Seconds that an unused connection is kept.

JSON = "application/json"
LOOPABLE = frozenset({"list", "watch", "delete"})


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continues: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _ListBody(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None
    metadata: _ListMeta = _ListMeta()


class Cluster:
    """An API server behind a connection pool; a Door."""

    def __init__(
        self,
        access: Access,
        *,
        max_in_flight: int = 64,
        user_agent: str = "",
        chance: Chance | None = None,
        watch_silence: float = WATCH_SILENCE,
    ) -> None:
        self.access = access
        self._ordinary = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN, sock_read=ANSWER_WITHIN)
        self._watching = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN, sock_read=watch_silence)
        agent = user_agent or "eachnode"
        self._fixed = {"User-Agent": f"{agent}/{eachnode.__version__}", "Accept": JSON}
        self._impersonation = access.impersonation
        self._server = access.server.rstrip("/")
        self._writes = asyncio.Semaphore(max_in_flight)
        self._chance = chance or random.Random()
        self._session: aiohttp.ClientSession | None = None
        self._retired: list[aiohttp.ClientSession] = []
        self._presented: ClientCertificate | None = None
        self._special: dict[str, Any] = {"allow_redirects": False}
        if access.proxy:
            self._special["proxy"] = access.proxy
        if access.trust.server_name:
            self._special["server_hostname"] = access.trust.server_name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        sessions = [*self._retired, *([self._session] if self._session is not None else [])]
        self._retired, self._session = [], None
        for session in sessions:
            await session.close()

    # The verbs

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Document:
        """One object."""
        return Document(await self._call("GET", resource.path(namespace, name, subresource), {}))

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
        """A page of objects, their texts untouched."""
        query = {"labelSelector": labels, "fieldSelector": fields, "continue": after, "resourceVersion": version}
        query["limit"] = str(limit) if limit else ""
        raw = await self._call("GET", resource.path(namespace), query)
        try:
            body = _LIST.decode(raw)
        except msgspec.MsgspecError as error:
            raise Unreachable(f"{self._server} answered with something that is no list: {error}") from error
        meta = body.metadata
        documents = tuple(Document(memoryview(item)) for item in body.items or ())
        return Page(documents, meta.resource_version, meta.continues, meta.remaining_item_count)

    async def watch(
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
        """Changes as they come, everything that arrived together in one batch."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": labels,
            "fieldSelector": fields,
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(timeout))) if timeout else "",
        }
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        response = await self._answer("GET", resource.path(namespace), query, timeouts=self._watching)
        try:
            rest = b""
            while chunk := await self._read_on(response):
                lines, newline, tail = (rest + chunk).rpartition(b"\n")
                rest = tail
                if newline:
                    yield watch_batch(lines)
        finally:
            _hang_up(response)

    async def create(
        self,
        resource: Resource,
        body: bytes,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        """POST."""
        path = resource.path(namespace, name, subresource)
        return Document(await self._write("POST", path, _write_query(field_manager, dry_run), body, JSON))

    async def update(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        """PUT."""
        path = resource.path(namespace, name, subresource)
        return Document(await self._write("PUT", path, _write_query(field_manager, dry_run), body, JSON))

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        kind: PatchKind,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Document:
        """PATCH."""
        query = _write_query(field_manager, dry_run)
        if force:
            query["force"] = "true"
        path = resource.path(namespace, name, subresource)
        return Document(await self._write("PATCH", path, query, body, kind.value))

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        """DELETE."""
        body = msgspec.json.encode(options) if options is not None else b""
        return Document(await self._write("DELETE", resource.path(namespace, name), {}, body, JSON))

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        """DELETE of a collection."""
        body = msgspec.json.encode(options) if options is not None else b""
        await self._write("DELETE", resource.path(namespace), {"labelSelector": labels}, body, JSON)

    async def served(self) -> Sequence[Resource]:
        """The kinds that can be listed, watched and deleted, from discovery."""
        return [resource for resource, kind in await discover(self.fetch) if LOOPABLE.issubset(kind.verbs)]

    async def fetch(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = "") -> bytes:
        """GET any path: discovery, the version, the health, objects in another shape."""
        return await self._call("GET", path, query or {}, accept=accept)

    async def stream(self, path: str, query: Mapping[str, str], *, accept: str = "") -> AsyncIterator[bytes]:
        """The lines of a watch of any path, in any shape, until the server ends it."""
        response = await self._answer("GET", path, query, timeouts=self._watching, accept=accept)
        try:
            rest = b""
            while chunk := await self._read_on(response):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line
        finally:
            _hang_up(response)

    # One request

    async def _write(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> bytes:
        async with self._writes:
            return await self._call(method, path, query, body, media)

    async def _call(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b"", media: str = "", accept: str = ""
    ) -> bytes:
        response = await self._answer(method, path, query, body, media, accept=accept)
        try:
            return await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreachable(error) from error
        finally:
            response.release()

    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes = b"",
        media: str = "",
        *,
        timeouts: aiohttp.ClientTimeout | None = None,
        accept: str = "",
    ) -> aiohttp.ClientResponse:
        """The successful answer to a request; sent again where the server asks for it and it does no harm."""
        url = self._url(path, query)
        authorized_anew = False
        attempt = 0
        while True:
            attempt += 1
            response = await self._send(method, url, body, media, timeouts or self._ordinary, accept)
            if response.status < 300:
                return response
            error = await self._refusal(response)
            if isinstance(error, Unauthorized) and not authorized_anew:
                authorized_anew = True
                if await self.access.credentials.refused():
                    continue
            wait = wait_asked_for(error, method)
            if wait is None or attempt >= ATTEMPTS:
                raise error
            # A little more for everybody differently, or all who were sent away come back at once.
            await asyncio.sleep(min(wait, LONGEST_WAIT) * (1 + self._chance.random() / 4))

    async def _send(
        self, method: str, url: URL, body: bytes, media: str, timeouts: aiohttp.ClientTimeout, accept: str
    ) -> aiohttp.ClientResponse:
        headers = await self._headers(media, accept)
        session = await self._open()
        try:
            return await session.request(
                method, url, data=body or None, headers=headers, timeout=timeouts, **self._special
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreachable(error) from error

    async def _headers(self, media: str, accept: str = "") -> Any:
        headers: dict[str, str] = {**self._fixed, **await self.access.credentials.headers()}
        if accept:
            headers["Accept"] = accept
        if media:
            headers["Content-Type"] = media
        elif self.access.compression:
            headers["Accept-Encoding"] = "gzip"  # Only what is read in bulk is worth the work.
        if self._impersonation:
            return [*headers.items(), *self._impersonation]  # Its headers may repeat.
        return headers

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        given = {key: value for key, value in query.items() if value}
        text = self._server + urllib.parse.quote(path, safe="/:@!$&'()*+,;=~")
        return URL(f"{text}?{urllib.parse.urlencode(given)}" if given else text, encoded=True)

    async def _open(self) -> aiohttp.ClientSession:
        """The session, made anew when the client certificate has changed."""
        certificate = self.access.credentials.certificate
        if self._session is not None and certificate != self._presented:
            # Requests and watches in flight keep their connections: only the session before this one's goes now.
            self._retired.append(self._session)
            self._session = None
            while len(self._retired) > 1:
                await self._retired.pop(0).close()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    ssl=self._tls(certificate),
                    keepalive_timeout=KEPT_IDLE,
                    socket_factory=_watchful_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "Content-Type"),
                read_bufsize=CHUNK,
            )
            self._presented = certificate
        return self._session

    def _tls(self, certificate: ClientCertificate | None) -> ssl.SSLContext | bool:
        if not self._server.startswith("https:"):
            return True
        try:
            return self.access.trust.context(certificate)
        except ConfigError as error:  # Of a renewed certificate; what was configured has been tried by `load`.
            raise CredentialError(str(error)) from error

    async def _read_on(self, response: aiohttp.ClientResponse) -> bytes:
        """The next bytes of a watch; none at its end."""
        try:
            return await response.content.readany()
        except aiohttp.ClientPayloadError:
            return b""  # The server went away in mid-sentence: a watch that ended, to be resumed like any other.
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreachable(error) from error

    async def _refusal(self, response: aiohttp.ClientResponse) -> ApiError:
        """The error that an unsuccessful answer means."""
        try:
            raw = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError):
            raw = b""
        finally:
            response.release()
        return error_in(response.status, raw, response.url.path, response.headers.get("Retry-After", ""))

    def _unreachable(self, error: Exception) -> Unreachable:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
            return Unreachable(f"{self._server}: its certificate is not trusted: {reason}")
        if isinstance(error, TimeoutError):
            return Unreachable(f"{self._server}: no answer in time")
        if isinstance(error, aiohttp.ClientConnectorError):
            known = (
                isinstance(error.errno, int) and error.errno > 0
            )  # Names that do not resolve have errors of their own.
            why = (
                os.strerror(error.errno)
                if known and error.errno is not None
                else (error.os_error.strerror or str(error.os_error))
            )
            return Unreachable(f"{self._server}: cannot connect: {why}")
        return Unreachable(f"{self._server}: {str(error) or type(error).__name__}")


_LIST = msgspec.json.Decoder(_ListBody)


def _write_query(field_manager: str, dry_run: bool) -> dict[str, str]:
    return {"fieldManager": field_manager, "dryRun": "All" if dry_run else ""}


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """End a watch at once: a polite TLS farewell, to a server in mid-sentence, would outlive the event loop."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _watchful_socket(address: Any) -> socket.socket:
    """A socket on which the kernel notices within a minute that the peer is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 20),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 50_000),
    ):
        if hasattr(socket, option):  # Each system has its own set.
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
