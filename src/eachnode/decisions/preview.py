"""What a change of a DaemonSet would do, before it is done: the controller's decisions, played forward.

The fleet is made as the changed DaemonSet would see it, and `decide` is asked again and again; what it wants done is
done to the fleet at once. Pods that are created become ready, except on nodes of which it is known that they cannot.
Nothing is judged here; what stands still at the end is explained as `why` explains it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from eachnode.decisions.eligibility import WELCOME, Placement, judge
from eachnode.decisions.explanation_of_rollouts import pace_of
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import DeleteRevision, History, RenumberRevision, WriteRevision, review
from eachnode.decisions.plan import CreatePod, DeletePod, Plan, decide
from eachnode.decisions.rollout import may_surge
from eachnode.decisions.slots import NEVER, Aim, Role
from eachnode.objects.clock import timestamp
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Metadata
from eachnode.objects.node import Node
from eachnode.objects.pod import REVISION_LABEL, Pod, PodCondition, PodSpec, PodStatus
from eachnode.objects.revision import ControllerRevision


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node for which something changes, and why."""

    node: str
    because: str


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """What becomes of the history."""

    kind: Literal["unchanged", "new", "reused"]
    name: str  # Of the current revision.
    number: int
    was: int = 0  # The number that a reused revision had.
    forgotten: tuple[str, ...] = ()


@dataclass(slots=True)
class Preview:
    """What a change would do."""

    history: HistoryChange
    gained: list[NodeChange] = field(default_factory=list)
    lost: list[NodeChange] = field(default_factory=list)
    waves: list[tuple[str, ...]] = field(default_factory=list)  # The nodes whose pods are replaced together, in order.
    left: list[NodeChange] = field(default_factory=list)  # Outdated pods that stay, and why.
    creates_on: Counter[str] = field(default_factory=Counter)  # By node.
    deletes: int = 0
    revision_writes: int = 0
    trouble: str = ""  # Why the rollout cannot go on.

    @property
    def replaced(self) -> int:
        """How many pods are replaced."""
        return sum(map(len, self.waves))

    @property
    def at_a_time(self) -> int:
        """How many pods are replaced at a time at most."""
        return max(map(len, self.waves), default=0)

    @property
    def creates(self) -> int:
        """How many pods are created."""
        return self.creates_on.total()

    @property
    def moves_pods(self) -> bool:
        """Whether any pod is created or deleted."""
        return bool(self.creates or self.deletes)


@dataclass(frozen=True)
class Before:
    """How things are: the nodes, and what belongs to the DaemonSet if it is there already."""

    daemonset: DaemonSet | None
    nodes: Mapping[str, Node]
    pods: tuple[Pod, ...] = ()
    revisions: tuple[ControllerRevision, ...] = ()


def preview(before: Before, changed: DaemonSet, now: float, hopeless: Iterable[str] = ()) -> Preview:
    """What the change would do; on `hopeless` nodes no new pod becomes ready."""
    history = review(changed, before.revisions, before.pods)
    result = Preview(_history_change(history), revision_writes=len(history.writes))
    placement = Placement.of(changed.template)
    fleet = Fleet(placement, Aim.of(changed, history.hash, surges=may_surge(changed.spec.update_strategy)))
    for node in before.nodes.values():
        fleet.see_node(node)
    dead = frozenset(hopeless)
    for pod in before.pods:
        if not pod.is_terminating or pod.target in dead:  # Who is leaving already is taken to be gone.
            fleet.see_pod(pod)
    moment = _play(result, changed, fleet, history, now, dead)
    _compare_nodes(result, before, placement, fleet)
    _what_is_left(result, changed, fleet, history, moment)
    return result


def _history_change(history: History) -> HistoryChange:
    for write in history.writes:
        if isinstance(write, WriteRevision):
            number = max((revision.revision for revision in history.old), default=0) + 1
            return HistoryChange("new", write.name, number)
        if isinstance(write, RenumberRevision):
            return HistoryChange("reused", write.revision.name, write.number, write.revision.revision)
    assert history.current is not None  # Otherwise it would be written.
    return HistoryChange("unchanged", history.current.name, history.current.revision)


