"""A port of the node itself can be had by one pod at a time."""

from __future__ import annotations

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Holder, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import HostPort, WorkloadPod

NAME = "NodePorts"
TAKEN = Refusal(NAME, "node(s) didn't have free ports for the requested pod ports")


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check, for a pod that wants ports of its node."""
    wanted = pod.host_ports
    if not wanted:
        return None

    def check(room: Room) -> Refusals:
        for port in wanted:
            if room.port_holder(port) is not None:
                return (TAKEN,)
        return FITS

    return check


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """Each port that is taken, and by whom."""
    return tuple(
        _fact(port, room.tenants[uid].pod) for port in pod.host_ports if (uid := room.port_holder(port)) is not None
    )


def _fact(port: HostPort, by: WorkloadPod) -> Fact:
    text = f"{port.address or '*'}:{port.port}/{port.protocol}"
    holder = Holder(by.metadata.namespace, by.metadata.name, by.priority, f"host port {text}")
    return Fact(
        f"host port {text} is taken by {by.metadata.key}",
        f"move {by.metadata.key} away, or choose another host port",
        (holder,),
    )


RULE = Rule(NAME, prepare, facts, helped_by=frozenset({Change.POD_GONE}))
