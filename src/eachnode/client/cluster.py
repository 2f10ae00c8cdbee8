"""The door over HTTP: any Kubernetes API server, near or far.

What comes back is cut, not decoded: a list into the texts of its items, a watch into the texts of its objects, so that
whoever reads decodes only what it decides upon. Writes are bounded in flight; when the server says "later" (429, or 503
to a request that may safely be sent twice) they wait as long as it asks. Silence is noticed: by the kernel's keep-alive
where the peer is gone, by a deadline between bytes where something in between swallows them.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import urllib.parse
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple, Self

import msgspec

import eachnode
from eachnode.client.access import Access
from eachnode.client.connections import CannotConnect, Connections, Untrusted
from eachnode.client.credentials import ClientCertificate, ConfigError, CredentialError
from eachnode.client.discovery import discover
from eachnode.client.door import PatchKind
from eachnode.client.http1 import Broken, Connection, Head, request_bytes
from eachnode.client.refusals import REPEATABLE, error_in, wait_asked_for
from eachnode.client.watch_lines import watch_batch
from eachnode.objects.clock import Chance
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.status import ApiError, Unauthorized, Unreachable
from eachnode.objects.watching import Page, WatchEvent

ATTEMPTS = 10  # Of a request that the server asks us to send later.
LONGEST_WAIT = 60.0  # Seconds we let the server make us wait.
ANSWER_WITHIN = 75.0  # Seconds of silence in an ordinary request; API servers give up after 60.
WATCH_SILENCE = 150.0  # Seconds of silence in a watch: servers send a bookmark about every minute.

JSON = "application/json"
LOOPABLE = frozenset({"list", "watch", "delete"})


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continues: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _ListBody(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None
    metadata: _ListMeta = _ListMeta()


class _Request(NamedTuple):
    """What is asked, whoever asks it."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes = b""
    media: str = ""
    accept: str = ""
    silence: float = ANSWER_WITHIN  # How long the server may say nothing.

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        given = {key: value for key, value in self.query.items() if value}
        path = urllib.parse.quote(self.path, safe="/:@!$&'()*+,;=~")
        return f"{path}?{urllib.parse.urlencode(given)}" if given else path


