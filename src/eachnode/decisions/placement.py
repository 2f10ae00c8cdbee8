"""What one slot lacks or has too much of, whatever the rollout does.

The rules of the reference's manage loop for a single node: a pod where one is wanted, none where none may stay, only
one (or two while one replaces the other), and none that has ended. A rule says what goes and because of what.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eachnode.decisions.backoff import Backoff
from eachnode.decisions.slots import NEVER, Aim, Slot
from eachnode.objects.pod import Pod


@dataclass(frozen=True, slots=True)
class Removal:
    """A pod that has to go."""

    pod: Pod
    because: str
    failed: bool = False  # It failed: its removal opens a back-off window, and is told in an event.
    succeeded: bool = False  # It ended well: told in an event.


@dataclass(slots=True)
class Settlement:
    """What is to be done on one node now, and when to look again."""

    creates: str = ""  # Because of what a pod is to be created; empty when none is.
    removals: list[Removal] = field(default_factory=list)
    until: float = NEVER  # A failed pod waits until then.

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done now."""
        return not self.creates and not self.removals


def settle(slot: Slot, aim: Aim, backoff: Backoff, now: float) -> Settlement:
    """What this node needs."""
    present = slot.present
    if slot.verdict is None:
        return Settlement(removals=[Removal(pod, "its node is gone") for pod in slot.alive if not pod.spec.node_name])
    if slot.wanted and not present:
        return Settlement(creates="no pod of it is on the node")
    if not slot.tolerated:
        because = "; ".join(objection.because for objection in slot.verdict.objections if objection.evicts)
        return Settlement(removals=[Removal(pod, because) for pod in slot.alive])
    if len(present) == 1 and not present[0].is_over and not present[0].is_terminating:
        return Settlement()  # By far the most frequent case.
    settlement = Settlement()
    running = [pod for pod in slot.alive if not pod.is_over]
    _remove_ended(settlement, slot, aim, backoff, now)
    if aim.surges:
        _settle_surging(settlement, slot, running, aim, now)
    else:
        settlement.removals += [Removal(pod, f"{running[0].name} is on the node already") for pod in running[1:]]
    return settlement


def _remove_ended(settlement: Settlement, slot: Slot, aim: Aim, backoff: Backoff, now: float) -> None:
    """Pods that ended go: those that failed not too often."""
    until = backoff.until(slot.node, aim.observed_generation, now)
    for pod in slot.alive:
        if pod.status.phase == "Succeeded":
            settlement.removals.append(Removal(pod, "it has ended, and a daemon pod is to run always", succeeded=True))
        elif pod.status.phase == "Failed":
            if until > now:
                settlement.until = until
            elif not any(removal.failed for removal in settlement.removals):
                # The others wait: this one's removal opens the node's window.
                settlement.removals.append(Removal(pod, "it has failed", failed=True))


def _settle_surging(settlement: Settlement, slot: Slot, running: list[Pod], aim: Aim, now: float) -> None:
    """At most one current and one outdated pod; the outdated one until its replacement is available."""
    if not running and slot.wanted:
        settlement.creates = "what is on the node has ended or is leaving"
    if len(running) <= 1:
        return
    current: Pod | None = None
    outdated: Pod | None = None
    for pod in running:
        # By revision alone, as the reference does here: the template generation is not asked.
        if pod.revision_hash == aim.revision:
            if current is None:
                current = pod
                continue
        elif outdated is None:
            outdated = pod
            continue
        settlement.removals.append(Removal(pod, "the node has an older one of the same revision"))
    if current is None or outdated is None:
        return
    if not outdated.is_ready:
        settlement.removals.append(Removal(outdated, f"it is not ready, and its replacement {current.name} is here"))
    elif aim.available_from(current) <= now:
        settlement.removals.append(Removal(outdated, f"its replacement {current.name} is available"))
