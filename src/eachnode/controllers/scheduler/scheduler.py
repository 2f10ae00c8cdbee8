"""The scheduler: gives each pod that has no node one, or says why it cannot.

Informers bring the landscape (nodes and what is on them) and the line (pods that wait) up to date. One
task takes pods from the line in their order and decides, synchronously, each decision counting with those before it.
What was decided is written by tasks of its own, many at a time. A pod that no node would have waits until something
changes that could help it: for a pod that names its node only that node counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass

from eachnode.client.door import Door
from eachnode.controllers.scheduler.line import FIRST_BACK_OFF, LONGEST_BACK_OFF, Line, Waiting
from eachnode.controllers.scheduler.making_room import MakingRoom
from eachnode.controllers.scheduler.writes import Writes, is_said, reference
from eachnode.decisions.scheduling import gates
from eachnode.decisions.scheduling.diagnosis import UNSCHEDULABLE, Diagnosis, for_event
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.placement import Placement, place
from eachnode.decisions.scheduling.preemption import Sacrifice, preempt
from eachnode.decisions.scheduling.refusals import Change
from eachnode.decisions.scheduling.rules import Questions, helped_by, helped_from_afar
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS
from eachnode.objects.status import ApiError, Conflict, NotFound, Unreachable
from eachnode.objects.workload import DEFAULT_SCHEDULER, DisruptionBudget, WorkloadNode, WorkloadPod
from eachnode.runtime.events import EventRecorder
from eachnode.runtime.informer import Informer

log = logging.getLogger(__name__)

BREATH = 25  # Decisions in a row before everybody else gets a turn.
EVERY_CHANGE = frozenset(Change)


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """How the scheduler works."""

    name: str = DEFAULT_SCHEDULER  # Pods that ask for another one are left alone.
    tell_placements: bool = True  # Record an event for each pod that was placed.
    writes_in_flight: int = 256


class Scheduler:
    """Places pods on nodes."""

    def __init__(
        self, door: Door, *, clock: Clock, chance: Chance, options: SchedulerOptions = SchedulerOptions()
    ) -> None:
        self.synced = asyncio.Event()
        self.landscape = Landscape()
        self._options = options
        self._writes = Writes(door, clock=clock)
        self._events = EventRecorder(door, clock=clock, chance=chance, component=options.name)
        self._line = Line()
        self._start = 0  # where the next search among all nodes begins
        self._bound: dict[str, WorkloadPod] = {}  # placed, but the API has not shown it yet
        self._changes: dict[str, set[Change]] = {}  # what happened since the parked were last looked at, by node
        self._news = asyncio.Event()
        self._making_room = MakingRoom(self.landscape, self._line, self._writes, self._events, self._news, options.name)
        self._in_flight = 0
        self._slack = asyncio.Event()  # set when a write has ended
        self._tasks: asyncio.TaskGroup | None = None

        self._pods = Informer(door, PODS, WorkloadPod, clock=clock, chance=chance, keep=lambda pod: not pod.is_over)
        self._nodes = Informer(door, NODES, WorkloadNode, clock=clock, chance=chance)
        self._namespaces = Informer(door, NAMESPACES, MetadataOnly, clock=clock, chance=chance)
        self._budgets = Informer(door, POD_DISRUPTION_BUDGETS, DisruptionBudget, clock=clock, chance=chance)
        self._nodes.subscribe(self._notice_node)
        self._namespaces.subscribe(self._notice_namespace)
        self._pods.subscribe(self._notice_pod)

    async def run(self) -> None:
        """Place pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for informer in (self._nodes, self._namespaces, self._budgets, self._pods):
                tasks.create_task(informer.run())
            tasks.create_task(self._events.run())
            for informer in (self._nodes, self._namespaces, self._budgets, self._pods):
                await informer.synced.wait()
            self.synced.set()
            await self._work()

    # What happens in the cluster

    def _notice_node(self, old: WorkloadNode | None, new: WorkloadNode | None) -> None:
        if new is None:
            assert old is not None
            self.landscape.remove_node(old.metadata.name)
            # A place that vanished may leave the others evenly filled.
            self._note(old.metadata.name, Change.NODE_LABELS)
            return
        changes = EVERY_CHANGE if old is None else _differences(old, new)
        if changes:
            self.landscape.set_node(new)
            self._note(new.metadata.name, *changes)

    def _notice_namespace(self, old: MetadataOnly | None, new: MetadataOnly | None) -> None:
        subject = new or old
        assert subject is not None
        name = subject.metadata.name
        if new is None:
            self.landscape.namespaces.pop(name, None)
        elif self.landscape.namespaces.get(name) != (labels := new.metadata.labels or {}):
            self.landscape.namespaces[name] = labels
            self._note("", Change.NAMESPACE)

    def _notice_pod(self, old: WorkloadPod | None, new: WorkloadPod | None) -> None:
        if new is None:
            assert old is not None
            self._forget(old)
        elif new.spec.node_name:
            self._notice_placed(old, new)
        elif new.spec.scheduler_name == self._options.name:
            self._notice_waiting(old, new)

    def _notice_placed(self, old: WorkloadPod | None, new: WorkloadPod) -> None:
        uid, node = new.metadata.uid, new.spec.node_name
        self._bound.pop(uid, None)
        if old is None or not old.spec.node_name:
            self._line.remove(uid)
            self.landscape.nominate(new, "")
            self._note(node, Change.POD_PLACED)
        elif old.metadata.labels != new.metadata.labels:
            self._note(node, Change.POD_LABELS)
        elif old.spec.containers != new.spec.containers and old.requests != new.requests:
            self._note(node, Change.POD_GONE)  # Resized: there may be more room now.
        if old is not None and old.metadata.deletion_timestamp != new.metadata.deletion_timestamp:
            self._note(node, Change.POD_LABELS)  # Pods on their way out do not count as spread any more.
        self.landscape.put(new, node)

    def _notice_waiting(self, old: WorkloadPod | None, pod: WorkloadPod) -> None:
        uid = pod.metadata.uid
        if uid in self._bound:
            self._bound[uid] = pod
            return
        if old is None or old.status.nominated_node_name != pod.status.nominated_node_name:
            self.landscape.nominate(pod, pod.status.nominated_node_name)
        if pod.metadata.deletion_timestamp is not None:
            self._line.remove(uid)
        elif gates.is_gated(pod):
            self._line.remove(uid)
            if not is_said(pod, gates.REASON, gates.MESSAGE):
                self._write(self._say(pod, gates.REASON, gates.MESSAGE))
        else:
            self._line.add(pod)
            self._news.set()

    def _forget(self, pod: WorkloadPod) -> None:
        uid = pod.metadata.uid
        self._bound.pop(uid, None)
        self._line.remove(uid)
        self.landscape.nominate(pod, "")
        node = self.landscape.node_of(uid)
        if node is not None:
            self.landscape.take(uid)
            self._note(node, Change.POD_GONE)

    def _note(self, node: str, *changes: Change) -> None:
        """Remember what may help those who wait for a change, if anybody does."""
        if self._line.has_parked or self._making_room:
            self._changes.setdefault(node, set()).update(changes)
            self._news.set()

    # The work

    async def _work(self) -> None:
        now = asyncio.get_running_loop().time
        decided = 0
        while True:
            self._wake_helped(now())
            waiting = self._line.pop(now())
            if waiting is None:
                await self._rest(now())
                continue
            self._decide(waiting, now())
            decided += 1
            if self._in_flight >= self._options.writes_in_flight:
                self._slack.clear()
                await self._slack.wait()
            elif decided % BREATH == 0:
                await asyncio.sleep(0)

    async def _rest(self, now: float) -> None:
        """Wait for news, or until somebody's turn comes by time."""
        due = self._line.next_due()
        try:
            async with asyncio.timeout(None if due is None else max(0.0, due - now)):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()

    def _wake_helped(self, now: float) -> None:
        """Let those be tried again whom a change may have helped."""
        if not self._changes:
            return
        changes, self._changes = self._changes, {}
        for node, kinds in changes.items():
            for waiting in self._line.parked_on(node, kinds):
                self._wake(waiting, now)
        every = set().union(*changes.values())
        for waiting in self._line.roaming(every):
            if self._may_help(waiting, changes):
                self._wake(waiting, now)

    def _wake(self, waiting: Waiting, now: float) -> None:
        if self._making_room.is_for(waiting):
            self._making_room.keep_for_later(waiting)
        else:
            self._line.wake(waiting, now)

    def _may_help(self, waiting: Waiting, changes: Mapping[str, set[Change]]) -> bool:
        """Whether one of the changed nodes would have the pod now, or the change matters to nodes elsewhere."""
        if any(not kinds.isdisjoint(waiting.helped_from_afar) for kinds in changes.values()):
            return True
        questions = Questions(waiting.pod, self.landscape)
        rooms = (self.landscape.rooms[node] for node in changes if node in self.landscape.rooms)
        return any(not questions.refusals(room) for room in rooms)

    def _decide(self, waiting: Waiting, now: float) -> None:
        """Place one pod, or park it and say why."""
        try:
            outcome = place(waiting.pod, self.landscape, self._start)
            if isinstance(outcome, Placement):
                self._place(waiting, outcome)
            else:
                self._park(waiting, outcome, now)
        except Exception:
            # One pod that cannot be understood must not keep the others waiting.
            log.exception("pod %s cannot be decided upon", waiting.pod.metadata.key)
            self._line.rest(waiting)

    def _place(self, waiting: Waiting, placement: Placement) -> None:
        pod = waiting.pod
        self._start += placement.asked
        self._bound[waiting.uid] = pod
        self.landscape.put(pod, placement.node)
        self.landscape.nominate(pod, "")
        self._note(placement.node, Change.POD_PLACED)
        self._write(self._bind(waiting, placement.node))

    def _park(self, waiting: Waiting, diagnosis: Diagnosis, now: float) -> None:
        if not diagnosis.nodes:
            self._line.park(waiting, EVERY_CHANGE, now, EVERY_CHANGE)
            self.landscape.nominate(waiting.pod, "")
            self._tell_unplaced(waiting, diagnosis.message(), "")
            return
        self._line.park(waiting, helped_by(diagnosis.rules), now, helped_from_afar(diagnosis.rules))
        budgets = [self._budgets.items[key] for key in sorted(self._budgets.items)]
        outcome = preempt(waiting.pod, self.landscape, diagnosis, budgets)
        nominated: str | None = ""
        if isinstance(outcome, Sacrifice):
            nominated = outcome.node
            self._make_room(waiting, outcome)
        elif outcome.keeps_nomination:
            nominated = None
        if nominated is not None:
            self.landscape.nominate(waiting.pod, nominated)
        self._tell_unplaced(waiting, diagnosis.message(outcome.message), nominated)

    def _make_room(self, waiting: Waiting, sacrifice: Sacrifice) -> None:
        if all(victim.metadata.deletion_timestamp is not None for victim in sacrifice.victims):
            return  # They are on their way out already.
        if not self._making_room.is_for(waiting):
            self._making_room.announce(waiting)
            self._write(self._making_room.ask(waiting, sacrifice))

    def _tell_unplaced(self, waiting: Waiting, message: str, nominated: str | None) -> None:
        """Say why the pod has no node, and for which one it waits (None: as before), unless that is said already."""
        pod = waiting.pod
        is_new = waiting.said != message
        if is_new and not is_said(pod, UNSCHEDULABLE, message):
            self._events.record(reference(pod), "Warning", "FailedScheduling", for_event(message))
        if is_new or nominated not in (None, pod.status.nominated_node_name):
            waiting.said = message
            self._write(self._say(pod, UNSCHEDULABLE, message, nominated))

    # Writing

    def _write(self, writing: Coroutine[None, None, None]) -> None:
        assert self._tasks is not None  # The informers that bring work belong to it.
        self._in_flight += 1
        self._tasks.create_task(writing).add_done_callback(self._written)

    def _written(self, _: asyncio.Task[None]) -> None:
        self._in_flight -= 1
        self._slack.set()

    async def _bind(self, waiting: Waiting, node: str) -> None:
        pause, unsure = FIRST_BACK_OFF, False
        while True:
            try:
                await self._writes.bind(waiting.pod, node)
            except Unreachable as error:
                # It may have been carried out: the room stays booked until an answer comes.
                log.warning("pod %s may not have been bound to %s: %s", waiting.pod.metadata.key, node, error)
                unsure = True
            except ApiError as error:
                # Nothing was done this time, but perhaps the time before.
                bound_elsewhere = isinstance(error, Conflict)
                if not unsure and not bound_elsewhere:
                    self._take_back(waiting, error)
                    return
                if (bound_elsewhere or isinstance(error, NotFound)) and await self._learn_outcome(waiting, error):
                    return
            else:
                self._tell_bound(waiting, node)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_BACK_OFF)
            if waiting.uid not in self._bound:  # The watch has told what became of it.
                return

    async def _learn_outcome(self, waiting: Waiting, error: ApiError) -> bool:
        """Look whether the pod has a node after all; False when there was no answer."""
        try:
            pod = await self._writes.look(waiting.pod)
        except NotFound:
            pod = None
        except (ApiError, Unreachable):
            return False
        if pod is None or pod.metadata.uid != waiting.uid or not pod.spec.node_name:
            self._take_back(waiting, error)
        else:
            self._notice_placed(None, pod)
        return True

    def _tell_bound(self, waiting: Waiting, node: str) -> None:
        self._line.remove(waiting.uid)
        if self._options.tell_placements:
            message = f"Successfully assigned {waiting.pod.metadata.key} to {node}"
            self._events.record(reference(waiting.pod), "Normal", "Scheduled", message)

    def _take_back(self, waiting: Waiting, error: ApiError) -> None:
        """The pod was not bound, as far as we know: its room is free again, and it is tried again unless it is gone."""
        uid = waiting.uid
        newest = self._bound.pop(uid, None)
        if newest is None:  # The API showed meanwhile that it is bound, or gone.
            return
        node = self.landscape.node_of(uid)
        self.landscape.take(uid)
        if node is not None:
            self._note(node, Change.POD_GONE)
        level = logging.INFO if isinstance(error, NotFound | Conflict) else logging.WARNING
        log.log(level, "pod %s was not bound to %s: %s", newest.metadata.key, node, error)
        waiting.pod = newest
        self._line.rest(waiting)
        self._news.set()

    async def _say(self, pod: WorkloadPod, reason: str, message: str, nominated: str | None = None) -> None:
        try:
            await self._writes.say_unplaced(pod, reason, message, nominated)
        except NotFound:
            return
        except (ApiError, Unreachable) as error:
            waiting = self._line.get(pod.metadata.uid)
            if waiting is not None:
                log.warning("pod %s was not told why it waits: %s", pod.metadata.key, error)
                waiting.said = ""  # So that it is said with the next attempt.
                self._line.rest(waiting)
                self._news.set()


def _differences(old: WorkloadNode, new: WorkloadNode) -> frozenset[Change]:
    """What changed of a node that rules look at; heartbeats change nothing of it."""
    changes = set()
    if old.metadata.labels != new.metadata.labels:
        changes.add(Change.NODE_LABELS)
    if old.spec.taints != new.spec.taints:
        changes.add(Change.NODE_TAINTS)
    if old.spec.unschedulable != new.spec.unschedulable:
        changes.add(Change.NODE_CORDON)
    if old.status.allocatable != new.status.allocatable:
        changes.add(Change.NODE_ROOM)
    return frozenset(changes)
