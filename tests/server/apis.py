"""Servers for tests: two small kinds, in memory or in a file, on the time of the running loop."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

from eachnode.objects.document import Document
from eachnode.objects.resources import CONFIG_MAPS, Resource
from eachnode.objects.watching import WatchEvent
from eachnode.runtime.virtual_time import LoopClock
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Kind
from eachnode.server.kinds import BUILT_IN
from eachnode.server.store import HistoryLimits, Store
from eachnode.server.store.database import StoreError, Synchronous

Tree = dict[str, Any]
HOME = "home"


def open_api(
    path: Path | str = ":memory:",
    *,
    kinds: Iterable[Kind] = BUILT_IN,
    limits: HistoryLimits | None = None,
    synchronous: Synchronous = "NORMAL",
) -> ApiServer:
    """A server over the store at this path, without admission."""
    clock = LoopClock()
    store = Store.open(path, clock=clock, limits=limits, synchronous=synchronous)
    try:
        return ApiServer(store, kinds, clock=clock, chance=random.Random(7))
    except StoreError:
        store.close()
        raise


def body(name: str = "", **fields: Any) -> bytes:
    """An object's JSON; what is not one of its top-level fields belongs to its metadata."""
    top = {key: fields.pop(key) for key in ("data", "spec", "status", "kind", "apiVersion") if key in fields}
    metadata = {"name": name, **fields} if name else fields
    return json.dumps({**top, "metadata": metadata}).encode()


def pod_body(name: str, node: str = "", **metadata: Any) -> bytes:
    """A pod of one container, bound to a node or not."""
    spec: Tree = {"containers": [{"name": "main", "image": "app"}]}
    if node:
        spec["nodeName"] = node
    return body(name, spec=spec, **metadata)


async def add(
    api: ApiServer, *names: str, resource: Resource = CONFIG_MAPS, namespace: str = HOME, **fields: Any
) -> Tree:
    """Creates objects of these names; answers with the last."""
    made: Tree = {}
    for name in names:
        made = (await api.create(resource, body(name, **fields), namespace)).tree()
    return made


async def names(api: ApiServer, resource: Resource = CONFIG_MAPS, namespace: str = HOME, **query: Any) -> list[str]:
    """The names in a list."""
    return [name_of(document) for document in (await api.list(resource, namespace, **query)).documents]


def name_of(document: Document) -> str:
    """An object's name."""
    return str(document.tree()["metadata"]["name"])


def version_of(tree: Tree) -> int:
    """An object's resourceVersion, as a number."""
    return int(tree["metadata"]["resourceVersion"])


async def collect(
    stream: AsyncIterator[Sequence[WatchEvent]], count: int, *, bookmarks: bool = False
) -> list[tuple[str, Tree]]:
    """The first events of a watch, as their types and objects; the watch is closed then."""
    found: list[tuple[str, Tree]] = []
    async for batch in stream:
        found += [(event.type, event.document.tree()) for event in batch if bookmarks or event.type != "BOOKMARK"]
        if len(found) >= count:
            break
    await stream.aclose()  # type: ignore[attr-defined]  # every watch is an async generator
    return found


def told(events: list[tuple[str, Tree]]) -> list[tuple[str, str]]:
    """Events as their types and the names of their objects."""
    return [(change, tree["metadata"].get("name", "")) for change, tree in events]
