"""Why an outdated pod has not been replaced yet: what the next pass does instead, and who spends the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eachnode.decisions.explanation_words import Reason, and_others, moment
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History
from eachnode.decisions.plan import decide
from eachnode.decisions.rollout import OUT_OF_SERVICE, BadBudget, Budget, budget
from eachnode.decisions.slots import NEVER, Role
from eachnode.objects.daemonset import ON_DELETE, DaemonSet


@dataclass(frozen=True, slots=True)
class Pace:
    """What the rollout does next, and what keeps it from doing more."""

    next_steps: Mapping[str, str]  # By node: because of what its pod goes, or gets company, in the next pass.
    waits_for: tuple[Reason, ...]  # Why the others wait.

    def why_not_yet(self, node: str) -> tuple[Reason, ...]:
        """Why the outdated pod of this node is there still."""
        because = self.next_steps.get(node)
        if because is not None:
            return (Reason(f"it is replaced in the next pass: {because}", ""),)
        return self.waits_for


def pace_of(daemonset: DaemonSet, fleet: Fleet, history: History, now: float) -> Pace:
    """What the next pass does, and why it does no more."""
    if daemonset.spec.update_strategy.type == ON_DELETE:
        reason = Reason(
            "the update strategy is OnDelete: a pod is replaced when somebody deletes it",
            "delete the pod, or set updateStrategy.type to RollingUpdate",
        )
        return Pace({}, (reason,))
    plan = decide(daemonset, fleet, history, now)
    steps = {create.node: create.because for create in plan.creates}
    steps |= {delete.node: delete.because for delete in plan.deletes}
    if plan.trouble:
        return Pace(steps, (Reason(plan.trouble, "correct updateStrategy"),))
    if fleet.tally.unsettled:
        settled_first = list(fleet.tally.unsettled)
        because = f"the controller settles other nodes first: {and_others(settled_first)}"
        return Pace(steps, (Reason(because, ""),))
    return Pace(steps, _held_up(daemonset, fleet, steps, now))


def _held_up(daemonset: DaemonSet, fleet: Fleet, steps: Mapping[str, str], now: float) -> tuple[Reason, ...]:
    try:
        allowed = budget(daemonset.spec.update_strategy, fleet.tally.desired)
    except BadBudget as error:
        return (Reason(f"the update strategy cannot be read: {error}", "correct updateStrategy"),)
    if steps:
        return (Reason(f"its turn comes after {and_others(sorted(steps))}", ""),)
    spenders = _spenders(fleet, allowed)
    if allowed.surge:
        limit = f"maxSurge allows {_nodes(allowed.surge)} to hold two pods at a time"
        raised = "maxSurge"
    else:
        limit = f"maxUnavailable allows {_nodes(allowed.unavailable)} to be out of service at a time"
        raised = "maxUnavailable"
    if spenders:
        because = f"{limit}, and {and_others(spenders)} {'is' if len(spenders) == 1 else 'are'} now"
        remedy = f"see what is in the way on {spenders[0] if len(spenders) == 1 else 'these nodes'}, or raise {raised}"
        return (Reason(because, remedy), *_waits(fleet, spenders, now))
    return (Reason("the controller replaces it in a pass to come", ""),)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _spenders(fleet: Fleet, allowed: Budget) -> list[str]:
    """The nodes that have the budget."""
    roles = (Role.PAIRED, Role.EXCESS) if allowed.surge else OUT_OF_SERVICE
    return sorted(name for name, slot in fleet.slots.items() if slot.reading is not None and slot.reading.role in roles)


def _waits(fleet: Fleet, spenders: list[str], now: float) -> tuple[Reason, ...]:
    """The spenders that only wait for minReadySeconds to pass."""
    until = {
        name: when
        for name in spenders
        for pod in fleet.slots[name].alive
        if fleet.aim.is_current(pod) and now < (when := fleet.aim.available_from(pod)) < NEVER
    }
    if not until:
        return ()
    first = min(until, key=lambda name: (until[name], name))
    seconds = fleet.aim.min_ready_seconds
    because = f"{first} counts as available from {moment(until[first], now)}: minReadySeconds is {seconds}"
    return (Reason(because, "wait, or lower minReadySeconds"),)