def _compare_nodes(result: Preview, before: Before, placement: Placement, after: Fleet) -> None:
    """Which nodes come to be wanted, which no longer are, and which lose a pod that was only suffered there."""
    old = Placement.of(before.daemonset.template) if before.daemonset is not None else None
    peopled = {pod.target for pod in before.pods if not pod.is_terminating}
    for name in sorted(before.nodes):
        node = before.nodes[name]
        verdict = judge(placement, node)
        past = judge(old, node) if old is not None else None
        if verdict.should_run and past is None:
            result.gained.append(NodeChange(name, "nothing keeps its pod from the node"))
        elif verdict.should_run and past is not None and past != WELCOME:
            result.gained.append(NodeChange(name, f"this is no longer so: {past.because}"))
        elif past is not None and past.should_run and not verdict.should_run:
            stays = "; its pod may stay" if after.slots[name].alive else ""
            result.lost.append(NodeChange(name, f"{verdict.because}{stays}"))
        elif name in peopled and not verdict.should_run and not after.slots[name].alive:
            result.lost.append(NodeChange(name, f"{verdict.because}; its pod goes, and none comes in its place"))


def _play(
    result: Preview, changed: DaemonSet, fleet: Fleet, history: History, now: float, dead: frozenset[str]
) -> float:
    """Do what is decided until nothing is left to do; answers with the moment at which that is so."""
    pods = _Pods(changed.name, history.hash)
    forgotten: tuple[DeleteRevision, ...] = ()
    while True:
        plan = decide(changed, fleet, history, now)
        forgotten = plan.prunes
        if plan.is_idle:
            if plan.trouble or plan.wake_at == NEVER:
                break
            now = plan.wake_at
            continue
        wave = tuple(_replaced(plan, fleet))
        if wave:
            result.waves.append(wave)
        _carry_out(result, plan, fleet, pods, now, dead)
    result.trouble = plan.trouble
    result.revision_writes += len(forgotten)
    change = result.history
    names = tuple(write.revision.name for write in forgotten)
    result.history = HistoryChange(change.kind, change.name, change.number, change.was, names)
    return now


def _replaced(plan: Plan, fleet: Fleet) -> Iterator[str]:
    """The nodes on which the replacement of a pod begins with this step."""
    begun: dict[str, None] = {}
    for delete in plan.deletes:
        slot = fleet.slots[delete.node]
        alone = not any(fleet.aim.is_current(pod) for pod in slot.alive)
        if slot.wanted and alone and not fleet.aim.is_current(delete.pod):
            begun[delete.node] = None
    for create in plan.creates:
        if any(not fleet.aim.is_current(pod) for pod in fleet.slots[create.node].alive):
            begun[create.node] = None
    yield from sorted(begun)


def _carry_out(result: Preview, plan: Plan, fleet: Fleet, pods: _Pods, now: float, dead: frozenset[str]) -> None:
    for delete in plan.deletes:
        result.deletes += 1
        _delete(delete, fleet, now)
    for create in plan.creates:
        result.creates_on[create.node] += 1
        fleet.see_pod(pods.made(create, now, ready=create.node not in dead))


def _delete(delete: DeletePod, fleet: Fleet, now: float) -> None:
    if delete.failed:
        fleet.failed_pod_goes(delete.node, now)
    fleet.lose_pod(delete.pod.uid)


@dataclass(slots=True)
class _Pods:
    """Makes the pods that would be made."""

    daemonset: str
    revision: str
    made_so_far: int = 0

    def made(self, create: CreatePod, now: float, *, ready: bool) -> Pod:
        """A pod of the newest template on the node."""
        self.made_so_far += 1
        name = f"{self.daemonset}-new-{self.made_so_far}"
        metadata = Metadata(
            name=name, uid=name, creation_timestamp=timestamp(now), labels={REVISION_LABEL: self.revision}
        )
        condition = PodCondition(type="Ready", status=str(ready), last_transition_time=timestamp(now))
        status = PodStatus(phase="Running" if ready else "Pending", conditions=(condition,))
        return Pod(metadata=metadata, spec=PodSpec(node_name=create.node), status=status)


def _what_is_left(result: Preview, changed: DaemonSet, fleet: Fleet, history: History, now: float) -> None:
    """Which pods stay outdated, because of what."""
    names = sorted([*fleet.tally.nodes_in(Role.OUTDATED), *fleet.tally.nodes_in(Role.BROKEN)])
    if not names:
        return
    pace = pace_of(changed, fleet, history, now)
    for name in names:
        if fleet.slots[name].wanted:
            because = "; ".join(reason.because for reason in pace.why_not_yet(name))
            result.left.append(NodeChange(name, because))
