"""Watches nodes, their leases and pods; marks silent nodes, keeps taints true to conditions, expels pods in time."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.node_lifecycle.evictions import Evictions
from eachnode.decisions.node_health import (
    Expulsion,
    WatchedNode,
    expulsion_rate,
    old_labels_for,
    silent_conditions,
    taints_for,
    wants_no_execute,
    zone_health,
)
from eachnode.objects.clock import Chance, Clock, timestamp
from eachnode.objects.meta import Key, Metadata
from eachnode.objects.resources import LEASES, NODES
from eachnode.objects.status import NotFound
from eachnode.runtime.clock import elapsed
from eachnode.runtime.events import EventRecorder, EventType, ObjectReference
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    renew_time: str | None = None


class NodeLease(msgspec.Struct, frozen=True, kw_only=True):
    """A node's sign of life."""

    metadata: Metadata
    spec: _LeaseSpec = _LeaseSpec()


@dataclass(frozen=True, slots=True)
class NodeLifecycleOptions:
    """How patient it is."""

    grace: float = 50.0  # Seconds of silence after which a node counts as unreachable.
    startup_grace: float = 60.0  # The same for a node that was never heard of.


class NodeLifecycle:
    """Keeps conditions and taints true to what nodes show of themselves, and expels pods from those that failed."""

    def __init__(
        self, door: Door, *, clock: Clock, chance: Chance, options: NodeLifecycleOptions = NodeLifecycleOptions()
    ) -> None:
        self.synced = asyncio.Event()
        self._door = door
        self._clock = clock
        self._options = options
        self._heard: dict[str, float] = {}  # Node → when we last saw a sign of life.
        self._never_heard: set[str] = set()
        self._silence: list[tuple[float, str]] = []  # A heap: when a node's silence may have lasted too long.
        self._zones: defaultdict[str, dict[str, WatchedNode]] = defaultdict(dict)  # Of the nodes that count.
        self._ready: set[str] = set()  # Of those.
        self._all_dark = False
        self._next_expulsion: dict[str, float] = {}  # Zone → when the next node may be given its NoExecute taint.
        self._dirty: WorkQueue[str] = WorkQueue(clock)
        self._look = asyncio.Event()
        self._events = EventRecorder(door, clock=clock, chance=chance, component="node-controller")
        self._nodes = Informer(door, NODES, WatchedNode, clock=clock, chance=chance)
        self._leases = Informer(door, LEASES, NodeLease, clock=clock, chance=chance, namespace=LEASE_NAMESPACE)
        self._evictions = Evictions(door, self._nodes.items, clock=clock, chance=chance, events=self._events)
        self._nodes.subscribe(self._notice_node)
        self._leases.subscribe(self._notice_lease)

    async def run(self) -> None:
        """Look after nodes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            tasks.create_task(self._leases.run())
            tasks.create_task(self._events.run())
            await self._nodes.synced.wait()
            await self._leases.synced.wait()
            self.synced.set()
            tasks.create_task(self._evictions.run())
            tasks.create_task(self._watch_silence())
            await work(self._dirty, self._reconcile, workers=8)

    def _notice_node(self, old: WatchedNode | None, new: WatchedNode | None) -> None:
        self._count(old, new)
        if new is None:
            assert old is not None
            self._heard.pop(old.name, None)
            self._never_heard.discard(old.name)
            self._evictions.notice_node(old.name)
            self._tell(
                old, "Normal", "RemovingNode", f"Node {old.name} event: Removing Node {old.name} from Controller"
            )
            return
        if old is None:
            if not new.status.conditions:
                self._never_heard.add(new.name)
            self._hear(new.name)
            self._tell(
                new, "Normal", "RegisteredNode", f"Node {new.name} event: Registered Node {new.name} in Controller"
            )
        elif old.signs_of_life != new.signs_of_life and new.ready != "Unknown":
            self._never_heard.discard(new.name)
            self._hear(new.name)
        if old is None or self._matters(old, new):
            self._dirty.add(new.name)
        if old is None or old.taints != new.taints:
            self._evictions.notice_node(new.name)

    def _count(self, old: WatchedNode | None, new: WatchedNode | None) -> None:
        """Keep account of the zones, and notice when everything goes dark and when something is seen again."""
        if old is not None:
            self._zones[old.zone].pop(old.name, None)
            self._ready.discard(old.name)
        if new is not None and new.is_counted:
            self._zones[new.zone][new.name] = new
            if new.ready == "True":
                self._ready.add(new.name)
        all_dark = not self._ready and any(self._zones.values())
        if all_dark == self._all_dark:
            return
        self._all_dark = all_dark
        if not all_dark:  # What was said meanwhile may not have been heard: everybody's time begins anew.
            self._heard = dict.fromkeys(self._heard, elapsed())
        for name in self._heard:
            self._dirty.add(name)

    def _matters(self, old: WatchedNode, new: WatchedNode) -> bool:
        """Whether anything but heartbeats changed."""
        before = [(each.type, each.status) for each in old.status.conditions or ()]
        after = [(each.type, each.status) for each in new.status.conditions or ()]
        return (
            before != after
            or old.taints != new.taints
            or old.spec.unschedulable != new.spec.unschedulable
            or old.metadata.labels != new.metadata.labels
        )

    def _notice_lease(self, old: NodeLease | None, new: NodeLease | None) -> None:
        if new is not None and (old is None or old.spec.renew_time != new.spec.renew_time):
            name = new.metadata.name
            if name in self._heard and old is not None:
                self._never_heard.discard(name)
                self._hear(name)

    def _hear(self, name: str) -> None:
        first = name not in self._heard
        self._heard[name] = elapsed()
        if first:
            heapq.heappush(self._silence, (self._silent_at(name), name))
            self._look.set()

    def _silent_at(self, name: str) -> float:
        patience = self._options.startup_grace if name in self._never_heard else self._options.grace
        return self._heard[name] + patience

    async def _watch_silence(self) -> None:
        """Mark nodes dirty when their silence has lasted too long."""
        while True:
            now = elapsed()
            while self._silence and self._silence[0][0] <= now:
                _, name = heapq.heappop(self._silence)
                if name not in self._heard:
                    continue
                if self._silent_at(name) <= now:
                    self._dirty.add(name)
                    heapq.heappush(self._silence, (now + self._options.grace, name))
                else:
                    heapq.heappush(self._silence, (self._silent_at(name), name))
            self._look.clear()
            pause = self._silence[0][0] - now if self._silence else None
            try:
                async with asyncio.timeout(pause):
                    await self._look.wait()
            except TimeoutError:
                continue

    async def _reconcile(self, name: str) -> float | None:
        """Make a node's conditions and taints true; or say in how many seconds its turn comes."""
        node = self._nodes.items.get(Key("", name))
        if node is None or name not in self._heard:
            return None
        now = timestamp(self._clock.now())
        if self._silent_at(name) <= elapsed():
            changed = silent_conditions(node, now)
            if changed:
                await self._mark_silent(node, changed)
                return None  # The change comes back as an event, and the taints follow.
        labels = old_labels_for(node)
        if labels:
            await self._write_labels(node, labels)
        wait = self._wait_for_expulsion(node, elapsed())
        expulsion = Expulsion.NOBODY if self._all_dark else Expulsion.NOW if wait == 0.0 else Expulsion.LATER
        taints = taints_for(node, now, expulsion)
        if taints is not None:
            await self._write_taints(node, taints)
        if node.ready == "Unknown":  # One that says itself that it is not ready speaks for its pods itself, too.
            await self._evictions.mark_not_ready(name)
        return wait if wait else None

    def _wait_for_expulsion(self, node: WatchedNode, now: float) -> float | None:
        """0 when the node may be given its NoExecute taint now, seconds to wait, or None when it gets none as it is."""
        if self._all_dark or not wants_no_execute(node):
            return None
        rate = expulsion_rate(*zone_health(self._zones[node.zone].values()))
        if rate == 0.0:
            return 5.0  # Looked at again: the zone may recover, or get worse.
        allowed_at = self._next_expulsion.get(node.zone, now)
        if allowed_at > now:
            return allowed_at - now
        self._next_expulsion[node.zone] = now + 1 / rate
        return 0.0

    async def _mark_silent(self, node: WatchedNode, conditions: list[dict[str, object]]) -> None:
        log.info("node %s is unreachable because it was not heard of for %g s", node.name, self._options.grace)
        body = msgspec.json.encode({"status": {"conditions": conditions}})
        try:
            await self._door.patch(NODES, node.name, body, PatchKind.STRATEGIC, subresource="status")
        except NotFound:
            return
        if node.ready == "True":
            self._tell(node, "Normal", "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")

    def _tell(self, node: WatchedNode, kind: EventType, reason: str, message: str) -> None:
        subject = ObjectReference("v1", "Node", "", node.name, node.metadata.uid)
        self._events.record(subject, kind, reason, message)

    async def _write_labels(self, node: WatchedNode, labels: Mapping[str, str]) -> None:
        body = msgspec.json.encode({"metadata": {"uid": node.metadata.uid, "labels": labels}})
        with suppress(NotFound):
            await self._door.patch(NODES, node.name, body, PatchKind.MERGE)

    async def _write_taints(self, node: WatchedNode, taints: tuple[object, ...]) -> None:
        trees = [{key: value for key, value in msgspec.to_builtins(taint).items() if value} for taint in taints]
        metadata = {"uid": node.metadata.uid, "resourceVersion": node.metadata.resource_version}
        body = msgspec.json.encode({"metadata": metadata, "spec": {"taints": trees or None}})
        try:
            await self._door.patch(NODES, node.name, body, PatchKind.MERGE)
        except NotFound:
            return
        log.info("node %s has taints %s because of its conditions", node.name, [str(taint) for taint in taints])
