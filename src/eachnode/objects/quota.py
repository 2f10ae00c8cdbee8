"""How much of a quota a namespace uses up, and whether something new still fits.

A quota limits resources by name: `pods`, `requests.cpu`, `count/configmaps`, `requests.example.com/gpu`. Scopes narrow
down which pods it counts. Pods that have ended count as objects only. Admission asks before something is created, and
the loop that keeps the status of quotas asks the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from eachnode.objects.meta import Metadata
from eachnode.objects.quantities import Family, nano, parse, spelled
from eachnode.objects.workload import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES_PREFIX,
    MEMORY,
    Container,
    PodAffinityTerm,
    ResourceNeeds,
    WorkloadPod,
    effective_limits,
    effective_requests,
)

POD_KIND = "pods"
SERVICE_KIND = "services"
_COMPUTE = (CPU, MEMORY, EPHEMERAL_STORAGE)
_REQUESTS = "requests."
_LIMITS = "limits."
# What a quota on them obliges every container to say.
_OBLIGATORY = frozenset((CPU, MEMORY, "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_POD_NAMES = frozenset(("pods", "count/pods", *_COMPUTE, *(f"{p}{n}" for p in (_REQUESTS, _LIMITS) for n in _COMPUTE)))
_SERVICE_NAMES = frozenset(("services", "count/services", "services.nodeports", "services.loadbalancers"))
# Kinds that may be counted by their bare name too.
_BARE_NAMES = frozenset(("configmaps", "secrets", "resourcequotas", "replicationcontrollers", "persistentvolumeclaims"))


class Amount(NamedTuple):
    """A quantity that is reckoned with: billionths, and how it is written."""

    billionths: int
    family: Family = Family.DECIMAL

    def __str__(self) -> str:
        return spelled(self.billionths, self.family)

    def plus(self, other: Amount) -> Amount:
        """The sum, written as the first of the two that is not zero."""
        return Amount(self.billionths + other.billionths, self.family if self.billionths else other.family)


ZERO = Amount(0)
ONE = Amount(1_000_000_000)
Usage = Mapping[str, Amount]


def amount_of(text: str | int | float) -> Amount:
    """A quantity as it stands in an object."""
    return Amount(nano(text), parse(str(text)).family)


class ScopeRequirement(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One thing that must be true of the pods a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class ScopeSelector(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """All of them."""

    match_expressions: tuple[ScopeRequirement, ...] | None = None


class QuotaSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a quota limits, and which pods it counts."""

    hard: dict[str, str | int | float] | None = None
    scopes: tuple[str, ...] | None = None
    scope_selector: ScopeSelector | None = None


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """A ResourceQuota."""

    metadata: Metadata
    spec: QuotaSpec = QuotaSpec()

    @property
    def limits(self) -> dict[str, Amount]:
        """The most there may be of each resource."""
        return {name: amount_of(text) for name, text in sorted((self.spec.hard or {}).items())}

    @property
    def requirements(self) -> tuple[ScopeRequirement, ...]:
        """Its scopes in both of their forms."""
        plain = tuple(ScopeRequirement(scope, "Exists") for scope in self.spec.scopes or ())
        selector = self.spec.scope_selector
        return plain + (selector.match_expressions or () if selector else ())

    def names_for(self, qualified: str) -> tuple[str, ...]:
        """Those of its resources that objects of a kind (`pods`, `daemonsets.apps`) use up, in order."""
        return tuple(name for name in sorted(self.spec.hard or ()) if _concerns(name, qualified))

    def counts_pod(self, pod: WorkloadPod) -> bool:
        """Whether its scopes mean this pod."""
        return all(_in_scope(requirement, pod) for requirement in self.requirements)

    def counts_others(self) -> bool:
        """Whether it counts anything but pods: scopes know pods only."""
        return not self.requirements


class CountedPort(msgspec.Struct, frozen=True, gc=False):
    """A port of a service, of which only matters that it is there."""


