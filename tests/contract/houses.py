"""The houses behind the one door: the embedded server called directly, the same over HTTP, and any cluster of yours.

A real cluster is asked only when EACHNODE_CONTRACT_KUBECONFIG names a kubeconfig; there the tests make namespaces of
their own and delete them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from eachnode.client.cluster import Cluster
from eachnode.client.door import Door
from eachnode.client.kubeconfig import load
from eachnode.embedded.options import SERVER_COMPONENTS, ClusterOptions
from eachnode.embedded.serving import ServingOptions, serve
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, Metadata, MetadataOnly
from eachnode.objects.resources import CONFIG_MAPS, NAMESPACES
from eachnode.runtime.informer import Informer

House = Callable[[], AbstractAsyncContextManager[Door]]
KUBECONFIG = os.environ.get("EACHNODE_CONTRACT_KUBECONFIG", "")


@asynccontextmanager
async def direct() -> AsyncIterator[Door]:
    async with serve(ClusterOptions(components=SERVER_COMPONENTS), ServingOptions(insecure_http=True)) as serving:
        yield serving.cluster.server


@asynccontextmanager
async def over_http() -> AsyncIterator[Door]:
    async with (
        serve(ClusterOptions(components=SERVER_COMPONENTS), ServingOptions()) as serving,
        Cluster(load(str(serving.kubeconfig))) as door,
    ):
        yield door


@asynccontextmanager
async def real() -> AsyncIterator[Door]:
    async with Cluster(load(KUBECONFIG)) as door:
        yield door


HOUSES: dict[str, House] = {"direct": direct, "http": over_http}
if KUBECONFIG:
    HOUSES["real"] = real
OURS = "metadata.name!=kube-root-ca.crt"  # Every namespace is given that one, sooner or later.


@asynccontextmanager
async def room(house: House) -> AsyncIterator[tuple[Door, str]]:
    """A door and a fresh namespace behind it."""
    async with house() as door:
        body = encode({"metadata": {"generateName": "contract-"}})
        namespace = metadata(await door.create(NAMESPACES, body)).name
        try:
            yield door, namespace
        finally:
            await door.delete(NAMESPACES, namespace)


def encode(tree: dict[str, Any]) -> bytes:
    return msgspec.json.encode(tree)


def metadata(document: Document) -> Metadata:
    return document.read(MetadataOnly).metadata


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> bytes:
    return encode({"metadata": {"name": name, "labels": labels or {}}, "data": data})


async def make_config_maps(door: Door, namespace: str, *names: str) -> list[Metadata]:
    return [metadata(await door.create(CONFIG_MAPS, config_map(name), namespace)) for name in names]


async def until_it_holds(maps: Informer[MetadataOnly], *keys: Key) -> None:
    """Return when the informer holds exactly these."""
    news = asyncio.Event()
    maps.subscribe(lambda _old, _new: news.set())
    while set(maps.items) != set(keys):
        news.clear()
        await news.wait()
