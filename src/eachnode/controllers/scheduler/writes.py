"""What the scheduler asks of the API: bindings, conditions, nominations, and the end of victims."""

from __future__ import annotations

from typing import Any

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.decisions.scheduling.preemption import BY_SCHEDULER, DISRUPTION_TARGET
from eachnode.objects.clock import Clock, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.document import Document
from eachnode.objects.resources import PODS
from eachnode.objects.workload import WorkloadPod
from eachnode.runtime.events import ObjectReference

POD_SCHEDULED = "PodScheduled"


class Writes:
    """The scheduler's requests to the API."""

    def __init__(self, door: Door, *, clock: Clock) -> None:
        self._door = door
        self._clock = clock

    async def bind(self, pod: WorkloadPod, node: str) -> None:
        """Give the pod its node."""
        metadata = pod.metadata
        binding = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._door.create(
            PODS, msgspec.json.encode(binding), metadata.namespace, name=metadata.name, subresource="binding"
        )

    async def look(self, pod: WorkloadPod) -> WorkloadPod:
        """The pod of that name as it is now."""
        document = await self._door.get(PODS, pod.metadata.name, pod.metadata.namespace)
        return document.read(WorkloadPod)

    async def say_unplaced(self, pod: WorkloadPod, reason: str, message: str, nominated: str | None) -> None:
        """Note on the pod why it has no node, and for which one it waits; None leaves the nomination alone."""
        status: dict[str, Any] = {}
        if not is_said(pod, reason, message):
            status["conditions"] = [self._condition(pod, POD_SCHEDULED, "False", reason, message)]
        if nominated is not None and nominated != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated or None
        if status:
            await self._patch_status(pod, status)

    async def withdraw_nomination(self, pod: WorkloadPod) -> None:
        """Note on the pod that no node is being cleared for it any more."""
        await self._patch_status(pod, {"nominatedNodeName": None})

    async def end(self, victim: WorkloadPod, scheduler: str) -> Document:
        """Have a pod leave in its own time, with the reason noted on it; answers with what is left of it."""
        message = f"{scheduler}: preempting to accommodate a higher priority pod"
        condition = self._condition(victim, DISRUPTION_TARGET, "True", BY_SCHEDULER, message)
        await self._patch_status(victim, {"conditions": [condition]})
        options = DeleteOptions(preconditions=Preconditions(uid=victim.metadata.uid))
        return await self._door.delete(PODS, victim.metadata.name, victim.metadata.namespace, options=options)

    async def _patch_status(self, pod: WorkloadPod, status: dict[str, Any]) -> None:
        # With its uid, so that a new pod of the same name is not spoken to.
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid}, "status": status})
        metadata = pod.metadata
        await self._door.patch(PODS, metadata.name, body, PatchKind.STRATEGIC, metadata.namespace, subresource="status")

    def _condition(self, pod: WorkloadPod, kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
        condition: dict[str, Any] = {"type": kind, "status": status, "reason": reason, "message": message}
        condition["lastProbeTime"] = None
        if pod.metadata.generation:
            condition["observedGeneration"] = pod.metadata.generation
        before = pod.condition(kind)
        if before is None or before.status != status:
            condition["lastTransitionTime"] = timestamp(self._clock.now())
        return condition


def is_said(pod: WorkloadPod, reason: str, message: str) -> bool:
    """Whether the pod carries this very answer already."""
    condition = pod.condition(POD_SCHEDULED)
    return condition is not None and (condition.status, condition.reason, condition.message) == (
        "False",
        reason,
        message,
    )


def reference(pod: WorkloadPod) -> ObjectReference:
    """The pod, as events name it."""
    metadata = pod.metadata
    return ObjectReference("v1", "Pod", metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)
