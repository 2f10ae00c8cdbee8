"""A pod that names its node goes there or nowhere."""

from __future__ import annotations

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Check, Fact, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import WorkloadPod

NAME = "NodeName"
OTHER_NODE = Refusal(NAME, "node(s) didn't match the requested node name", hopeless=True)


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check, for a pod that names a node."""
    wanted = pod.spec.node_name
    if not wanted:
        return None

    def check(room: Room) -> Refusals:
        return FITS if room.name == wanted else (OTHER_NODE,)

    return check


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """Which node it names instead."""
    return (Fact(f"the pod names the node {pod.spec.node_name}, not {room.name}"),)


RULE = Rule(NAME, prepare, facts, helped_by=frozenset())
