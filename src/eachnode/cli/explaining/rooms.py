"""What is on the nodes that pods without a node are for: asked for node by node, or, where it must be, all there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eachnode.cli.errands import each
from eachnode.client.door import Door
from eachnode.decisions.explanation_views import NodeTold, PodTold
from eachnode.decisions.scheduling import Landscape, explain, survey
from eachnode.objects.clock import Clock
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import NAMESPACES, PODS
from eachnode.objects.status import ApiError, Forbidden, Unreachable
from eachnode.objects.workload import WorkloadPod

FEW = 16  # Nodes whose pods are asked for node by node; with more of them one list of all pods is cheaper.
LASTS = 10.0  # Seconds for which a look at a few nodes is good enough for a board.
UNBOUND = ""  # The node of pods that have none: room may be promised to them.


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod without a node, and the node that it is for."""

    pod: PodTold
    target: str

    @property
    def looks_around(self) -> bool:
        """Whether it minds what is on other nodes than its own."""
        affinity = self.pod.spec.affinity
        near = affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)
        return near or bool(self.pod.spec.topology_spread_constraints)


async def landscape_of(door: Door, unplaced: Sequence[Unplaced], nodes: Mapping[str, NodeTold]) -> Landscape | None:
    """The nodes and what is on them, as far as it matters; None when we may not look at the pods of others."""
    targets = {each_one.target for each_one in unplaced}
    try:
        if len(targets) <= FEW and not any(each_one.looks_around for each_one in unplaced):
            landscape = await _surveyed(door, nodes, (*sorted(targets), UNBOUND))
            if all(_has_answer(each_one.pod, landscape) for each_one in unplaced):
                return landscape
        everything = [document.read(WorkloadPod) async for document in each(door, PODS)]
        return survey(nodes.values(), everything, await _namespace_labels(door))
    except Forbidden:
        return None


class Glances:
    """What is on a few nodes, looked at now and then, for boards."""

    def __init__(self, door: Door, clock: Clock) -> None:
        self._door, self._clock = door, clock
        self._seen: tuple[frozenset[str], float, Landscape | None] = (frozenset(), 0.0, None)

    async def at(self, unplaced: Sequence[Unplaced], nodes: Mapping[str, NodeTold]) -> Landscape | None:
        """What is on the nodes of these pods; None when it is not known, or more than that would have to be."""
        if not unplaced or any(each_one.looks_around for each_one in unplaced):
            return None
        who = frozenset(each_one.pod.metadata.uid for each_one in unplaced)
        known, until, landscape = self._seen
        if known != who or until <= self._clock.now():
            landscape = await self._looked({each_one.target for each_one in unplaced}, nodes)
            self._seen = (who, self._clock.now() + LASTS, landscape)
        return landscape

    async def _looked(self, targets: Iterable[str], nodes: Mapping[str, NodeTold]) -> Landscape | None:
        try:
            return await _surveyed(self._door, nodes, sorted(targets))
        except (ApiError, Unreachable):
            return None  # Boards do without.


def _has_answer(pod: PodTold, landscape: Landscape) -> bool:
    """Whether something on the pod's own node is in its way already."""
    return bool(pod.spec.scheduling_gates) or any(answer.objections for answer in explain(pod, landscape))


async def _surveyed(door: Door, nodes: Mapping[str, NodeTold], targets: Iterable[str]) -> Landscape:
    """The nodes, and what is on those that are asked about."""
    namespaces = await _namespace_labels(door)
    pods = [
        document.read(WorkloadPod)
        for target in targets
        async for document in each(door, PODS, fields=f"spec.nodeName={target}")
    ]
    return survey(nodes.values(), pods, namespaces)


async def _namespace_labels(door: Door) -> dict[str, dict[str, str]]:
    try:
        found = [document.read(MetadataOnly).metadata async for document in each(door, NAMESPACES)]
    except Forbidden:
        return {}  # Terms that select namespaces by label then match none.
    return {metadata.name: metadata.labels or {} for metadata in found}
