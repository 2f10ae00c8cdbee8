"""Preemption: which pods of lower priority would have to go so that a pod finds room, doing the smallest harm.

On each node where room could help, all pods of lower priority are imagined away; if the pod then fits, as many of them
as possible are spared again, those whose disruption budget would be violated first, then the more important ones. Of
the nodes, the one is chosen where the fewest budgets are violated, then where the highest priority to go is lowest,
then the sum of priorities, then the number of pods, then where the most important of them have run for the shortest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eachnode.decisions.scheduling.diagnosis import Diagnosis, preemption_summary
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.placement import ENOUGH
from eachnode.decisions.scheduling.rooms import Room
from eachnode.decisions.scheduling.rules import Questions
from eachnode.objects.clock import seconds
from eachnode.objects.workload import DisruptionBudget, WorkloadPod

DISRUPTION_TARGET = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"
PREEMPTED = "Preempted"

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
WAITING = "preemption: not eligible due to a terminating pod on the nominated node."
NO_VICTIMS = "No preemption victims found for incoming pod"

_LOWEST = 1 << 31  # Added to every priority before summing, so that more victims never weigh less.
_NOT_STARTED = float("inf")


@dataclass(frozen=True, slots=True)
class Sacrifice:
    """The pods that would have to go from a node, the most important first."""

    node: str
    victims: tuple[WorkloadPod, ...]
    violations: int = 0  # disruption budgets that cannot be kept

    @property
    def harm(self) -> tuple[object, ...]:
        """Smaller is better."""
        highest = self.victims[0].priority
        started = min(started_at(victim) for victim in self.victims if victim.priority == highest)
        return (
            self.violations,
            highest,
            sum(victim.priority + _LOWEST for victim in self.victims),
            len(self.victims),
            -started,
            self.node,
        )

    @property
    def message(self) -> str:
        """What kube-scheduler says of it."""
        number = len(self.victims)
        return f"preemption: found a potential placement for pod on node {self.node}, preempting {number} victims"


@dataclass(frozen=True, slots=True)
class NoSacrifice:
    """That no sacrifice is made, in kube-scheduler's words, and whether the node it waits for remains the one."""

    message: str
    keeps_nomination: bool = False


def preempt(
    pod: WorkloadPod, landscape: Landscape, diagnosis: Diagnosis, budgets: Sequence[DisruptionBudget] = ()
) -> Sacrifice | NoSacrifice:
    """The smallest sacrifice that makes room for the pod, or why none does."""
    if pod.spec.preemption_policy == "Never":
        return NoSacrifice(NEVER, keeps_nomination=True)
    if _is_waiting(pod, landscape, diagnosis):
        return NoSacrifice(WAITING, keeps_nomination=True)
    questions = Questions(pod, landscape)
    found: list[Sacrifice] = []
    tried: list[tuple[str, ...]] = []
    for node in diagnosis.improvable:
        room = landscape.rooms[node]
        expected = landscape.nominated_for(node, pod.metadata.uid, pod.priority)
        outcome = _sacrifice(questions, room.imagined(with_pods=expected), budgets)
        if isinstance(outcome, Sacrifice):
            found.append(outcome)
            if len(found) >= ENOUGH and not outcome.violations:
                break
        else:
            tried.append(outcome)
    if found:
        return min(found, key=lambda sacrifice: sacrifice.harm)
    return NoSacrifice(preemption_summary(diagnosis.nodes, tried))


def _is_waiting(pod: WorkloadPod, landscape: Landscape, diagnosis: Diagnosis) -> bool:
    """Whether victims of an earlier preemption for the pod are still on their way out."""
    node = landscape.nomination_of(pod)
    if node not in diagnosis.improvable:
        return False
    others = landscape.rooms[node].pods
    return any(other.priority < pod.priority and _leaves_by_preemption(other) for other in others)


def _leaves_by_preemption(pod: WorkloadPod) -> bool:
    if pod.metadata.deletion_timestamp is None:
        return False
    condition = pod.condition(DISRUPTION_TARGET)
    return condition is not None and condition.status == "True" and condition.reason == BY_SCHEDULER


def _sacrifice(questions: Questions, room: Room, budgets: Sequence[DisruptionBudget]) -> Sacrifice | tuple[str, ...]:
    """Whom to take from a room (which is used up by trying), or the reasons why nobody helps."""
    pod = questions.pod
    lower = sorted((other for other in room.pods if other.priority < pod.priority), key=_importance)
    if not lower:
        return (NO_VICTIMS,)
    for other in lower:
        room.remove(other.metadata.uid)
    refusals = questions.imagining(room)
    if refusals:
        return tuple(refusal.reason for refusal in refusals)
    victims: list[WorkloadPod] = []
    violations = 0
    protected = _protected(lower, budgets)
    for other in sorted(lower, key=lambda other: other.metadata.uid not in protected):
        room.add(other)
        if questions.imagining(room):
            room.remove(other.metadata.uid)
            victims.append(other)
            violations += other.metadata.uid in protected
    if not victims:  # It fits after all: whoever asked had an older picture.
        return (NO_VICTIMS,)
    return Sacrifice(room.name, tuple(sorted(victims, key=_importance)), violations)


def _importance(pod: WorkloadPod) -> tuple[int, float, str]:
    """The more important comes first: higher priority, then longer run."""
    return (-pod.priority, started_at(pod), pod.metadata.uid)


def started_at(pod: WorkloadPod) -> float:
    """When the pod began to run; one that has not is the youngest."""
    return seconds(pod.status.start_time) if pod.status.start_time else _NOT_STARTED


def _protected(pods: Sequence[WorkloadPod], budgets: Sequence[DisruptionBudget]) -> set[str]:
    """Those whose disruption would violate a budget, if all of them were disrupted in this order."""
    left = [budget.status.disruptions_allowed for budget in budgets]
    protected: set[str] = set()
    for pod in pods:
        for place, budget in enumerate(budgets):
            if budget.counts(pod):
                left[place] -= 1
                if left[place] < 0:
                    protected.add(pod.metadata.uid)
                    break
    return protected
