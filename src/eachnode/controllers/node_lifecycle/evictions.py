"""Pods on tainted nodes: each leaves when its tolerations have run out, and is not ready while its node is not."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.decisions.node_health import TaintedPod, WatchedNode, leaves_at
from eachnode.objects.clock import Chance, Clock, seconds, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import Key
from eachnode.objects.resources import PODS
from eachnode.objects.status import NotFound
from eachnode.objects.taints import Taint
from eachnode.runtime.events import EventRecorder, ObjectReference
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)


class Evictions:
    """Expels pods from nodes with NoExecute taints that they do not tolerate, or no longer."""

    def __init__(
        self, door: Door, nodes: Mapping[Key, WatchedNode], *, clock: Clock, chance: Chance, events: EventRecorder
    ) -> None:
        """`events` tells of pods whose node is not ready; evictions are told under a name of their own."""
        self._door = door
        self._nodes = nodes
        self._clock = clock
        self._node_events = events
        self._events = EventRecorder(door, clock=clock, chance=chance, component="taint-eviction-controller")
        self._on_node: defaultdict[str, dict[Key, float]] = defaultdict(dict)  # Since when each pod was seen there.
        self._undated: dict[str, dict[Taint, float]] = {}  # Since when taints are seen that do not say it themselves.
        self._scheduled: dict[Key, ObjectReference] = {}  # Pods whose patience is running out.
        self._dirty: WorkQueue[Key] = WorkQueue(clock)
        self._pods = Informer(door, PODS, TaintedPod, clock=clock, chance=chance, fields="spec.nodeName!=")
        self._pods.subscribe(self._notice_pod)

    async def run(self) -> None:
        """Expel until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            tasks.create_task(self._events.run())
            await self._pods.synced.wait()
            await work(self._dirty, self._reconcile, workers=8)

    def notice_node(self, name: str) -> None:
        """A node's taints changed, or it is gone."""
        node = self._nodes.get(Key("", name))
        before, now = self._undated.pop(name, {}), self._clock.now()
        undated = [taint for taint in node.taints if taint.expels and not taint.time_added] if node is not None else []
        if undated:
            self._undated[name] = {taint: before.get(taint, now) for taint in undated}
        for key in self._on_node.get(name, ()):
            self._dirty.add(key)

    async def mark_not_ready(self, name: str) -> None:
        """Pods on a node that is not ready serve nobody: their status says so."""
        for key in list(self._on_node.get(name, ())):
            pod = self._pods.items.get(key)
            if pod is not None and pod.is_ready:
                await self._mark(pod)

    def _notice_pod(self, old: TaintedPod | None, new: TaintedPod | None) -> None:
        if new is None:
            if old is not None:
                self._on_node[old.spec.node_name].pop(old.metadata.key, None)
                if not self._on_node[old.spec.node_name]:
                    del self._on_node[old.spec.node_name]
                self._spare(old.metadata.key)
            return
        if old is None:
            self._on_node[new.spec.node_name][new.metadata.key] = self._clock.now()
        node = self._nodes.get(Key("", new.spec.node_name))
        if node is not None and any(taint.expels for taint in node.taints):
            self._dirty.add(new.metadata.key)

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.items.get(key)
        node = self._nodes.get(Key("", pod.spec.node_name)) if pod is not None else None
        if pod is None or node is None or pod.metadata.deletion_timestamp is not None:
            return None
        deadline = leaves_at(pod, node.taints, self._came(pod), self._undated.get(node.name, {}))
        if deadline is None:
            self._spare(key)
            return None
        wait = deadline - self._clock.now()
        if wait > 0:
            self._scheduled.setdefault(key, _reference(pod))
            return wait
        self._scheduled.pop(key, None)
        await self._expel(pod)
        return None

    def _came(self, pod: TaintedPod) -> float:
        """When the pod came to its node: what its kubelet says, or when we saw it first."""
        if pod.status.start_time:
            return seconds(pod.status.start_time)
        return self._on_node[pod.spec.node_name][pod.metadata.key]

    def _spare(self, key: Key) -> None:
        """A pod that was to leave need not, or has gone by itself."""
        subject = self._scheduled.pop(key, None)
        if subject is not None:
            told = f"Cancelling deletion of Pod {key.namespace}/{key.name}"
            self._events.record(subject, "Normal", "TaintManagerEviction", told)

    async def _expel(self, pod: TaintedPod) -> None:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        log.info("deleted pod %s because of a NoExecute taint on its node", pod.metadata.key)
        told = f"Marking for deletion Pod {namespace}/{name}"
        self._events.record(_reference(pod), "Normal", "TaintManagerEviction", told)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "observedGeneration": pod.metadata.generation,
            "lastTransitionTime": timestamp(self._clock.now()),
        }
        try:
            await self._patch_status(pod, condition)
            options = DeleteOptions(preconditions=Preconditions(uid=pod.metadata.uid))
            await self._door.delete(PODS, name, namespace, options=options)
        except NotFound:
            return

    async def _mark(self, pod: TaintedPod) -> None:
        now = timestamp(self._clock.now())
        try:
            await self._patch_status(pod, {"type": "Ready", "status": "False", "lastTransitionTime": now})
        except NotFound:
            return
        self._node_events.record(_reference(pod), "Warning", "NodeNotReady", "Node is not ready")

    async def _patch_status(self, pod: TaintedPod, condition: Mapping[str, object]) -> None:
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}})
        name, namespace = pod.metadata.name, pod.metadata.namespace
        await self._door.patch(PODS, name, body, PatchKind.STRATEGIC, namespace, subresource="status")


def _reference(pod: TaintedPod) -> ObjectReference:
    """The pod, as events name it."""
    return ObjectReference("v1", "Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
