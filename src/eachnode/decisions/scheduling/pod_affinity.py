"""Pods may want to be near other pods, or far from them; and those that are there may not want the newcomer.

Near means: on nodes with the same value of a label. Three questions, in this order: does the newcomer find those it
must be near (the first of a group finds itself), is it far from those it must avoid, and does nobody there refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eachnode.decisions.scheduling.affinity_terms import Term, far_terms, near_terms
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Holder, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import WorkloadPod

NAME = "InterPodAffinity"
NOT_NEAR = Refusal(NAME, "node(s) didn't match pod affinity rules", hopeless=True)
NOT_FAR = Refusal(NAME, "node(s) didn't match pod anti-affinity rules")
UNWELCOME = Refusal(NAME, "node(s) didn't satisfy existing pods anti-affinity rules")

Places = dict[tuple[str, str], int]  # how many matches there are by label and value


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:
    """The check, when the pod cares or somebody there does."""
    near, far = near_terms(pod), far_terms(pod)
    unwelcome = _where_unwelcome(pod, landscape)
    if not near and not far and not unwelcome:
        return None
    friends = _places(landscape, near, landscape.rooms.values(), every_term=True)
    enemies = _places(landscape, far, landscape.rooms.values(), every_term=False)
    unwelcome_keys = sorted({key for key, _ in unwelcome})
    first_of_its_kind = bool(near) and not friends and all(term.means(pod, landscape.namespaces) for term in near)

    def check(room: Room) -> Refusals:
        labels = room.labels
        if any(term.topology_key not in labels for term in near):
            return (NOT_NEAR,)
        if not first_of_its_kind and any(
            (term.topology_key, labels[term.topology_key]) not in friends for term in near
        ):
            return (NOT_NEAR,)
        if any((term.topology_key, labels.get(term.topology_key)) in enemies for term in far):
            return (NOT_FAR,)
        if any((key, labels.get(key)) in unwelcome for key in unwelcome_keys):
            return (UNWELCOME,)
        return FITS

    return check


def _places(landscape: Landscape, terms: Sequence[Term], rooms: Iterable[Room], *, every_term: bool) -> Places:
    """Where the pods are that the terms mean: those that meet every term, or those that meet each."""
    places: Places = {}
    if not terms:
        return places
    for room in rooms:
        labels = room.labels
        for pod in room.pods:
            met = [term for term in terms if term.means(pod, landscape.namespaces)]
            if every_term and len(met) < len(terms):
                continue
            for term in met:
                if term.topology_key in labels:
                    place = (term.topology_key, labels[term.topology_key])
                    places[place] = places.get(place, 0) + 1
    return places


def _where_unwelcome(pod: WorkloadPod, landscape: Landscape) -> Places:
    """Where pods are that refuse this one."""
    places: Places = {}
    for room in landscape.hostile_rooms:
        for tenant in room.hostile.values():
            for term in tenant.refuses:
                if term.topology_key in room.labels and term.means(pod, landscape.namespaces):
                    place = (term.topology_key, room.labels[term.topology_key])
                    places[place] = places.get(place, 0) + 1
    return places


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:
    """Whom it misses, whom it must avoid, and who refuses it."""
    return (
        *_missing(pod, room, landscape),
        *_avoided(pod, room, landscape),
        *_refusing(pod, room, landscape),
    )


def _missing(pod: WorkloadPod, room: Room, landscape: Landscape) -> Iterable[Fact]:
    near = near_terms(pod)
    friends = _places(landscape, near, landscape.rooms.values(), every_term=True)
    if near and not friends and all(term.means(pod, landscape.namespaces) for term in near):
        friends = {(term.topology_key, room.labels.get(term.topology_key, "")): 1 for term in near}
    for term in near:
        key = term.topology_key
        if key not in room.labels:
            yield Fact(f"the node has no label {key}, which the pod's affinity needs", f"label the node with {key}")
        elif (key, room.labels[key]) not in friends:
            yield Fact(
                f"no pod that the affinity asks for is where {key}={room.labels[key]}",
                "place such a pod there first, or relax the affinity",
            )


def _avoided(pod: WorkloadPod, room: Room, landscape: Landscape) -> Iterable[Fact]:
    for term in far_terms(pod):
        for other, place in _neighbours(room, term.topology_key, landscape):
            if term.means(other, landscape.namespaces):
                name = other.metadata.key
                yield Fact(
                    f"its anti-affinity keeps it away from {name}, which is where {term.topology_key}={place}",
                    f"move {name} away, or relax the anti-affinity",
                    (Holder(name.namespace, name.name, other.priority, place),),
                )


def _refusing(pod: WorkloadPod, room: Room, landscape: Landscape) -> Iterable[Fact]:
    for elsewhere in landscape.hostile_rooms:
        for tenant in elsewhere.hostile.values():
            for term in tenant.refuses:
                key = term.topology_key
                place = room.labels.get(key)
                if place is None or elsewhere.labels.get(key) != place or not term.means(pod, landscape.namespaces):
                    continue
                name = tenant.pod.metadata.key
                yield Fact(
                    f"the anti-affinity of {name} keeps it away from where {key}={place}",
                    f"move {name} away, or relax its anti-affinity",
                    (Holder(name.namespace, name.name, tenant.pod.priority, place),),
                )


def _neighbours(room: Room, key: str, landscape: Landscape) -> Iterable[tuple[WorkloadPod, str]]:
    place = room.labels.get(key)
    if place is not None:
        for other in landscape.rooms.values():
            if other.labels.get(key) == place:
                for pod in other.pods:
                    yield pod, place


RULE = Rule(
    NAME,
    prepare,
    facts,
    helped_by=frozenset({Change.NODE_LABELS, Change.POD_PLACED, Change.POD_GONE, Change.POD_LABELS, Change.NAMESPACE}),
    spans_nodes=True,
)
