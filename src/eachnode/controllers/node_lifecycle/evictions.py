"""Pods on tainted nodes: each leaves when its tolerations have run out, and is not ready while its node is not."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.decisions.node_health import TaintedPod, WatchedNode, leaves_at
from eachnode.objects.clock import Chance, Clock, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import Key
from eachnode.objects.resources import PODS
from eachnode.objects.status import NotFound
from eachnode.runtime.events import EventRecorder, ObjectReference
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)


class Evictions:
    """Expels pods from nodes with NoExecute taints that they do not tolerate, or no longer."""

    def __init__(
        self, door: Door, nodes: Mapping[Key, WatchedNode], *, clock: Clock, chance: Chance, events: EventRecorder
    ) -> None:
        self._door = door
        self._nodes = nodes
        self._clock = clock
        self._events = events
        self._on_node: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._dirty: WorkQueue[Key] = WorkQueue(clock)
        self._pods = Informer(door, PODS, TaintedPod, clock=clock, chance=chance, fields="spec.nodeName!=")
        self._pods.subscribe(self._notice_pod)

    async def run(self) -> None:
        """Expel until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            await self._pods.synced.wait()
            await work(self._dirty, self._reconcile, workers=8)

    def notice_node(self, name: str) -> None:
        """A node's taints changed."""
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
            return
        if old is None:
            self._on_node[new.spec.node_name][new.metadata.key] = None
        node = self._nodes.get(Key("", new.spec.node_name))
        if node is not None and any(taint.expels for taint in node.taints):
            self._dirty.add(new.metadata.key)

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.items.get(key)
        node = self._nodes.get(Key("", pod.spec.node_name)) if pod is not None else None
        if pod is None or node is None or pod.metadata.deletion_timestamp is not None:
            return None
        now = self._clock.now()
        deadline = leaves_at(pod, node.taints, now)
        if deadline is None:
            return None
        if deadline > now:
            return deadline - now
        await self._expel(pod)
        return None

    async def _expel(self, pod: TaintedPod) -> None:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        log.info("deleted pod %s because of a NoExecute taint on its node", pod.metadata.key)
        subject = ObjectReference("v1", "Pod", namespace, name, pod.metadata.uid)
        self._events.record(subject, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {namespace}/{name}")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
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
        subject = ObjectReference("v1", "Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        self._events.record(subject, "Warning", "NodeNotReady", "Node is not ready")

    async def _patch_status(self, pod: TaintedPod, condition: Mapping[str, object]) -> None:
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}})
        name, namespace = pod.metadata.name, pod.metadata.namespace
        await self._door.patch(PODS, name, body, PatchKind.STRATEGIC, namespace, subresource="status")
