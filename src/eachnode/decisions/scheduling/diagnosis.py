"""Why a pod has no place: the reasons of all nodes, and the one message in which kube-scheduler says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eachnode.decisions.scheduling.refusals import Refusal, Refusals

UNSCHEDULABLE = "Unschedulable"
NO_NODES = "no nodes available to schedule pods"
NO_HELP = "Preemption is not helpful for scheduling"
LONGEST_EVENT = 1024  # Characters that fit into an event.


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What each node that was asked answered, and what goes for all the others."""

    nodes: int
    refused: Mapping[str, Refusals]  # by node, of those that were asked
    others: Refusal | None = None  # the one answer for nodes that need not be asked
    everywhere: Refusal | None = None  # the pod contradicts itself: no node needs to be asked

    @property
    def rules(self) -> frozenset[str]:
        """The rules that stand in the way somewhere."""
        rules = {refusal.rule for refusals in self.refused.values() for refusal in refusals}
        rules |= {refusal.rule for refusal in (self.others, self.everywhere) if refusal is not None}
        return frozenset(rules)

    @property
    def improvable(self) -> tuple[str, ...]:
        """The nodes on which making room might help."""
        return tuple(
            node for node, refusals in self.refused.items() if not any(refusal.hopeless for refusal in refusals)
        )

    def message(self, preemption: str = "") -> str:
        """The whole of it in a sentence, with what preemption could or could not do."""
        if not self.nodes:
            return NO_NODES
        if self.everywhere is not None:
            said = f"0/{self.nodes} nodes are available: {self.everywhere.reason}."
        else:
            counts: dict[str, int] = {}
            for refusals in self.refused.values():
                for refusal in refusals:
                    counts[refusal.reason] = counts.get(refusal.reason, 0) + 1
            if self.others is not None:
                _add(counts, self.others.reason, self.nodes - len(self.refused))
            said = summary(self.nodes, counts)
        return f"{said} {preemption}" if preemption else said


def summary(nodes: int, counts: Mapping[str, int]) -> str:
    """The sentence that counts reasons; they are sorted as texts, numbers included, as the reference sorts them."""
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {reasons}." if reasons else f"0/{nodes} nodes are available:"


def preemption_summary(nodes: int, tried: Iterable[tuple[str, ...]]) -> str:
    """Why preemption helps on no node: the reasons of those tried, and that it cannot help on the others."""
    counts: dict[str, int] = {}
    number = 0
    for reasons in tried:
        number += 1
        for reason in reasons:
            _add(counts, reason, 1)
    _add(counts, NO_HELP, nodes - number)
    return f"preemption: {summary(nodes, counts)}"


def for_event(message: str) -> str:
    """As much of a message as an event can carry."""
    return message if len(message) <= LONGEST_EVENT else f"{message[: LONGEST_EVENT - 4]} ..."


def _add(counts: dict[str, int], reason: str, number: int) -> None:
    if number:
        counts[reason] = counts.get(reason, 0) + number
