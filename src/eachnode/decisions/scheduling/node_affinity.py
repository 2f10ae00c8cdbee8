"""A pod may say which nodes it wants, by their labels or by name.

A pod that names its nodes is judged on those only, however many others there are: the others are refused all at once.
"""

from __future__ import annotations

from eachnode.decisions.scheduling.landscape import HOSTNAME, Landscape
from eachnode.decisions.scheduling.refusals import FITS, Change, Check, Fact, Refusal, Refusals, Rule
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.affinity import NODE_NAME_FIELD, NodeSelectorTerm
from eachnode.objects.workload import WorkloadPod

NAME = "NodeAffinity"
NOT_WANTED = Refusal(NAME, "node(s) didn't match Pod's node affinity/selector", hopeless=True)
NOT_NAMED = Refusal(NAME, "node(s) didn't satisfy plugin(s) [NodeAffinity]", hopeless=True)
CONTRADICTION = Refusal(NAME, "pod affinity terms conflict", hopeless=True)


def prepare(pod: WorkloadPod, landscape: Landscape) -> Check | None:  # noqa: ARG001 every rule is asked alike
    """The check, for a pod that says which nodes it wants."""
    wanted = pod.required_nodes
    if not wanted.labels and wanted.terms is None:
        return None

    def check(room: Room) -> Refusals:
        return FITS if wanted.match(room.name, room.labels) else (NOT_WANTED,)

    return check


def named_nodes(pod: WorkloadPod) -> tuple[str, ...] | None:
    """The only nodes the pod may go to, when each alternative of its affinity names them; None when any may do."""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    terms = required.node_selector_terms if required else None
    if not terms:
        return None
    found: dict[str, None] = {}
    for term in terms:
        names = _named_by(term)
        if names is None:
            return None
        found.update(names)
    return tuple(sorted(found))


def _named_by(term: NodeSelectorTerm) -> dict[str, None] | None:
    """The names that satisfy all of a term's requirements to be one of several names; None when it has none such."""
    names: dict[str, None] | None = None
    for requirement in term.match_fields or ():
        if requirement.key == NODE_NAME_FIELD and requirement.operator == "In":
            these = dict.fromkeys(requirement.values or ())
            names = these if names is None else {name: None for name in names if name in these}
    return names


def likely_nodes(pod: WorkloadPod, landscape: Landscape) -> tuple[str, ...] | None:
    """The only nodes that can do because of their hostname label, when the pod asks for one."""
    hostname = (pod.spec.node_selector or {}).get(HOSTNAME)
    return None if hostname is None else landscape.with_hostname(hostname)


def facts(pod: WorkloadPod, room: Room, landscape: Landscape) -> tuple[Fact, ...]:  # noqa: ARG001 every rule is asked alike
    """Each label that the selector misses, and why no alternative of the affinity holds."""
    wanted, labels = pod.required_nodes, room.labels
    found: list[Fact] = []
    for key, value in wanted.labels:
        if labels.get(key) != value:
            has = f"{key} is {labels[key] or 'empty'}" if key in labels else f"the node has no label {key}"
            found.append(Fact(f"the node selector wants {key}={value}, and {has}", f"label the node {key}={value}"))
    if not wanted.affinity_holds(room.name, labels):
        why = wanted.explain(room.name, labels)
        found.append(
            Fact(f"the required node affinity does not hold: {why}", "change the affinity or the node's labels")
        )
    return tuple(found)


RULE = Rule(NAME, prepare, facts, helped_by=frozenset({Change.NODE_LABELS}))
