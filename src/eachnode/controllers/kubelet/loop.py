"""The simulated kubelet's loop: takes pods of simulated nodes from stage to stage and writes what a kubelet would.

What a pod does next is derived from its status (`decisions.pod_stages`), so a kubelet that is restarted goes on where
the pods are; only the moments at which stages are due live in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.kubelet.fleet import create_nodes, node_trees
from eachnode.controllers.kubelet.heartbeats import Heartbeats, boot_id, is_stopped
from eachnode.controllers.kubelet.mishaps import Mishaps
from eachnode.controllers.kubelet.options import KubeletOptions
from eachnode.decisions.pod_stages.containers import Place, pull_error
from eachnode.decisions.pod_stages.room import Refusal, Room
from eachnode.decisions.pod_stages.stages import Outcome, Selection, Stage, choose, matches_any, seconds_until
from eachnode.decisions.pod_stages.states import LOST, PodState, state_of
from eachnode.decisions.pod_stages.status import refused, status_after
from eachnode.decisions.pod_stages.view import SimulatedContainer, SimulatedNode, SimulatedPod
from eachnode.objects.clock import Chance, Clock, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import Key
from eachnode.objects.resources import NODES, PODS
from eachnode.objects.status import NotFound
from eachnode.runtime.events import EventRecorder, ObjectReference
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)

REBOOT = Stage("its node was rebooted", Selection(PodState.READY), Outcome(PodState.INTERRUPTED, 255, LOST))


@dataclass(frozen=True, slots=True)
class Due:
    """What happens to a pod next, and when."""

    uid: str
    state: PodState
    stage: Stage
    when: float


class Kubelet:
    """Runs every simulated node, and the pods on it."""

    def __init__(self, door: Door, *, clock: Clock, chance: Chance, options: KubeletOptions | None = None) -> None:
        self._door = door
        self._clock = clock
        self._chance = chance
        self._options = options or KubeletOptions()
        self._mine: dict[str, SimulatedNode] = {}
        self._rooms: defaultdict[str, Room] = defaultdict(Room)
        self._on_node: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._due: dict[Key, Due] = {}
        self._failed_pulls: dict[str, int] = {}
        self._rebooted: set[Key] = set()  # Pods whose containers end with their node and start once more.
        self._given_addresses = 0
        self._dirty: WorkQueue[Key] = WorkQueue(clock)
        self._events = EventRecorder(door, clock=clock, chance=chance, component="kubelet")
        self._heartbeats = Heartbeats(door, self._mine, clock=clock, chance=chance, options=self._options)
        self._mishaps = Mishaps(door, self._mine, self._options.mishaps, clock=clock, chance=chance)
        self._nodes = Informer(
            door, NODES, SimulatedNode, clock=clock, chance=chance, keep=lambda node: node.is_simulated
        )
        self._pods = Informer(door, PODS, SimulatedPod, clock=clock, chance=chance, fields="spec.nodeName!=")
        self.synced = self._pods.synced
        self._nodes.subscribe(self._notice_node)
        self._pods.subscribe(self._notice_pod)

    async def run(self) -> None:
        """Run the nodes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            await self._nodes.synced.wait()
            if self._options.create:
                await create_nodes(self._door, list(node_trees(self._options.create, self._options.template)))
            tasks.create_task(self._pods.run())
            tasks.create_task(self._heartbeats.run())
            tasks.create_task(self._mishaps.run())
            tasks.create_task(self._events.run())
            await work(self._dirty, self._reconcile, self._options.workers)

    def _notice_node(self, old: SimulatedNode | None, new: SimulatedNode | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]  # one of them is there
        if new is None:
            self._mine.pop(name, None)
            self._rooms.pop(name, None)
        else:
            self._mine[name] = new
        self._heartbeats.notice(new, name)
        if old is None:
            self._mishaps.notice(name)
        came_back = new is not None and not is_stopped(new) and (old is None or is_stopped(old))
        rebooted = new is not None and old is not None and boot_id(old) != boot_id(new)
        if new is not None and rebooted:
            self._heartbeats.tell_all(name)
            told = f"Node {name} has been rebooted, boot id: {boot_id(new)}"
            self._events.record(ObjectReference("v1", "Node", "", name, new.metadata.uid), "Warning", "Rebooted", told)
        if came_back or rebooted:
            for key in self._on_node.get(name, ()):
                if rebooted:
                    self._rebooted.add(key)
                self._dirty.add(key)

    def _notice_pod(self, old: SimulatedPod | None, new: SimulatedPod | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        key, node = new.metadata.key, new.spec.node_name
        if old is None:
            self._on_node[node][key] = None
        if node in self._mine:
            if new.is_over:
                self._rooms[node].release(key)
            self._dirty.add(key)

    def _forget(self, pod: SimulatedPod) -> None:
        key, node = pod.metadata.key, pod.spec.node_name
        self._on_node[node].pop(key, None)
        if not self._on_node[node]:
            del self._on_node[node]
        self._due.pop(key, None)
        self._failed_pulls.pop(pod.metadata.uid, None)
        if node in self._rooms:
            self._rooms[node].release(key)

    async def _reconcile(self, key: Key) -> float | None:
        """Take a pod to its next stage, if that is due; otherwise say in how many seconds it is."""
        pod = self._pods.items.get(key)
        node = self._mine.get(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None or is_stopped(node):
            return None
        state = state_of(pod)
        if key in self._rebooted:
            self._rebooted.discard(key)
            if state in (PodState.READY, PodState.STARTED):
                await self._advance(pod, node, REBOOT)
                return None
        if state is PodState.BOUND:
            refusal = self._admission(pod, node)
            if refusal is not None:
                await self._refuse(pod, refusal)
                return None
        elif not pod.is_over:
            self._rooms[node.name].admit(pod)
        due = self._next(key, pod, state, node)
        if due is None:
            return None
        wait = due.when - self._clock.now()
        if wait > 0:
            return wait
        if state is PodState.LEAVING:
            await self._finish(pod)
        else:
            await self._advance(pod, node, due.stage)
        return None

    def _admission(self, pod: SimulatedPod, node: SimulatedNode) -> Refusal | None:
        room = self._rooms[node.name]
        if pod.metadata.key in room.pods:
            return None
        refusal = room.refusal(pod, node)
        if refusal is None:
            room.admit(pod)
        return refusal

    def _next(self, key: Key, pod: SimulatedPod, state: PodState, node: SimulatedNode) -> Due | None:
        """What happens next; drawn once for each state that a pod comes into."""
        due = self._due.get(key)
        if due is not None and due.uid == pod.metadata.uid and due.state is state:
            return due
        self._due.pop(key, None)
        stage = choose(self._options.layers, pod, state, node, self._chance.random())
        if stage is None:
            return None
        failures = self._failed_pulls.get(pod.metadata.uid, 0)
        wait = seconds_until(stage, pod, failures, self._chance.random(), self._options.pace)
        due = self._due[key] = Due(pod.metadata.uid, state, stage, self._clock.now() + wait)
        return due

    async def _refuse(self, pod: SimulatedPod, refusal: Refusal) -> None:
        log.info("refused pod %s because %s", pod.metadata.key, refusal.message)
        self._tell(pod, "Warning", refusal.reason, refusal.message)
        status = refused(pod, refusal.reason, f"Pod was rejected: {refusal.message}", timestamp(self._clock.now()))
        await self._write(pod, status)

    async def _advance(self, pod: SimulatedPod, node: SimulatedNode, stage: Stage) -> None:
        place = Place(
            now=timestamp(self._clock.now()),
            host_ip=self._heartbeats.addresses.get(node.name, ""),
            pod_ip=self._address(pod, node),
            bad_images=self._options.bad_images,
        )
        outcome = stage.next
        if outcome.state is PodState.PULL_FAILED:
            self._failed_pulls[pod.metadata.uid] = self._failed_pulls.get(pod.metadata.uid, 0) + 1
        self._tell_step(pod, outcome.state)
        await self._write(pod, status_after(pod, outcome, place))
        if outcome.node_conditions:
            await self._change_node(node, stage)

    async def _change_node(self, node: SimulatedNode, stage: Stage) -> None:
        now = timestamp(self._clock.now())
        conditions = [
            {"type": kind, "status": status, "reason": "Stage", "message": stage.name, "lastTransitionTime": now}
            for kind, status in sorted(stage.next.node_conditions.items())
        ]
        log.info("node %s changed its conditions because of stage %r", node.name, stage.name)
        await self._heartbeats.post(node.name, {"conditions": conditions})

    async def _write(self, pod: SimulatedPod, status: dict[str, object]) -> None:
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid}, "status": status})
        name, namespace = pod.metadata.name, pod.metadata.namespace
        try:
            await self._door.patch(PODS, name, body, PatchKind.STRATEGIC, namespace, subresource="status")
        except NotFound:
            return  # A conflict is tried again: by then the informer has told whether it is another pod by now.

    async def _finish(self, pod: SimulatedPod) -> None:
        """The containers have stopped: the pod may vanish."""
        if pod.metadata.finalizers and not pod.is_over:
            await self._write(pod, {"phase": "Succeeded"})
        options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=pod.metadata.uid))
        try:
            await self._door.delete(PODS, pod.metadata.name, pod.metadata.namespace, options=options)
        except NotFound:
            return

    def _address(self, pod: SimulatedPod, node: SimulatedNode) -> str:
        if pod.spec.host_network:
            return self._heartbeats.addresses.get(node.name, "")
        if pod.status.pod_ip:
            return pod.status.pod_ip
        self._given_addresses += 1
        number = self._given_addresses % 0x7FFFFF
        return f"10.{128 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"

    def _tell_step(self, pod: SimulatedPod, state: PodState) -> None:
        """The events a kubelet writes at this step; troubles are always told."""
        match state:
            case PodState.CREATING if self._options.tells_each_step:
                for each in self._all_containers(pod):
                    self._tell(pod, "Normal", "Pulling", f'Pulling image "{each.image}"')
            case PodState.STARTED if self._options.tells_each_step:
                for each in self._all_containers(pod):
                    self._tell(pod, "Normal", "Pulled", f'Successfully pulled image "{each.image}"')
                    self._tell(pod, "Normal", "Created", f"Container created: {each.name}")
                    self._tell(pod, "Normal", "Started", f"Container started: {each.name}")
            case PodState.PULL_FAILED:
                for each in self._without_image(pod):
                    told = f'Failed to pull image "{each.image}": {pull_error(each.image)}'
                    self._tell(pod, "Warning", "Failed", told)
                    self._tell(pod, "Warning", "Failed", "Error: ErrImagePull")
            case PodState.PULL_BACK_OFF:
                for each in self._without_image(pod):
                    self._tell(pod, "Normal", "BackOff", f'Back-off pulling image "{each.image}"')
            case PodState.CRASH_BACK_OFF:
                who = f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
                for each in pod.spec.containers:
                    told = f"Back-off restarting failed container {each.name} in pod {who}"
                    self._tell(pod, "Warning", "BackOff", told)

    def _without_image(self, pod: SimulatedPod) -> list[SimulatedContainer]:
        """Those whose image cannot be pulled: an init container holds all that come after it."""
        init = [each for each in pod.spec.init_containers or () if matches_any(each.image, self._options.bad_images)]
        return init[:1] or [each for each in pod.spec.containers if matches_any(each.image, self._options.bad_images)]

    @staticmethod
    def _all_containers(pod: SimulatedPod) -> tuple[SimulatedContainer, ...]:
        return (*(pod.spec.init_containers or ()), *pod.spec.containers)

    def _tell(self, pod: SimulatedPod, kind: str, reason: str, message: str) -> None:
        metadata = pod.metadata
        subject = ObjectReference("v1", "Pod", metadata.namespace, metadata.name, metadata.uid)
        self._events.record(subject, "Warning" if kind == "Warning" else "Normal", reason, message)
