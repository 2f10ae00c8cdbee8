"""Should this node run a pod of this template, and if not, why not?

A rule is a question put to a node; a refusal is an objection: a sentence. All objections are heard, not only the first,
so that an answer is complete. Nothing else of the node matters than its name, its labels and its taints: resources,
ports, conditions and preferences are the scheduler's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eachnode.objects.affinity import RequiredNodes
from eachnode.objects.daemonset import PodTemplate
from eachnode.objects.node import Node
from eachnode.objects.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    Toleration,
    untolerated,
)


@dataclass(frozen=True, slots=True)
class Objection:
    """One reason against a pod on a node."""

    because: str
    evicts: bool  # Whether a pod that is already here must leave too.
    remedy: str  # What would take the objection away.
    passes: bool = False  # It goes by itself when the node is ready again.


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one template says of one node."""

    objections: tuple[Objection, ...] = ()

    @property
    def should_run(self) -> bool:
        """Whether a pod is to be started here."""
        return not self.objections

    @property
    def should_stay(self) -> bool:
        """Whether a pod that is here may stay."""
        return not any(objection.evicts for objection in self.objections)

    @property
    def because(self) -> str:
        """All objections in one line; empty when there are none."""
        return "; ".join(objection.because for objection in self.objections)


WELCOME = Verdict()  # Most nodes get this one, so they share it.


@dataclass(frozen=True, slots=True)
class Placement:
    """The part of a template that decides where its pods go."""

    node_name: str
    required: RequiredNodes
    tolerations: tuple[Toleration, ...]  # Those that its pods will have.

    @classmethod
    def of(cls, template: PodTemplate) -> Placement:
        """The placement part of a template."""
        spec = template.spec
        affinity = spec.affinity.node_affinity if spec.affinity else None
        return cls(
            spec.node_name,
            RequiredNodes.of(spec.node_selector, affinity),
            with_daemon_tolerations(spec.tolerations or (), host_network=spec.host_network),
        )


def judge(placement: Placement, node: Node) -> Verdict:
    """What the template says of the node, with every objection."""
    objections = tuple(objection for question in _QUESTIONS for objection in question(placement, node))
    return Verdict(objections) if objections else WELCOME


def _names_another_node(placement: Placement, node: Node) -> Iterator[Objection]:
    if placement.node_name and placement.node_name != node.name:
        yield Objection(
            f"the pod template asks for node {placement.node_name}",
            evicts=True,
            remedy="remove spec.nodeName from the pod template",
        )


def _lacks_selected_labels(placement: Placement, node: Node) -> Iterator[Objection]:
    for key, value in placement.required.labels:
        actual = node.labels.get(key)
        if actual != value:
            has = f"it is {actual or 'empty'}" if actual is not None else "the node has no such label"
            yield Objection(
                f"node didn't match Pod's node affinity/selector: nodeSelector wants {key}={value}, but {has}",
                evicts=True,
                remedy=f"label the node {key}={value}, or change nodeSelector in the pod template",
            )


def _fails_required_affinity(placement: Placement, node: Node) -> Iterator[Objection]:
    if not placement.required.affinity_holds(node.name, node.labels):
        yield Objection(
            "node didn't match Pod's node affinity/selector: "
            f"no required term holds: {placement.required.explain(node.name, node.labels)}",
            evicts=True,
            remedy="change the node's labels so that one term holds, or the node affinity in the pod template",
        )


def _has_untolerated_taints(placement: Placement, node: Node) -> Iterator[Objection]:
    for taint in untolerated(node.taints, placement.tolerations):
        if taint.repels:
            passes = taint.key in _TAINTS_OF_TROUBLE
            otherwise = "make the node ready, and the taint goes" if passes else "remove the taint from the node"
            yield Objection(
                f"taint {taint} is not tolerated",
                evicts=taint.expels,
                remedy=f"add a toleration of {taint} to the pod template, or {otherwise}",
                passes=passes,
            )


_TAINTS_OF_TROUBLE = (NOT_READY, UNREACHABLE, NETWORK_UNAVAILABLE)  # Put there, and taken off, by who watches nodes.


_QUESTIONS = (_names_another_node, _lacks_selected_labels, _fails_required_affinity, _has_untolerated_taints)


def _tolerates_always(key: str, effect: str) -> Toleration:
    return Toleration(key=key, operator="Exists", effect=effect)


_DAEMON_TOLERATIONS = (
    _tolerates_always(NOT_READY, NO_EXECUTE),
    _tolerates_always(UNREACHABLE, NO_EXECUTE),
    _tolerates_always(DISK_PRESSURE, NO_SCHEDULE),
    _tolerates_always(MEMORY_PRESSURE, NO_SCHEDULE),
    _tolerates_always(PID_PRESSURE, NO_SCHEDULE),
    _tolerates_always(UNSCHEDULABLE, NO_SCHEDULE),
)
_ON_THE_HOST_NETWORK = _tolerates_always(NETWORK_UNAVAILABLE, NO_SCHEDULE)


def with_daemon_tolerations(tolerations: tuple[Toleration, ...], *, host_network: bool) -> tuple[Toleration, ...]:
    """A template's tolerations and those that every daemon pod gets; one that says the same is replaced in place."""
    result = list(tolerations)
    for added in (*_DAEMON_TOLERATIONS, *((_ON_THE_HOST_NETWORK,) if host_network else ())):
        same = [index for index, present in enumerate(result) if _says_the_same(present, added)]
        for index in same:
            result[index] = added
        if not same:
            result.append(added)
    return tuple(result)


def _says_the_same(one: Toleration, other: Toleration) -> bool:
    return (one.key, one.effect, one.operator, one.value) == (other.key, other.effect, other.operator, other.value)
