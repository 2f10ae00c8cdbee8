"""Pods may be required to be spread evenly over the values of a node label.

A placement is refused when it would put more than `maxSkew` pods more on its place than there are on the emptiest
place. Which nodes count as places depends on the pod's own affinity and, if it says so, on taints; and as long as there
are fewer places than `minDomains`, the emptiest place is taken to hold nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.decisions.scheduling.tolerance import first_untolerated
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.workload import TopologySpreadConstraint, WorkloadPod

NAME = "PodTopologySpread"
UNEVEN = Refusal(NAME, "node(s) didn't match pod topology spread constraints")
NO_LABEL = Refusal(NAME, "node(s) didn't match pod topology spread constraints (missing required label)", hopeless=True)


@dataclass(frozen=True, slots=True)
class Spread:
    """One constraint of a pod, and how many pods it means there are in each place."""

    constraint: TopologySpreadConstraint
    selector: LabelSelector | None
    counts: Mapping[str, int]
    own: int  # 1 when the pod itself is one of those that are counted

    @property
    def least(self) -> int:
        """How many there are on the emptiest place."""
        if len(self.counts) < (self.constraint.min_domains or 1):
            return 0
        return min(self.counts.values(), default=0)

    def skew_at(self, place: str) -> int:
        """How far above the emptiest place this one would be."""
        return self.counts.get(place, 0) + self.own - self.least


def spreads(pod: WorkloadPod, landscape: Landscape, when_unsatisfiable: str) -> tuple[Spread, ...]:
    """The pod's constraints of one strictness, with the present counts."""
    constraints = [
        each for each in pod.spec.topology_spread_constraints or () if each.when_unsatisfiable == when_unsatisfiable
    ]
    return tuple(_spread(pod, landscape, each, constraints) for each in constraints)


def _spread(
    pod: WorkloadPod,
    landscape: Landscape,
    constraint: TopologySpreadConstraint,
    constraints: list[TopologySpreadConstraint],
) -> Spread:
    selector = _with_own_values(constraint, pod)
    counts: dict[str, int] = {}
    for room in landscape.rooms.values():
        labels = room.labels
        # A node counts only when it has a place in each of the pod's constraints.
        if all(each.topology_key in labels for each in constraints) and _is_eligible(pod, constraint, room):
            place = labels[constraint.topology_key]
            counts[place] = counts.get(place, 0) + count_on(room, selector, pod.metadata.namespace)
    own = selector is not None and selector.matches(pod.metadata.labels or {})
    return Spread(constraint, selector, counts, int(own))


def _with_own_values(constraint: TopologySpreadConstraint, pod: WorkloadPod) -> LabelSelector | None:
    """The constraint's selector, narrowed to pods that share the pod's values of `matchLabelKeys`."""
    selector, labels = constraint.label_selector, pod.metadata.labels or {}
    own = {key: labels[key] for key in constraint.match_label_keys or () if key in labels}
    if selector is None or not own:
        return selector
    if any((selector.match_labels or {}).get(key, value) != value for key, value in own.items()):
        return None  # The selector wants another value: nothing can match both.
    return msgspec.structs.replace(selector, match_labels={**(selector.match_labels or {}), **own})


def _is_eligible(pod: WorkloadPod, constraint: TopologySpreadConstraint, room: Room) -> bool:
    if constraint.node_affinity_policy == "Honor" and not pod.required_nodes.match(room.name, room.labels):
        return False
    return constraint.node_taints_policy == "Ignore" or first_untolerated(pod, room.there) is None


def count_on(room: Room, selector: LabelSelector | None, namespace: str) -> int:
    """The pods on a node that a selector means, without those that are leaving."""
    if selector is None or selector.empty:
        return 0
    return sum(
        pod.metadata.namespace == namespace
        and pod.metadata.deletion_timestamp is None
        and selector.matches(pod.metadata.labels or {})
        for pod in room.pods
    )


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:
    """The check, for a pod that must be spread."""
    if not pod.spec.topology_spread_constraints:
        return None
    required = spreads(pod, landscape, "DoNotSchedule")
    if not required:
        return None

    def check(room: Room) -> Refusals:
        labels = room.labels
        for spread in required:
            place = labels.get(spread.constraint.topology_key)
            if place is None:
                return (NO_LABEL,)
            if spread.skew_at(place) > spread.constraint.max_skew:
                return (UNEVEN,)
        return FITS

    return check


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:
    """Each constraint that the node would violate, with the counts."""
    found: list[Fact] = []
    for spread in spreads(pod, landscape, "DoNotSchedule"):
        constraint = spread.constraint
        key = constraint.topology_key
        place = room.labels.get(key)
        if place is None:
            found.append(
                Fact(f"the node has no label {key}, over which the pod is spread", f"label the node with {key}")
            )
        elif spread.skew_at(place) > constraint.max_skew:
            here, allowed = spread.counts.get(place, 0), constraint.max_skew
            sentence = f"{here} matching pods are where {key}={place}, {spread.least} where there are fewest;"
            sentence += f" they may differ by {allowed}"
            found.append(Fact(sentence, "free the emptier places, or allow a larger maxSkew"))
    return tuple(found)


RULE = Rule(
    NAME,
    prepare,
    facts,
    helped_by=frozenset({Change.NODE_LABELS, Change.POD_PLACED, Change.POD_GONE, Change.POD_LABELS}),
    spans_nodes=True,
)
