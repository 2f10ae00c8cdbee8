"""Is there room for a daemon pod on a node? Asked where no scheduler runs and we bind pods ourselves.

The rules are the scheduler's own: resources asked for against what is free, the number of pods, and ports of the node.
"""

from __future__ import annotations

from eachnode.decisions.scheduling import host_ports, room_for
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.objects.workload import WorkloadPod

_RULES = (room_for, host_ports)


def no_room(pod: WorkloadPod, node: str, landscape: Landscape) -> str:
    """Why the pod cannot be placed on the node; empty when it can."""
    room = landscape.rooms.get(node)
    if room is None:
        return "the node is not there"
    for rule in _RULES:
        check = rule.prepare(pod, landscape)
        refusals = check(room) if check is not None else ()
        if refusals:
            reasons = ", ".join(refusal.reason for refusal in refusals)
            return f"{reasons} ({'; '.join(fact.sentence for fact in rule.facts(pod, room, landscape))})"
    return ""
