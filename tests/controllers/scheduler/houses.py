"""A server with a scheduler at work, and brief ways to write objects to it and to wait for what comes of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.scheduler import Scheduler, SchedulerOptions
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import EVENTS, NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS
from eachnode.objects.status import NotFound
from eachnode.runtime.virtual_time import LoopClock
from eachnode.server.api_server import ApiServer
from eachnode.server.kinds import BUILT_IN
from eachnode.server.store import IN_MEMORY, Store

Json = dict[str, Any]
DEFAULTS = SchedulerOptions()
LONG = 3600.0  # Virtual seconds after which what is awaited will not come.


class House:
    """A server, and hands to use it with."""

    def __init__(self, door: Door) -> None:
        self.door = door

    async def node(
        self,
        name: str,
        *,
        cpu: str = "4",
        labels: Mapping[str, str] | None = None,
        taints: list[Json] | None = None,
        cordoned: bool = False,
    ) -> None:
        """Create a node with room."""
        room = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        tree = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {"taints": taints, "unschedulable": cordoned},
            "status": {"allocatable": room, "capacity": room},
        }
        await self.door.create(NODES, msgspec.json.encode(tree))

    async def change_node(self, name: str, change: Json, *, subresource: str = "") -> None:
        """Merge a change into a node."""
        body = msgspec.json.encode(change)
        await self.door.patch(NODES, name, body, PatchKind.MERGE, subresource=subresource)

    async def pod(
        self, name: str, *, cpu: str = "", pinned_to: str = "", labels: Json | None = None, **spec: Any
    ) -> None:
        """Create a pod with one container; further fields of its spec by their API names."""
        container: Json = {"name": "c", "image": "i"}
        if cpu:
            container["resources"] = {"requests": {"cpu": cpu}}
        if pinned_to:
            pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pinned_to]}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}
            spec["affinity"] = {"nodeAffinity": required}
        tree = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"containers": [container], **spec},
        }
        await self.door.create(PODS, msgspec.json.encode(tree), "default")

    async def change_pod(self, name: str, change: Json, *, subresource: str = "") -> None:
        """Merge a change into a pod."""
        body = msgspec.json.encode(change)
        await self.door.patch(PODS, name, body, PatchKind.MERGE, "default", subresource=subresource)

    async def remove(self, name: str, grace: int = 0) -> None:
        """Delete a pod."""
        await self.door.delete(PODS, name, "default", options=DeleteOptions(grace_period_seconds=grace))

    async def get(self, name: str) -> Json:
        """A pod."""
        return (await self.door.get(PODS, name, "default")).tree()

    async def is_gone(self, name: str) -> bool:
        """Whether there is no such pod."""
        try:
            await self.door.get(PODS, name, "default")
        except NotFound:
            return True
        return False

    async def until(self, name: str, holds: Callable[[Json], Any]) -> Json:
        """The pod, as soon as this is true of it."""
        async with asyncio.timeout(LONG):
            async for batch in self.door.watch(PODS, "default", fields=f"metadata.name={name}", initial=True):
                for event in batch:
                    if event.type in ("ADDED", "MODIFIED") and holds(event.document.tree()):
                        return event.document.tree()
        raise AssertionError("the watch ended")

    async def placed(self, name: str) -> str:
        """The pod's node, as soon as it has one."""
        return str((await self.until(name, node_of))["spec"]["nodeName"])

    async def told(self, name: str, text: str = "") -> str:
        """Why the pod has no node, as soon as it is told (and the text occurs in it)."""
        tree = await self.until(name, lambda tree: text in message_of(tree) and message_of(tree))
        return message_of(tree)

    async def events(self, reason: str) -> list[str]:
        """The messages of the events with this reason, as often as each was counted."""
        page = await self.door.list(EVENTS, "default")
        trees = [document.tree() for document in page.documents]
        return [tree["message"] for tree in trees if tree["reason"] == reason for _ in range(tree.get("count", 1))]

    async def budget(self, name: str, allowed: int, labels: Json) -> None:
        """Create a disruption budget that allows so many disruptions."""
        tree = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1},
        }
        await self.door.create(POD_DISRUPTION_BUDGETS, msgspec.json.encode(tree), "default")
        status = msgspec.json.encode({"status": {"disruptionsAllowed": allowed}})
        await self.door.patch(POD_DISRUPTION_BUDGETS, name, status, PatchKind.MERGE, "default", subresource="status")


def node_of(tree: Json) -> str:
    return str(tree["spec"].get("nodeName", ""))


def condition_of(tree: Json, kind: str = "PodScheduled") -> Json:
    found: list[Json] = [each for each in tree["status"].get("conditions", []) if each["type"] == kind]
    return found[0] if found else {}


def message_of(tree: Json) -> str:
    condition = condition_of(tree)
    return str(condition.get("message", "")) if condition.get("status") == "False" else ""


async def new_server() -> ApiServer:
    """An empty server with a namespace."""
    clock = LoopClock()
    store = Store.open(IN_MEMORY, clock=clock)
    server = ApiServer(store, BUILT_IN, clock=clock, chance=random.Random(1))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    await server.create(NAMESPACES, msgspec.json.encode(body))
    return server


@asynccontextmanager
async def at_work(door: Door, options: SchedulerOptions = DEFAULTS) -> AsyncIterator[Scheduler]:
    """A scheduler that has seen the present objects and works on."""
    scheduler = Scheduler(door, clock=LoopClock(), chance=random.Random(2), options=options)
    running = asyncio.create_task(scheduler.run())
    try:
        synced = asyncio.create_task(scheduler.synced.wait())
        await asyncio.wait({running, synced}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield scheduler
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def house(options: SchedulerOptions = DEFAULTS) -> AsyncIterator[House]:
    """A server with a scheduler at work."""
    server = await new_server()
    async with at_work(server, options):
        yield House(server)
    server.store.close()
