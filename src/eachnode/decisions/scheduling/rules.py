"""All rules, in the order in which kube-scheduler asks them; the first that objects gives the reason."""

from __future__ import annotations

from collections.abc import Iterable

from eachnode.decisions.scheduling import (
    host_ports,
    node_affinity,
    node_name,
    pod_affinity,
    room_for,
    tolerance,
    topology_spread,
)
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import WorkloadPod

RULES: tuple[Rule, ...] = (
    node_name.RULE,
    tolerance.CORDON_RULE,
    tolerance.TAINT_RULE,
    node_affinity.RULE,
    host_ports.RULE,
    room_for.RULE,
    topology_spread.RULE,
    pod_affinity.RULE,
)
RULE_NAMED = {rule.name: rule for rule in RULES}


class Questions:
    """The rules that concern one pod, ready to be asked of any room; valid until the landscape changes."""

    __slots__ = ("_checks", "_landscape", "_spans_nodes", "pod")

    def __init__(self, pod: WorkloadPod, landscape: Landscape) -> None:
        self.pod = pod
        self._landscape = landscape
        prepared = [(rule, check) for rule in RULES if (check := rule.prepare(pod, landscape)) is not None]
        self._checks: tuple[Check, ...] = tuple(check for _, check in prepared)
        self._spans_nodes = any(rule.spans_nodes for rule, _ in prepared)

    def refusals(self, room: Room) -> Refusals:
        """Why the pod may not go there, counting with pods that the room is being cleared for; empty when it may."""
        expected = self._landscape.nominated_for(room.name, self.pod.metadata.uid, self.pod.priority)
        if expected:
            # They may come or not, so the pod must fit in either case.
            crowded = self.imagining(room.imagined(with_pods=expected))
            if crowded != FITS:
                return crowded
        return self.refusals_as_is(room)

    def refusals_as_is(self, room: Room) -> Refusals:
        """Why the pod may not go there as things are."""
        for check in self._checks:
            refused = check(room)
            if refused:
                return refused
        return FITS

    def imagining(self, room: Room) -> Refusals:
        """Why the pod could not go there if this was how its room looked."""
        if not self._spans_nodes and not room.hostile:
            return self.refusals_as_is(room)
        return Questions(self.pod, self._landscape.imagined(room)).refusals_as_is(room)


def helped_by(rules: Iterable[str]) -> frozenset[Change]:
    """The changes that could make these rules answer differently."""
    return _union(RULE_NAMED[name].helped_by for name in rules)


def helped_from_afar(rules: Iterable[str]) -> frozenset[Change]:
    """The changes of one node after which these rules could answer differently for another one."""
    return _union(RULE_NAMED[name].helped_by for name in rules if RULE_NAMED[name].spans_nodes)


def _union(changes: Iterable[frozenset[Change]]) -> frozenset[Change]:
    return frozenset(change for each in changes for change in each)
