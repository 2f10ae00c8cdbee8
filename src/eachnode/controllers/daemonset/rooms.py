"""Room on nodes, for clusters without a scheduler: what is there, what is free, and whom to wake when some appears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from eachnode.client.door import Door
from eachnode.controllers.daemonset.charge import Charge
from eachnode.decisions.direct import no_room
from eachnode.decisions.plan import NoRoom, Notice, Plan
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.template import PodBody
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.meta import Key, Metadata
from eachnode.objects.resources import NODES, PODS
from eachnode.objects.workload import WorkloadNode, WorkloadPod
from eachnode.runtime.informer import Informer


class Rooms:
    """Knows how much room there is on every node."""

    def __init__(
        self, door: Door, charges: Mapping[Key, Charge], wake: Callable[[Key], None], *, clock: Clock, chance: Chance
    ) -> None:
        self._charges, self._wake = charges, wake
        self._landscape = Landscape()
        self._booked: dict[tuple[str, str], str] = {}  # By DaemonSet and node: pods that we made and have not seen.
        self.pods = Informer(door, PODS, WorkloadPod, clock=clock, chance=chance, keep=_takes_room)
        self.nodes = Informer(door, NODES, WorkloadNode, clock=clock, chance=chance)
        self.pods.subscribe(self._pod_changed)
        self.nodes.subscribe(self._node_changed)

    async def synced(self) -> None:
        """Return when everything present was seen."""
        await asyncio.gather(self.pods.synced.wait(), self.nodes.synced.wait())

    def question(self, charge: Charge, body: PodBody) -> NoRoom:
        """The question whether a node has room for this DaemonSet's pods."""
        pod = msgspec.json.decode(body.on("", ""), type=WorkloadPod)

        def ask(node: str) -> str:
            self._unbook(charge.uid, node)  # A booking of an earlier pass came to nothing: the node is asked again.
            return no_room(pod, node, self._landscape)

        return ask

    def book(self, charge: Charge, body: PodBody, plan: Plan) -> None:
        """Count the pods that the plan creates as being there; others may ask before they are seen."""
        pod = msgspec.json.decode(body.on("", ""), type=WorkloadPod)
        for create in plan.creates:
            uid = f"booked for {charge.uid} on {create.node}"
            metadata = Metadata(uid=uid, owner_references=pod.metadata.owner_references)
            self._landscape.put(msgspec.structs.replace(pod, metadata=metadata), create.node)
            self._booked[charge.uid, create.node] = uid

    def _unbook(self, owner: str, node: str) -> None:
        uid = self._booked.pop((owner, node), None)
        if uid is not None:
            self._landscape.take(uid)

    def _pod_changed(self, old: WorkloadPod | None, new: WorkloadPod | None) -> None:
        if new is not None:
            owner = new.metadata.controller
            if owner is not None:
                self._unbook(owner.uid, new.spec.node_name)
            self._landscape.put(new, new.spec.node_name)
        elif old is not None:
            self._landscape.take(old.metadata.uid)
        if old is not None:  # It left, or it asks for something else now.
            self._room_changed(old.spec.node_name)

    def _node_changed(self, old: WorkloadNode | None, new: WorkloadNode | None) -> None:
        if new is None:
            assert old is not None
            self._landscape.remove_node(old.name)
        elif old is None or old.status.allocatable != new.status.allocatable:
            self._landscape.set_node(new)
            self._room_changed(new.name)

    def _room_changed(self, node: str) -> None:
        for key, charge in self._charges.items():
            if node in charge.unplaced:
                self._wake(key)


def tell_unplaced(charge: Charge, plan: Plan) -> None:
    """Add an event for each node that lacks room, unless that was told with the same words already."""
    for node, full in plan.unplaced.items():
        if charge.unplaced.get(node) != full:
            plan.notices.append(Notice("Warning", "FailedPlacement", f'failed to place pod on "{node}": {full}'))
    charge.unplaced = plan.unplaced


def _takes_room(pod: WorkloadPod) -> bool:
    return bool(pod.spec.node_name) and not pod.is_over
