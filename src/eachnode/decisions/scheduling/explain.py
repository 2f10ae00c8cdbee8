"""Why a pod may or may not go to a node: every objection, not only the first, with the fact that causes it.

This asks the same rules as the placement does; it only keeps on asking after the first refusal, and has each rule tell
its facts: the numbers, who holds what is missing, and what would change the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.node_affinity import named_nodes
from eachnode.decisions.scheduling.refusals import Check, Fact, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.decisions.scheduling.rules import RULES
from eachnode.objects.workload import WorkloadNode, WorkloadPod


@dataclass(frozen=True, slots=True)
class Objection:
    """One rule that is against a node: its reasons in kube-scheduler's words, and the facts behind them."""

    rule: str
    reasons: tuple[str, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say of one node for one pod."""

    node: str
    objections: tuple[Objection, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the pod may go there."""
        return not self.objections


def explain(pod: WorkloadPod, landscape: Landscape, nodes: Iterable[str] | None = None) -> tuple[Answer, ...]:
    """What the rules say of these nodes; of those the pod names, or else of all, when none are given."""
    if nodes is None:
        named = named_nodes(pod)
        nodes = landscape.rooms if named is None else (name for name in named if name in landscape.rooms)
    uid = pod.metadata.uid
    where = landscape.node_of(uid)
    if where in landscape.rooms:  # A pod is not in its own way.
        landscape = landscape.imagined(landscape.rooms[where].imagined(without=(uid,)))
    prepared = _prepared(pod, landscape)
    return tuple(_answer(pod, landscape, prepared, landscape.rooms[name]) for name in sorted(nodes))


def _prepared(pod: WorkloadPod, landscape: Landscape) -> list[tuple[Rule, Check]]:
    return [(rule, check) for rule in RULES if (check := rule.prepare(pod, landscape)) is not None]


def _answer(pod: WorkloadPod, landscape: Landscape, prepared: list[tuple[Rule, Check]], room: Room) -> Answer:
    objections = tuple(
        Objection(rule.name, tuple(refusal.reason for refusal in refusals), tuple(rule.facts(pod, room, landscape)))
        for rule, check in prepared
        if (refusals := check(room))
    )
    expected = landscape.nominated_for(room.name, pod.metadata.uid, pod.priority)
    if objections or not expected or all(other.metadata.uid in room.tenants for other in expected):
        return Answer(room.name, objections)
    # It would fit, but the node is being cleared for others, who go first.
    crowded = room.imagined(with_pods=expected)
    landscape = landscape.imagined(crowded)
    return _answer(pod, landscape, _prepared(pod, landscape), crowded)


def survey(
    nodes: Iterable[WorkloadNode],
    pods: Iterable[WorkloadPod],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> Landscape:
    """The landscape as these lists show it; pods that have ended take no room."""
    landscape = Landscape()
    landscape.namespaces.update(namespaces or {})
    for node in nodes:
        landscape.set_node(node)
    for pod in pods:
        if pod.is_over:
            continue
        if pod.spec.node_name:
            landscape.put(pod, pod.spec.node_name)
        elif pod.status.nominated_node_name:
            landscape.nominate(pod, pod.status.nominated_node_name)
    return landscape
