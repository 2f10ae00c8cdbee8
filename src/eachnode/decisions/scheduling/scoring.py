"""Of the nodes that would do, which is best: the wishes of the pod, and evenness.

Each wish gives every node a number, brought to 0..100 over the nodes in question, and counts with kube-scheduler's
weight. Ties go to the node with fewer pods, then to the one that comes first by name, so that the same world always
gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from eachnode.decisions.scheduling.affinity_terms import wished_terms
from eachnode.decisions.scheduling.landscape import HOSTNAME, ZONE, Landscape
from eachnode.decisions.scheduling.rooms import Room, stated_or_assumed
from eachnode.decisions.scheduling.topology_spread import count_on, spreads
from eachnode.objects.taints import PREFER_NO_SCHEDULE, untolerated
from eachnode.objects.workload import CPU, MEMORY, WorkloadPod

FULL = 100.0
Scores = list[float]
Wish = Callable[[WorkloadPod, Sequence[Room], Landscape], Scores | None]


def best(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Room:
    """The best of at least one room."""
    if len(rooms) == 1:
        return rooms[0]
    totals = [0.0] * len(rooms)
    for wish, weight in WISHES:
        scores = wish(pod, rooms, landscape)
        if scores is not None:
            for place, score in enumerate(scores):
                totals[place] += weight * score
    place = min(
        range(len(rooms)), key=lambda place: (-round(totals[place], 6), len(rooms[place].tenants), rooms[place].name)
    )
    return rooms[place]


def least_taken(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:  # noqa: ARG001 every wish is asked alike
    """The larger the free share of cpu and memory, the better."""
    cpu, memory = stated_or_assumed(pod)
    return [(_free_share(room, CPU, cpu) + _free_share(room, MEMORY, memory)) / 2 * FULL for room in rooms]


def _free_share(room: Room, resource: str, more: int) -> float:
    whole = room.there.allocatable.get(resource, 0)
    busy = room.busy_cpu if resource == CPU else room.busy_memory
    return max(0.0, (whole - busy - more) / whole) if whole else 0.0


def balanced(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:  # noqa: ARG001 every wish is asked alike
    """The better the pod evens out how much of the cpu and of the memory is taken, the better."""
    cpu, memory = pod.requests.get(CPU, 0), pod.requests.get(MEMORY, 0)
    if not cpu and not memory:
        return None
    return [FULL * 0.75 + (_unevenness(room, 0, 0) - _unevenness(room, cpu, memory)) * FULL / 2 for room in rooms]


def _unevenness(room: Room, cpu: int, memory: int) -> float:
    shares = []
    for resource, more in ((CPU, cpu), (MEMORY, memory)):
        whole = room.there.allocatable.get(resource, 0)
        if whole:
            shares.append(min(1.0, (room.requested.get(resource, 0) + more) / whole))
    return abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0


def few_discouraging_taints(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:  # noqa: ARG001 every wish is asked alike
    """The fewer PreferNoSchedule taints the pod does not tolerate, the better."""
    tolerations = [each for each in pod.spec.tolerations or () if each.effect in ("", PREFER_NO_SCHEDULE)]
    counts = [
        sum(taint.effect == PREFER_NO_SCHEDULE for taint in untolerated(room.there.spec.taints or (), tolerations))
        for room in rooms
    ]
    most = max(counts)
    return [FULL - FULL * count / most for count in counts] if most else None


def preferred_nodes(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:  # noqa: ARG001 every wish is asked alike
    """The more of the preferred node affinity holds, the better."""
    affinity = pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity and affinity.node_affinity else None
    # A preference without requirements goes for every node, so it decides nothing.
    terms = [(each.weight, each.preference) for each in preferred or () if not each.preference.problem]
    if not terms:
        return None
    sums = [
        sum(weight for weight, term in terms if next(term.unmet(room.name, room.labels), None) is None)
        for room in rooms
    ]
    most = max(sums)
    return [FULL * value / most for value in sums] if most else None


def wished_spread(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:
    """The fewer pods of the pod's spread constraints, or of its owner, are near, the better."""
    if pod.spec.topology_spread_constraints:
        return _constrained_spread(pod, rooms, landscape)
    owner = pod.metadata.controller
    if owner is None:
        return None
    # Like the reference's default for pods of one owner: over nodes closely, over zones more loosely.
    zones: dict[str, int] = {}
    for room in landscape.rooms.values():
        zone = room.labels.get(ZONE, "")
        zones[zone] = zones.get(zone, 0) + room.owners.get(owner.uid, 0)
    by_node, by_zone = log(len(rooms) + 2), log(len(zones) + 2)
    return _fewest_best(
        [room.owners.get(owner.uid, 0) * by_node + zones[room.labels.get(ZONE, "")] * by_zone for room in rooms]
    )


def _constrained_spread(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:
    wished = spreads(pod, landscape, "ScheduleAnyway")
    if not wished:
        return None
    counts = [0.0] * len(rooms)
    for spread in wished:
        key = spread.constraint.topology_key
        weight = log((len(rooms) if key == HOSTNAME else len(spread.counts)) + 2)
        for place, room in enumerate(rooms):
            value = room.labels.get(key)
            if value is None:
                continue
            here = (
                count_on(room, spread.selector, pod.metadata.namespace)
                if key == HOSTNAME
                else spread.counts.get(value, 0)
            )
            counts[place] += here * weight + spread.constraint.max_skew - 1
    lost = max(counts)  # A node without a place in every constraint is no better than the worst.
    keys = [spread.constraint.topology_key for spread in wished]
    return _fewest_best(
        [count if all(key in room.labels for key in keys) else lost for room, count in zip(rooms, counts, strict=True)]
    )


def _fewest_best(counts: Sequence[float]) -> Scores | None:
    most, least = max(counts), min(counts)
    return [FULL * (most + least - count) / most for count in counts] if most else None


def wished_neighbours(pod: WorkloadPod, rooms: Sequence[Room], landscape: Landscape) -> Scores | None:
    """The more pods that the preferred pod affinity means are near (and the fewer it wants far), the better."""
    terms = wished_terms(pod)
    if not terms:
        return None
    places: dict[tuple[str, str], float] = {}
    for room in landscape.rooms.values():
        labels = room.labels
        for other in room.pods:
            for term, weight in terms:
                value = labels.get(term.topology_key)
                if value is not None and term.means(other, landscape.namespaces):
                    place = (term.topology_key, value)
                    places[place] = places.get(place, 0.0) + weight
    keys = sorted({term.topology_key for term, _ in terms})
    sums = [sum(places.get((key, room.labels.get(key, "")), 0.0) for key in keys) for room in rooms]
    least, most = min(sums), max(sums)
    return [FULL * (value - least) / (most - least) for value in sums] if most > least else None


WISHES: tuple[tuple[Wish, int], ...] = (
    (few_discouraging_taints, 3),
    (preferred_nodes, 2),
    (wished_spread, 2),
    (wished_neighbours, 2),
    (least_taken, 1),
    (balanced, 1),
)