class CountedService(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a service's spec that quotas count."""

    type: str = "ClusterIP"
    ports: tuple[CountedPort, ...] | None = None
    allocate_load_balancer_node_ports: bool | None = None


class ServiceView(msgspec.Struct, frozen=True, kw_only=True):
    """A service, as quotas see it."""

    metadata: Metadata
    spec: CountedService = CountedService()


def pod_usage(pod: WorkloadPod) -> dict[str, Amount]:
    """What one pod uses up."""
    if pod.is_over:
        return {"count/pods": ONE}
    used = {"pods": ONE, "count/pods": ONE}
    for name, size in effective_requests(pod).items():
        amount = Amount(size * _unit(name), _family(pod, name))
        if name in _COMPUTE or name.startswith(HUGE_PAGES_PREFIX):
            used[name] = amount
        used[f"{_REQUESTS}{name}"] = amount
    for name, size in effective_limits(pod).items():
        if name in _COMPUTE:
            used[f"{_LIMITS}{name}"] = Amount(size * _unit(name), _family(pod, name))
    return used


def service_usage(service: ServiceView) -> dict[str, Amount]:
    """What one service uses up."""
    spec = service.spec
    used = {"services": ONE, "count/services": ONE}
    ports = Amount(len(spec.ports or ()) * ONE.billionths)
    if spec.type == "NodePort":
        used["services.nodeports"] = ports
    elif spec.type == "LoadBalancer":
        used["services.loadbalancers"] = ONE
        if spec.allocate_load_balancer_node_ports is not False:
            used["services.nodeports"] = ports
    return used


def object_usage(qualified: str) -> dict[str, Amount]:
    """What one object of any other kind uses up."""
    used = {f"count/{qualified}": ONE}
    if qualified in _BARE_NAMES:
        used[qualified] = ONE
    return used


def add_up(usages: Iterable[Usage]) -> dict[str, Amount]:
    """What several objects use up together."""
    total: dict[str, Amount] = {}
    for usage in usages:
        for name, amount in usage.items():
            known = total.get(name)
            total[name] = amount if known is None else known.plus(amount)
    return total


def unsaid(quota: Quota, pod: WorkloadPod) -> str:
    """What the quota obliges the pod's containers to say and they do not; empty when all is said."""
    if _says_for_the_whole(pod.spec.resources):
        return ""
    obligatory = sorted(_OBLIGATORY.intersection(quota.spec.hard or ()))
    silent: dict[str, set[str]] = {}
    for container in (*pod.spec.containers, *(pod.spec.init_containers or ())):
        for name in obligatory:
            if not _says(container, name):
                silent.setdefault(name, set()).add(container.name)
    return "; ".join(f"{name} for: {','.join(sorted(silent[name]))}" for name in obligatory if name in silent)


def overrun(quota: Quota, used: Usage, requested: Usage) -> str:
    """The sentence that says by what the quota would be exceeded; empty when everything fits."""
    limits = quota.limits
    wanted = {name: requested[name] for name in limits if requested.get(name, ZERO).billionths}
    exceeded = [
        name
        for name, amount in wanted.items()
        if used.get(name, ZERO).billionths + amount.billionths > limits[name].billionths
    ]
    if not exceeded:
        return ""
    return (
        f"exceeded quota: {quota.metadata.name}, requested: {_listed(wanted, exceeded)}, "
        f"used: {_listed(used, exceeded)}, limited: {_listed(limits, exceeded)}"
    )


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a namespace holds, as far as its quotas limit it."""

    pods: Sequence[WorkloadPod] = ()
    services: Sequence[ServiceView] = ()
    counts: Mapping[str, int] = field(default_factory=dict)  # Of every other kind by its qualified plural.


def quota_status(quota: Quota, held: Holdings) -> dict[str, dict[str, str]]:
    """The status that a quota should have."""
    used = add_up(pod_usage(pod) for pod in held.pods if quota.counts_pod(pod))
    if quota.counts_others():
        used |= add_up(map(service_usage, held.services))
        for qualified, number in held.counts.items():
            names = object_usage(qualified)
            used |= {name: Amount(number * one.billionths) for name, one in names.items()}
    limits = quota.limits
    if not limits:
        return {}
    return {
        "hard": {name: str(limit) for name, limit in limits.items()},
        "used": {name: str(used.get(name, ZERO)) for name in limits},
    }


def counted_kinds(quota: Quota) -> frozenset[str]:
    """The qualified plurals of the kinds, other than pods and services, that a quota counts."""
    names = quota.spec.hard or {}
    counted = {name.removeprefix("count/") for name in names if name.startswith("count/")}
    return frozenset((counted | _BARE_NAMES.intersection(names)) - {POD_KIND, SERVICE_KIND})


def _concerns(name: str, qualified: str) -> bool:
    if qualified == POD_KIND:
        device = name.startswith(_REQUESTS) and "/" in name
        return name in _POD_NAMES or device or name.removeprefix(_REQUESTS).startswith(HUGE_PAGES_PREFIX)
    if qualified == SERVICE_KIND:
        return name in _SERVICE_NAMES
    return name == f"count/{qualified}" or (name == qualified and qualified in _BARE_NAMES)


def _listed(amounts: Usage, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, ZERO)}" for name in sorted(names))


def _unit(name: str) -> int:
    """Billionths in one of the units that pods are reckoned in."""
    return 1_000_000 if name == CPU else 1_000_000_000


def _family(pod: WorkloadPod, name: str) -> Family:
    """How the pod writes its amounts of a resource."""
    for container in (*pod.spec.containers, *(pod.spec.init_containers or ())):
        needs = container.resources
        for part in (needs.requests, needs.limits) if needs else ():
            if part and name in part:
                return parse(str(part[name])).family
    return Family.DECIMAL


def _says(container: Container, name: str) -> bool:
    needs = container.resources
    if needs is None:
        return False
    bare = name.removeprefix(_REQUESTS).removeprefix(_LIMITS)
    return bare in ((needs.limits if name.startswith(_LIMITS) else needs.requests) or {})


def _says_for_the_whole(needs: ResourceNeeds | None) -> bool:
    """Whether the pod as a whole asks for cpu, memory or huge pages; then its containers need not."""
    if needs is None:
        return False
    named = {*(needs.requests or ()), *(needs.limits or ())}
    return any(name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX) for name in named)


def _in_scope(requirement: ScopeRequirement, pod: WorkloadPod) -> bool:
    deadline = pod.spec.active_deadline_seconds
    match requirement.scope_name:
        case "Terminating":
            return deadline is not None and deadline >= 0
        case "NotTerminating":
            return deadline is None or deadline < 0
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _has_class(requirement, pod.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in _affinity_terms(pod))
    return False


def _has_class(requirement: ScopeRequirement, name: str) -> bool:
    match requirement.operator:
        case "In":
            return bool(name) and name in (requirement.values or ())
        case "NotIn":
            return name not in (requirement.values or ())
        case "DoesNotExist":
            return not name
    return bool(name)


def _is_best_effort(pod: WorkloadPod) -> bool:
    """Whether nothing in the pod asks for cpu or memory."""
    parts = [container.resources for container in (*pod.spec.containers, *(pod.spec.init_containers or ()))]
    return not any(
        nano(amount)
        for needs in (*parts, pod.spec.resources)
        if needs is not None
        for amounts in (needs.requests, needs.limits)
        for name, amount in (amounts or {}).items()
        if name in (CPU, MEMORY)
    )


def _affinity_terms(pod: WorkloadPod) -> Iterable[PodAffinityTerm]:
    affinity = pod.spec.affinity
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if part is not None:
            yield from part.required or ()
            yield from (weighted.pod_affinity_term for weighted in part.preferred or ())
