"""Where a pod goes: the best node of those that no rule refuses, or a diagnosis of why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eachnode.decisions.scheduling.diagnosis import Diagnosis
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.node_affinity import CONTRADICTION, NOT_NAMED, likely_nodes, named_nodes
from eachnode.decisions.scheduling.refusals import Refusals
from eachnode.decisions.scheduling.rooms import Room
from eachnode.decisions.scheduling.rules import Questions
from eachnode.decisions.scheduling.scoring import best
from eachnode.objects.workload import WorkloadPod

ENOUGH = 100  # Nodes that would do among which to choose: looking for more costs more than it improves.


@dataclass(frozen=True, slots=True)
class Placement:
    """The node for a pod, and how many were asked to find it."""

    node: str
    asked: int = 1


def place(pod: WorkloadPod, landscape: Landscape, start: int = 0) -> Placement | Diagnosis:
    """The node for the pod, looked for from the `start`-th on, or why there is none."""
    if not landscape.rooms:
        return Diagnosis(0, {})
    named = named_nodes(pod)
    if named == ():
        return Diagnosis(len(landscape), {}, everywhere=CONTRADICTION)
    questions = Questions(pod, landscape)
    # A node that was cleared for the pod is most likely the one that does; and a hostname leaves few to choose from.
    for promising in (_nominated(pod, landscape), likely_nodes(pod, landscape)):
        if promising:
            found, _ = _ask(questions, _rooms(landscape, promising))
            if found:
                return Placement(best(pod, found, landscape).name, len(promising))
    candidates = landscape.order if named is None else named
    found, refused = _ask(questions, _rooms(landscape, _from(candidates, start)))
    if found:
        return Placement(best(pod, found, landscape).name, len(found) + len(refused))
    return Diagnosis(len(landscape), refused, others=None if named is None else NOT_NAMED)


def _nominated(pod: WorkloadPod, landscape: Landscape) -> tuple[str, ...]:
    node = landscape.nomination_of(pod)
    return (node,) if node else ()


def _rooms(landscape: Landscape, names: Iterable[str]) -> Iterable[Room]:
    return (landscape.rooms[name] for name in names if name in landscape.rooms)


def _from(names: tuple[str, ...], start: int) -> tuple[str, ...]:
    start %= len(names)
    return names[start:] + names[:start] if start else names


def _ask(questions: Questions, rooms: Iterable[Room]) -> tuple[list[Room], dict[str, Refusals]]:
    found: list[Room] = []
    refused: dict[str, Refusals] = {}
    for room in rooms:
        refusals = questions.refusals(room)
        if refusals:
            refused[room.name] = refusals
        else:
            found.append(room)
            if len(found) >= ENOUGH:
                break
    return found, refused
