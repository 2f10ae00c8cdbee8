"""Fronts for tests: a server with all kinds behind real sockets, and a plain client for it."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from eachnode.runtime.clock import SystemClock
from eachnode.server.api_server import ApiServer
from eachnode.server.custom_kinds import CustomKinds
from eachnode.server.http import Front, HttpOptions, Patience
from eachnode.server.kinds import BUILT_IN
from eachnode.server.store import Store

TOKEN = "a-secret"
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back."""

    status: int
    body: Any
    headers: Any

    @property
    def message(self) -> str:
        """What a Status says."""
        return str(self.body["message"])


@dataclass(frozen=True, slots=True)
class Site:
    """A running front and a client of it."""

    front: Front
    session: aiohttp.ClientSession
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.front.url.rpartition(":")[2])

    async def call(self, step: str, body: Any = None, *, token: str | None = TOKEN, **headers: str) -> Answered:
        """One request, as `GET /path`; keyword arguments are headers, with underscores for dashes."""
        method, path = step.split(" ", 1)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        url = f"{self.front.url}{path}"
        async with self.session.request(method, url, data=data, headers=sent, ssl=self.tls or True) as response:
            text = await response.text()
            kind = response.headers.get("Content-Type", "")
            found = json.loads(text) if text and kind.startswith("application/json") else text
            return Answered(response.status, found, response.headers)

    async def call_raw(self, step: str) -> tuple[int, str]:
        """Status and body of a request whose path goes out exactly as it stands."""
        async with self.connected() as (reader, writer):
            head = f"{step} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            writer.write(head.encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
            return int(head.split()[1]), body

    @asynccontextmanager
    async def lines(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[Tree]]:
        """The events of a watch."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent["Authorization"] = f"Bearer {TOKEN}"
        async with self.session.get(f"{self.front.url}{path}", headers=sent) as response:
            assert response.status == 200, await response.text()
            yield _events(response)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A bare connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()


def config_map(name: str, **data: str) -> Tree:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


WIDGETS: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {"size": {"type": "integer", "description": "How big it is."}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def serve_widgets(site: Site) -> None:
    """Defines a custom kind and waits until it is served."""
    defined = await site.call("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    assert defined.status == 201, defined.body
    async with asyncio.timeout(10):
        while (await site.call("GET /apis/example.com/v1/widgets")).status != 200:
            await asyncio.sleep(0)


@asynccontextmanager
async def running(directory: Path | None = None, **options: Any) -> AsyncIterator[Site]:
    """A front over an empty server, without TLS unless a directory for its certificates is given."""
    clock = SystemClock()
    store = Store.open(":memory:", clock=clock)
    api = ApiServer(store, BUILT_IN, clock=clock, chance=random.Random(7))
    await CustomKinds(api).settled()
    tls = directory is not None
    front = Front(api, HttpOptions(port=0, token=TOKEN, data_dir=directory, insecure_http=not tls, **options))
    await front.start()
    trust = ssl.create_default_context(cadata=front.ca_pem) if tls else None
    try:
        async with aiohttp.ClientSession() as session:
            yield Site(front, session, trust)
    finally:
        await front.stop(patience=2.0)
        store.close()


def impatient(**seconds: Any) -> Patience:
    """A server that waits as long as it is told here, and otherwise as long as usual."""
    return Patience(**seconds)


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[Tree]:
    async for line in response.content:
        yield json.loads(line)