class Cluster:
    """An API server behind kept connections; a Door."""

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
        self._watch_silence = watch_silence
        self._server = access.server.rstrip("/")
        self._path = urllib.parse.urlsplit(self._server).path  # Of a server behind another's front.
        self._agent = f"{user_agent or 'eachnode'}/{eachnode.__version__}"
        self._writes = asyncio.Semaphore(max_in_flight)
        self._chance = chance or random.Random()
        self._connections: Connections | None = None
        self._presented: ClientCertificate | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

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
        rest = b""
        async with aclosing(self._stream(resource.path(namespace), query)) as chunks:
            async for chunk in chunks:
                lines, newline, tail = (rest + chunk).rpartition(b"\n")
                rest = tail
                if newline:
                    yield watch_batch(lines)

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
        rest = b""
        async with aclosing(self._stream(path, query, accept)) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line

    # One request

    async def _write(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> bytes:
        async with self._writes:
            return await self._call(method, path, query, body, media)

    async def _call(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b"", media: str = "", accept: str = ""
    ) -> bytes:
        request = _Request(method, path, query, body, media, accept)
        connections, connection = await self._answered(request)
        try:
            return await connection.read_all(request.silence)
        except (Broken, OSError) as error:
            raise self._unreachable(error) from error
        finally:
            connections.give_back(connection)

    async def _stream(self, path: str, query: Mapping[str, str], accept: str = "") -> AsyncGenerator[bytes, None]:
        """The bytes of an answer that goes on, as they come."""
        request = _Request("GET", path, query, accept=accept, silence=self._watch_silence)
        connections, connection = await self._answered(request)
        try:
            while chunk := await connection.read(request.silence):
                yield chunk
        except (Broken, ConnectionError):
            return  # The server went away in mid-sentence: a watch that ended, to be resumed like any other.
        except OSError as error:
            raise self._unreachable(error) from error
        finally:
            connections.give_back(connection)

    async def _answered(self, request: _Request) -> tuple[Connections, Connection]:
        """A connection on which the body of a successful answer comes, to be given back when it was read.

        The request is sent again where the server asks for it and it does no harm.
        """
        authorized_anew = False
        attempt = 0
        while True:
            attempt += 1
            connections, connection, head = await self._send(request)
            if head.status < 300:
                return connections, connection
            error = await self._refusal(connections, connection, head, request)
            if isinstance(error, Unauthorized) and not authorized_anew:
                authorized_anew = True
                if await self.access.credentials.refused():
                    continue
            wait = wait_asked_for(error, request.method)
            if wait is None or attempt >= ATTEMPTS:
                raise error
            # A little more for everybody differently, or all who were sent away come back at once.
            await asyncio.sleep(min(wait, LONGEST_WAIT) * (1 + self._chance.random() / 4))

    async def _send(self, request: _Request) -> tuple[Connections, Connection, Head]:
        headers = await self._headers(request)
        connections = self._current_connections()
        target = connections.prefix + self._path + request.target
        try:
            sent = request_bytes(request.method, target, (*connections.first_headers, *headers), request.body)
            connection, head = await connections.ask(sent, request.silence, may_repeat=request.method in REPEATABLE)
        except (Broken, OSError, ValueError) as error:
            raise self._unreachable(error) from error
        return connections, connection, head

    async def _headers(self, request: _Request) -> tuple[tuple[str, str], ...]:
        headers = [("User-Agent", self._agent), ("Accept", request.accept or JSON)]
        headers += (await self.access.credentials.headers()).items()
        if request.media:
            headers.append(("Content-Type", request.media))
        elif self.access.compression:
            headers.append(("Accept-Encoding", "gzip"))  # Only what is read in bulk is worth the work.
        return (*headers, *self.access.impersonation)  # Whose names may repeat.

    def _current_connections(self) -> Connections:
        """The connections that present the client certificate of now."""
        certificate = self.access.credentials.certificate
        if self._connections is not None and certificate != self._presented:
            self._connections.retire()  # Requests and watches in flight keep theirs.
            self._connections = None
        if self._connections is None:
            access = self.access
            self._connections = Connections(
                self._server, tls=lambda: self._tls(certificate), server_name=access.trust.server_name,
                proxy=access.proxy,
            )  # fmt: skip
            self._presented = certificate
        return self._connections

    def _tls(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        try:
            return self.access.trust.context(certificate)
        except ConfigError as error:  # Of a renewed certificate; what was configured has been tried by `load`.
            raise CredentialError(str(error)) from error

    async def _refusal(
        self, connections: Connections, connection: Connection, head: Head, request: _Request
    ) -> ApiError:
        """The error that an unsuccessful answer means."""
        try:
            raw = await connection.read_all(request.silence)
        except (Broken, OSError):
            raw = b""
        finally:
            connections.give_back(connection)
        return error_in(head.status, raw, request.path, head.headers.get("retry-after", ""))

    def _unreachable(self, error: Exception) -> Unreachable:
        if isinstance(error, Untrusted):
            return Unreachable(f"{self._server}: its certificate is not trusted: {error}")
        if isinstance(error, CannotConnect):
            return Unreachable(f"{self._server}: cannot connect: {error}")
        if isinstance(error, TimeoutError):
            return Unreachable(f"{self._server}: no answer in time")
        return Unreachable(f"{self._server}: {str(error) or type(error).__name__}")


_LIST = msgspec.json.Decoder(_ListBody)


def _write_query(field_manager: str, dry_run: bool) -> dict[str, str]:
    return {"fieldManager": field_manager, "dryRun": "All" if dry_run else ""}
