"""The plan: what to do now, each action with its because, and when to look again.

The whole controller as one decision: settle every node first; when there is nothing to settle, take the next step of
the rollout; forget revisions that nobody uses; report. A plan is carried out by the controller, printed by `plan`,
asked for one node by `why`, and checked by the simulation. It costs what it plans, not what it passes over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import DeleteRevision, History, prune
from eachnode.decisions.placement import Removal, settle
from eachnode.decisions.rollout import Accompany, BadBudget, budget, roll
from eachnode.decisions.slots import NEVER
from eachnode.decisions.status import counts, is_settled
from eachnode.objects.daemonset import ROLLING_UPDATE, Counts, DaemonSet
from eachnode.objects.pod import Pod

BURST = 250  # Creates, and separately deletes, in one pass.

SELECTING_ALL = "This daemon set is selecting all pods. A non-empty selector is required."


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Start a pod on a node."""

    node: str
    because: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Remove a pod."""

    pod: Pod
    because: str
    failed: bool = False

    @property
    def node(self) -> str:
        """Where it is, or was meant to be."""
        return self.pod.target


@dataclass(frozen=True, slots=True)
class Notice:
    """An event to tell about the DaemonSet."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


NoRoom = Callable[[str], str]  # Why a pod cannot be placed on a node; empty when it can.


def always_room(node: str) -> str:  # noqa: ARG001 one of many such questions
    """The answer where a scheduler looks for room."""
    return ""


@dataclass(slots=True)
class Plan:
    """What to do now about one DaemonSet."""

    creates: list[CreatePod] = field(default_factory=list)
    deletes: list[DeletePod] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    prunes: tuple[DeleteRevision, ...] = ()
    counts: Counts = field(default_factory=Counts)  # As things are before the actions.
    settled: bool = False
    unplaced: dict[str, str] = field(default_factory=dict)  # Nodes that lack room for their pod, and why.
    postponed: int = 0  # What is to be done too, but not in this pass.
    wake_at: float = NEVER  # When to look again if nothing happens before.
    trouble: str = ""  # Why the rollout cannot go on; what else is to be done is done.

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to create or delete."""
        return not self.creates and not self.deletes


def decide(daemonset: DaemonSet, fleet: Fleet, history: History, now: float, no_room: NoRoom = always_room) -> Plan:
    """What to do now; the fleet must have taken aim at the current revision."""
    fleet.refresh(now)
    plan = Plan(counts=counts(fleet), settled=is_settled(fleet), wake_at=fleet.next_change)
    _settle(plan, fleet, now, no_room)
    if plan.is_idle and daemonset.spec.update_strategy.type == ROLLING_UPDATE:
        _roll(plan, daemonset, fleet, now, no_room)
    if not plan.trouble:
        plan.prunes = prune(history, daemonset.spec.revision_history_limit, fleet.revisions_in_use)
    return plan


def _settle(plan: Plan, fleet: Fleet, now: float, no_room: NoRoom) -> None:
    for node in fleet.tally.unsettled:
        if len(plan.creates) >= BURST and len(plan.deletes) >= BURST:
            plan.postponed += 1  # At least; who wants the number looks at the tally.
            return
        settlement = settle(fleet.slots[node], fleet.aim, fleet.backoff, now)
        if settlement.creates:
            _create(plan, node, settlement.creates, no_room)
        for removal in settlement.removals:
            _remove(plan, removal)


def _create(plan: Plan, node: str, because: str, no_room: NoRoom) -> None:
    if len(plan.creates) >= BURST:
        plan.postponed += 1
    elif full := no_room(node):
        plan.unplaced[node] = full
    else:
        plan.creates.append(CreatePod(node, because))


def _remove(plan: Plan, removal: Removal) -> None:
    if len(plan.deletes) >= BURST:
        plan.postponed += 1
        return
    pod = removal.pod
    plan.deletes.append(DeletePod(pod, removal.because, failed=removal.failed))
    where = f"{pod.metadata.namespace}/{pod.name} on node {pod.target}"
    if removal.failed:
        message = f"Found failed daemon pod {where}, will try to kill it"
        plan.notices.append(Notice("Warning", "FailedDaemonPod", message))
    elif removal.succeeded:
        message = f"Found succeeded daemon pod {where}, will try to delete it"
        plan.notices.append(Notice("Normal", "SucceededDaemonPod", message))


def _roll(plan: Plan, daemonset: DaemonSet, fleet: Fleet, now: float, no_room: NoRoom) -> None:
    try:
        allowed = budget(daemonset.spec.update_strategy, fleet.tally.desired)
    except BadBudget as error:
        plan.trouble = f"the update strategy cannot be read: {error}"
        return
    for step in roll(fleet, allowed, now):
        if isinstance(step, Accompany):
            _create(plan, step.node, step.because, no_room)
        else:
            _remove(plan, Removal(step.pod, step.because))
