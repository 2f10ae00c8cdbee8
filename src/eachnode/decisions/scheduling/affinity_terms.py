"""The terms in which pods say whom they want near, and whom far."""

from __future__ import annotations

from collections.abc import Mapping

from eachnode.objects.workload import PodAffinityTerm, WorkloadPod

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name

NO_LABELS: Mapping[str, str] = {}


class Term:
    """A term of one pod, ready to be asked of others."""

    __slots__ = ("_labels", "_named", "_namespaces", "topology_key")

    def __init__(self, owner: WorkloadPod, term: PodAffinityTerm) -> None:
        self.topology_key = term.topology_key
        self._labels = term.label_selector
        self._namespaces = term.namespace_selector
        alone = not term.namespaces and term.namespace_selector is None
        self._named = frozenset({owner.metadata.namespace} if alone else term.namespaces or ())

    def means(self, pod: WorkloadPod, namespaces: Namespaces) -> bool:
        """Whether that pod is one of those the term is about."""
        if self._labels is None:
            return False
        namespace = pod.metadata.namespace
        if namespace not in self._named and (
            self._namespaces is None or not self._namespaces.matches(namespaces.get(namespace, NO_LABELS))
        ):
            return False
        return self._labels.matches(pod.metadata.labels or NO_LABELS)


def near_terms(pod: WorkloadPod) -> tuple[Term, ...]:
    """Whom the pod must be near."""
    affinity = pod.spec.affinity
    wanted = affinity.pod_affinity.required if affinity and affinity.pod_affinity else None
    return tuple(Term(pod, term) for term in wanted or ())


def far_terms(pod: WorkloadPod) -> tuple[Term, ...]:
    """Whom the pod must be far from."""
    affinity = pod.spec.affinity
    wanted = affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else None
    return tuple(Term(pod, term) for term in wanted or ())


def wished_terms(pod: WorkloadPod) -> tuple[tuple[Term, int], ...]:
    """Whom the pod would like near, each with its weight; a negative one means far."""
    affinity = pod.spec.affinity
    if affinity is None:
        return ()
    return tuple(
        (Term(pod, each.pod_affinity_term), sign * each.weight)
        for kind, sign in ((affinity.pod_affinity, 1), (affinity.pod_anti_affinity, -1))
        for each in (kind.preferred if kind else None) or ()
    )
