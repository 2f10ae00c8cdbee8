"""A pod needs room: a free place among the pods the node may run, and each resource it asks for."""

from __future__ import annotations

from functools import lru_cache

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Holder, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, WorkloadPod

NAME = "NodeResourcesFit"
TOO_MANY_PODS = Refusal(NAME, "Too many pods")


@lru_cache(maxsize=256)
def insufficient(resource: str, hopeless: bool) -> Refusal:
    """There is not enough of a resource; hopeless when there never is on that node."""
    return Refusal(NAME, f"Insufficient {resource}", hopeless)


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check; every pod needs at least a place."""
    wanted = tuple((name, value) for name, value in pod.requests.items() if value > 0 and _is_counted(name))

    def check(room: Room) -> Refusals:
        allocatable, requested = room.there.allocatable, room.requested
        short: Refusals = FITS
        if len(room.tenants) >= allocatable.get(PODS, 0):
            short = (TOO_MANY_PODS,)
        for name, value in wanted:
            whole = allocatable.get(name, 0)
            if value > whole - requested.get(name, 0):
                short += (insufficient(name, value > whole),)
        return short

    return check


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """What is short by how much, and who holds it, the easiest to displace first."""
    allocatable = room.there.allocatable
    found: list[Fact] = []
    places = allocatable.get(PODS, 0)
    if len(room.tenants) >= places:
        sentence = f"{len(room.tenants)} pods are there and the node runs at most {places}"
        found.append(Fact(sentence, "remove a pod from the node", _holders(room, PODS)))
    for name, value in pod.requests.items():
        whole = allocatable.get(name, 0)
        free = whole - room.requested.get(name, 0)
        if value <= 0 or value <= free or not _is_counted(name):
            continue
        asked, left, all_of_it = (spelled(name, each) for each in (value, max(free, 0), whole))
        if value > whole:
            sentence = f"{asked} of {name} is asked for and the node has {all_of_it} altogether"
            found.append(Fact(sentence, f"ask for less {name}, or use a larger node"))
        else:
            sentence = f"{asked} of {name} is asked for and {left} of {all_of_it} is free"
            found.append(Fact(sentence, _remedy(pod, name, holders := _holders(room, name)), holders))
    return tuple(found)


def _remedy(pod: WorkloadPod, resource: str, holders: tuple[Holder, ...]) -> str:
    """What gets a pod the room that others have; pods of a higher priority displace those of a lower."""
    rest = f"free {resource} on the node, or ask for less"
    if not holders or pod.priority > holders[0].priority:
        return rest
    return f"free {resource} on the node, ask for less, or give the pod a priority above {holders[0].priority}"


def _holders(room: Room, resource: str) -> tuple[Holder, ...]:
    """Who holds a resource: lowest priority first, then the largest share."""
    shares = [
        (tenant.pod.priority, -(1 if resource == PODS else tenant.requests.get(resource, 0)), tenant.pod.metadata.key)
        for tenant in room.tenants.values()
    ]
    return tuple(
        Holder(key.namespace, key.name, priority, "a place" if resource == PODS else spelled(resource, -share))
        for priority, share, key in sorted(shares)
        if share
    )


def spelled(resource: str, value: int) -> str:
    """An amount as people write it: `500m`, `1.5`, `256Mi`."""
    if resource == CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if value >= size:
            exact, rest = divmod(value, size)
            return f"{exact}{suffix}" if not rest else f"{value / size:.1f}{suffix}"
    return str(value)


def _is_counted(resource: str) -> bool:
    """Whether nodes keep account of it: what every node has, huge pages, attachable volumes and extended resources."""
    return (
        resource in (CPU, MEMORY, EPHEMERAL_STORAGE)
        or "/" in resource
        or resource.startswith(("hugepages-", "attachable-volumes-"))
    )


RULE = Rule(NAME, prepare, facts, helped_by=frozenset({Change.NODE_ROOM, Change.POD_GONE}))
