"""A pod does not start on a node with a taint that it does not tolerate, nor on a cordoned one."""

from __future__ import annotations

from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.taints import NO_SCHEDULE, UNSCHEDULABLE, Taint, untolerated
from eachnode.objects.workload import WorkloadNode, WorkloadPod

TAINTS = "TaintToleration"
CORDON = "NodeUnschedulable"
TAINTED = Refusal(TAINTS, "node(s) had untolerated taint(s)", hopeless=True)
CORDONED = Refusal(CORDON, "node(s) were unschedulable", hopeless=True)

# Who tolerates this taint may go to a cordoned node, whether or not the taint is on it already.
_CORDON_TAINT = Taint(key=UNSCHEDULABLE, effect=NO_SCHEDULE)


def first_untolerated(pod: WorkloadPod, node: WorkloadNode) -> Taint | None:
    """The first taint of the node that keeps the pod from starting there."""
    taints = node.spec.taints
    if not taints:
        return None
    return next(untolerated((taint for taint in taints if taint.repels), pod.spec.tolerations or ()), None)


def prepare_taints(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check of taints, which concerns every pod."""

    def check(room: Room) -> Refusals:
        return FITS if first_untolerated(pod, room.there) is None else (TAINTED,)

    return check


def prepare_cordon(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check of cordons, for a pod that does not put up with them."""
    if any(toleration.tolerates(_CORDON_TAINT) for toleration in pod.spec.tolerations or ()):
        return None

    def check(room: Room) -> Refusals:
        return (CORDONED,) if room.there.spec.unschedulable else FITS

    return check


def taint_facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """Each taint that is not tolerated, with the toleration that would help."""
    repelling = (taint for taint in room.there.spec.taints or () if taint.repels)
    return tuple(
        Fact(f"taint {taint} is not tolerated", f"add {_toleration_of(taint)}, or take the taint off the node")
        for taint in untolerated(repelling, pod.spec.tolerations or ())
    )


def _toleration_of(taint: Taint) -> str:
    match = f"value: {taint.value}" if taint.value else "operator: Exists"
    return f"the toleration {{key: {taint.key}, {match}, effect: {taint.effect}}}"


def cordon_facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """That the node is cordoned."""
    return (Fact("the node is cordoned (spec.unschedulable)", f"kubectl uncordon {room.name}"),)


TAINT_RULE = Rule(TAINTS, prepare_taints, taint_facts, helped_by=frozenset({Change.NODE_TAINTS}))
CORDON_RULE = Rule(CORDON, prepare_cordon, cordon_facts, helped_by=frozenset({Change.NODE_CORDON}))
