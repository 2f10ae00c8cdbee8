"""A server with the built-in kinds and the admission of a default cluster, in memory."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from eachnode.objects.resources import NAMESPACES, Resource
from eachnode.objects.status import ApiError
from eachnode.server.admission import default_admission, default_judges
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Tree
from eachnode.server.kinds import BUILT_IN
from eachnode.server.kinds.fresh_cluster import initial_objects
from eachnode.server.store import Store

NOW = 1_700_000_000.0


class StillClock:
    """Time does not pass."""

    def now(self) -> float:
        return NOW


class World:
    """What a client would do, with trees instead of bytes."""

    def __init__(self) -> None:
        store = Store.open(":memory:", clock=StillClock())
        chance = random.Random(1)
        steps, judges = default_admission(), default_judges()
        self.server = ApiServer(store, BUILT_IN, clock=StillClock(), chance=chance, admission=steps, judges=judges)

    async def create(self, resource: Resource, namespace: str = "", **fields: Any) -> Tree:
        """The object that was made."""
        about = {"name": "x", **fields.pop("metadata", {})}
        tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": about, **fields}
        return (await self.server.create(resource, msgspec.json.encode(tree), namespace)).tree()

    async def refused(self, resource: Resource, namespace: str = "", **fields: Any) -> ApiError:
        """The refusal of an object that must not be made."""
        try:
            await self.create(resource, namespace, **fields)
        except ApiError as error:
            return error
        raise AssertionError("it was not refused")

    async def merge(self, resource: Resource, name: str, namespace: str, patch: Tree, subresource: str = "") -> Tree:
        """What a merge patch makes of an object."""
        media = "application/merge-patch+json"
        body = msgspec.json.encode(patch)
        return (await self.server.patch(resource, name, body, media, namespace, subresource=subresource)).tree()

    async def delete(self, resource: Resource, name: str, namespace: str = "") -> Tree:
        """What a DELETE answers."""
        return (await self.server.delete(resource, name, namespace)).tree()


async def fresh_world() -> World:
    """One that holds what every cluster does, and the namespace `ns`."""
    world = World()
    for resource, tree in initial_objects():
        namespace = tree["metadata"].get("namespace", "")
        await world.server.create(resource, msgspec.json.encode(tree), namespace)
    await world.create(NAMESPACES, metadata={"name": "ns"})
    return world
