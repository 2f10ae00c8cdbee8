"""What a node says of itself: its status when it comes up, and the sign of life it gives every few seconds."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.kubelet.options import KubeletOptions
from eachnode.decisions.pod_stages.view import SimulatedNode
from eachnode.objects.clock import Chance, Clock, micro_timestamp, timestamp
from eachnode.objects.resources import LEASES, NODES
from eachnode.objects.status import ApiError, NotFound, Unreachable
from eachnode.runtime.clock import elapsed

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
AT_ONCE = 64  # Beats sent together: one after another they fall behind where thousands of nodes meet a busy server.
STOPPED = "eachnode.dev/stopped"  # A node with this annotation is dead: no sign of life, nothing happens on it.
REBOOTED = "eachnode.dev/rebooted"  # When this annotation changes the node starts anew.
DEFAULT_SIZE = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def is_stopped(node: SimulatedNode) -> bool:
    """Whether the node plays dead."""
    return (node.metadata.annotations or {}).get(STOPPED) == "true"


def boot_id(node: SimulatedNode) -> str:
    """What changes with each start of the node."""
    rebooted = (node.metadata.annotations or {}).get(REBOOTED)
    return node.metadata.uid if rebooted is None else str(uuid5(NAMESPACE_OID, f"{node.metadata.uid} {rebooted}"))


def _is_doubted(node: SimulatedNode) -> bool:
    """Whether somebody has said of the node that it is not heard of."""
    return any(each.status == "Unknown" for each in node.status.conditions or ())


class Heartbeats:
    """The signs of life of all simulated nodes, each at its own beat."""

    def __init__(
        self, door: Door, nodes: Mapping[str, SimulatedNode], *, clock: Clock, chance: Chance, options: KubeletOptions
    ) -> None:
        self._door = door
        self._nodes = nodes
        self._clock = clock
        self._chance = chance
        self._options = options
        self._due: list[tuple[float, str]] = []  # A heap: when, which node.
        self._beating: dict[str, float] = {}  # Node → when its whole status is due.
        self._more = asyncio.Event()
        self.addresses: dict[str, str] = {}

    def notice(self, node: SimulatedNode | None, name: str) -> None:
        """A node appeared, changed or went: begin or stop its heartbeats."""
        if node is None or is_stopped(node):
            self._beating.pop(name, None)
            return
        self.addresses.setdefault(name, node.address or _address(len(self.addresses)))
        if name not in self._beating:
            self._beating[name] = 0.0
            heapq.heappush(self._due, (elapsed(), name))
            self._more.set()

    def tell_all(self, name: str) -> None:
        """Have the node's whole status told with its next beat."""
        if name in self._beating:
            self._beating[name] = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            while due := self._take_due():
                await asyncio.gather(*(self._beat(name) for name in due))
            self._more.clear()
            pause = self._due[0][0] - elapsed() if self._due else None
            try:
                async with asyncio.timeout(None if pause is None else max(0.0, pause)):
                    await self._more.wait()
            except TimeoutError:
                continue

    def _take_due(self) -> list[str]:
        """Some of the nodes whose beat is due, the most overdue first."""
        now = elapsed()
        due: list[str] = []
        while self._due and self._due[0][0] <= now and len(due) < AT_ONCE:
            due.append(heapq.heappop(self._due)[1])
        return due

    async def _beat(self, name: str) -> None:
        began, now = elapsed(), self._clock.now()
        node = self._nodes.get(name)
        if node is None or name not in self._beating:
            return
        try:
            if began >= self._beating[name] or _is_doubted(node):
                self._beating[name] = began + self._options.status_every
                await self._post_status(node, now)
            await self._renew_lease(node, now)
        except (ApiError, Unreachable) as error:
            log.warning("node %s gave no sign of life, because the API said: %s", name, error)
        jitter = 0.96 + 0.08 * self._chance.random()
        heapq.heappush(self._due, (began + self._options.lease_every * jitter, name))

    async def _post_status(self, node: SimulatedNode, now: float) -> None:
        status = status_patch(node, self.addresses[node.name], timestamp(now))
        await self.post(node.name, status)

    async def post(self, name: str, status: Mapping[str, Any]) -> None:
        """Write a part of a node's status."""
        body = msgspec.json.encode({"status": status})
        try:
            await self._door.patch(NODES, name, body, PatchKind.STRATEGIC, subresource="status")
        except NotFound:
            return

    async def _renew_lease(self, node: SimulatedNode, now: float) -> None:
        renewed = {"renewTime": micro_timestamp(now)}
        try:
            body = msgspec.json.encode({"spec": renewed})
            await self._door.patch(LEASES, node.name, body, PatchKind.MERGE, LEASE_NAMESPACE)
        except NotFound:
            owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.metadata.uid}
            spec = {"holderIdentity": node.name, "leaseDurationSeconds": self._options.lease_seconds, **renewed}
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": node.name, "ownerReferences": [owner]},
                "spec": spec,
            }
            await self._door.create(LEASES, msgspec.json.encode(lease), LEASE_NAMESPACE)


def status_patch(node: SimulatedNode, address: str, now: str) -> dict[str, Any]:
    """What the node says of itself: what it was given stays, what is missing is filled in; False stays False."""
    before = {each.type: each for each in node.status.conditions or ()}
    conditions = []
    for kind, status, reason, message in HEALTHY:
        old = before.get(kind)
        if old is not None and old.status != "Unknown":
            conditions.append({"type": kind, "status": old.status, "lastHeartbeatTime": now})
            continue
        condition = {"type": kind, "status": status, "reason": reason, "message": message}
        conditions.append({**condition, "lastHeartbeatTime": now, "lastTransitionTime": now})
    status_tree: dict[str, Any] = {"conditions": conditions}
    if not node.status.addresses:
        hostname = {"type": "Hostname", "address": node.name}
        status_tree["addresses"] = [{"type": "InternalIP", "address": address}, hostname]
    if not node.status.capacity:
        status_tree |= {"capacity": DEFAULT_SIZE, "allocatable": DEFAULT_SIZE}
    status_tree["nodeInfo"] = {
        "architecture": "amd64",
        "operatingSystem": "linux",
        "osImage": "simulated",
        "kernelVersion": "simulated",
        "kubeletVersion": "v1.37.0-eachnode",
        "kubeProxyVersion": "",
        "containerRuntimeVersion": "simulated://1",
        "machineID": node.metadata.uid,
        "systemUUID": node.metadata.uid,
        "bootID": boot_id(node),
    }
    return status_tree


def _address(index: int) -> str:
    """The address of the n-th node: 10.0.0.1 and onwards."""
    number = index + 1
    return f"10.{number >> 16 & 63}.{number >> 8 & 255}.{number & 255}"
