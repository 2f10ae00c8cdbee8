"""A whole cluster on virtual time, and ways to act on it and to await what becomes of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from eachnode.client.door import PatchKind
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import COMPONENTS, ClusterOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS, Resource
from eachnode.objects.status import NotFound
from eachnode.runtime.virtual_time import LoopClock

Tree = dict[str, Any]


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    """A running cluster; `without` names components to leave out, all else but the clock are ClusterOptions."""
    without, clock = options.pop("without", ()), options.pop("clock", None) or LoopClock()
    options.setdefault("components", tuple(each for each in COMPONENTS if each not in without))
    async with EmbeddedCluster(ClusterOptions(**options), clock=clock, chance=random.Random(1)) as cluster:
        yield World(cluster)


class World:
    """Acts as a user of the cluster would."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.door = cluster.server

    async def create(self, resource: Resource, tree: Tree, namespace: str = "default") -> Tree:
        """POST."""
        where = namespace if resource.namespaced else ""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        return (await self.door.create(resource, msgspec.json.encode(body), where)).tree()

    async def get(self, resource: Resource, name: str, namespace: str = "default") -> Tree | None:
        """One object, or None."""
        try:
            return (await self.door.get(resource, name, namespace if resource.namespaced else "")).tree()
        except NotFound:
            return None

    async def all(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> list[Tree]:
        """All objects of a kind."""
        page = await self.door.list(resource, namespace, labels=labels, fields=fields)
        return [each.tree() for each in page.documents]

    async def patch(
        self, resource: Resource, name: str, change: Tree, namespace: str = "default", subresource: str = ""
    ) -> None:
        """A merge patch."""
        where = namespace if resource.namespaced else ""
        body = msgspec.json.encode(change)
        await self.door.patch(resource, name, body, PatchKind.MERGE, where, subresource=subresource)

    async def delete(self, resource: Resource, name: str, namespace: str = "default", options: Any = None) -> None:
        """DELETE."""
        await self.door.delete(resource, name, namespace if resource.namespaced else "", options=options)

    async def node(self, name: str, **tree: Any) -> None:
        """A simulated node of ample size."""
        size = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        metadata = {"name": name, "annotations": {"eachnode.dev/simulated": "true"}, **tree.pop("metadata", {})}
        status = {"capacity": size, "allocatable": size, **tree.pop("status", {})}
        await self.create(NODES, {"metadata": metadata, "status": status, **tree})

    async def pods(self, *, labels: str = "", fields: str = "") -> list[Tree]:
        """All pods."""
        return await self.all(PODS, labels=labels, fields=fields)

    async def until(self, condition: Callable[[], Awaitable[object]], within: float = 60.0) -> None:
        """Returns as soon as the condition holds; fails when it does not within so many virtual seconds."""
        async with asyncio.timeout(within):
            while not await condition():
                await asyncio.sleep(0.05)

    async def until_available(self, name: str, count: int, within: float = 60.0, namespace: str = "default") -> None:
        """Returns when so many pods of the DaemonSet are available, all of them of its newest template."""

        async def available() -> bool:
            tree = await self.get(DAEMON_SETS, name, namespace)
            status = (tree or {}).get("status", {})
            counts = (status.get("numberAvailable", 0), status.get("updatedNumberScheduled", 0))
            observed = status.get("observedGeneration") == (tree or {"metadata": {}})["metadata"].get("generation")
            return counts == (count, count) and observed

        await self.until(available, within)


def pod(name: str, image: str = "i:1", **spec: Any) -> Tree:
    """A pod with one container."""
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def daemon_set(name: str = "d", image: str = "i:1", template: Tree | None = None, **spec: Any) -> Tree:
    """A DaemonSet with one container."""
    labels = {"app": name}
    pod_spec = {"containers": [{"name": "c", "image": image}], **(template or {})}
    body = {"metadata": {"labels": labels}, "spec": pod_spec}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": body, **spec}}
