"""Pods and nodes as scheduling, quota and the kubelet see them: what a pod asks for, and what a node has to give.

What a pod asks for is not a sum. Init containers run one after another before the others, so of each resource the pod
needs the larger of what its containers want together and what the neediest moment of starting up wants. A sidecar (an
init container that is always restarted) stays: it counts beside the containers and beside every init container after
it. Requests set on the pod as a whole replace the aggregate for the resources they name, and the overhead of the
runtime comes on top of all of it. Amounts are whole numbers: thousandths for cpu, units for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec

from eachnode.objects.affinity import NodeAffinity, RequiredNodes
from eachnode.objects.meta import Metadata
from eachnode.objects.quantities import milli, whole
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.taints import Taint, Toleration

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
HUGE_PAGES_PREFIX = "hugepages-"

DEFAULT_SCHEDULER = "default-scheduler"

Quantities = dict[str, str | int | float]
Amounts = Mapping[str, int]


class ResourceNeeds(msgspec.Struct, frozen=True, gc=False):
    """`resources` of a container or a pod, as written."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class ContainerPort(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A port that a container listens on, and the node's port it takes, if any."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"
    name: str = ""


class Container(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a container that takes room on a node."""

    name: str = ""
    image: str = ""
    resources: ResourceNeeds | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None

    @property
    def is_sidecar(self) -> bool:
        """Whether it, being an init container, keeps running beside the others."""
        return self.restart_policy == "Always"


class PodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Nearness to pods: which pods, and what counts as near."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Nearness that is wished for."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(msgspec.Struct, frozen=True, gc=False):
    """`podAffinity` or `podAntiAffinity`."""

    required: tuple[PodAffinityTerm, ...] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How evenly pods are to be spread over the values of a node label."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] | None = None


class SchedulingGate(msgspec.Struct, frozen=True, gc=False):
    """A reason given by somebody else not to schedule the pod yet."""

    name: str


class WorkloadPodSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """What the pod wants."""

    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    scheduling_gates: tuple[SchedulingGate, ...] | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    resources: ResourceNeeds | None = None
    overhead: Quantities | None = None
    host_network: bool = False
    restart_policy: str = "Always"
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None

    def __post_init__(self) -> None:
        # Thousands of pods of a few kinds are kept, and a kind's tolerations are alike: one copy of them will do.
        if self.tolerations:
            msgspec.structs.force_setattr(self, "tolerations", _one_copy(self.tolerations))


@lru_cache(maxsize=1024)
def _one_copy(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    return tolerations


class PodCondition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One thing that is so, or is not, with its reason."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class WorkloadPodStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """How far the pod has come."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] | None = None


class HostPort(NamedTuple):
    """A port of the node itself; the address is empty for all of them."""

    address: str
    protocol: str
    port: int

    def clashes(self, other: HostPort) -> bool:
        """Whether both cannot be had on one node."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or not self.address or not other.address)
        )


class WorkloadPod(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A pod; what is derived from its containers is worked out once and kept with it."""

    metadata: Metadata
    spec: WorkloadPodSpec = WorkloadPodSpec()
    status: WorkloadPodStatus = WorkloadPodStatus()

    @property
    def priority(self) -> int:
        """Whose turn it is: the higher goes first."""
        return self.spec.priority or 0

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good, and holds nothing any more."""
        return self.status.phase in ("Succeeded", "Failed")

    def condition(self, kind: str) -> PodCondition | None:
        """Its condition of that type."""
        return next((each for each in self.status.conditions or () if each.type == kind), None)

    @cached_property
    def requests(self) -> Amounts:
        """What a node must have free for it."""
        return effective_requests(self)

    @cached_property
    def required_nodes(self) -> RequiredNodes:
        """Which nodes its selector and its required affinity allow."""
        affinity = self.spec.affinity
        return RequiredNodes.of(self.spec.node_selector, affinity.node_affinity if affinity else None)

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """The node's ports it takes for as long as it runs."""
        return host_ports(self)


class DisruptedPods(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """How many more of a budget's pods may be disrupted, and which disruptions are under way."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] | None = None


class DisruptionBudgetSpec(msgspec.Struct, frozen=True, gc=False):
    """Whose disruptions a budget counts."""

    selector: LabelSelector | None = None


class DisruptionBudget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PodDisruptionBudget, as whoever disrupts pods reads it."""

    metadata: Metadata
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptedPods = DisruptedPods()

    def counts(self, pod: WorkloadPod) -> bool:
        """Whether disrupting the pod uses the budget up; an empty selector means nobody."""
        selector, labels = self.spec.selector, pod.metadata.labels
        return (
            self.metadata.namespace == pod.metadata.namespace
            and bool(labels)
            and selector is not None
            and not selector.empty
            and selector.matches(labels or {})
            and pod.metadata.name not in (self.status.disrupted_pods or {})
        )


class WorkloadNodeSpec(msgspec.Struct, frozen=True, gc=False):
    """What the cluster wants of the node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class WorkloadNodeStatus(msgspec.Struct, frozen=True, gc=False):
    """What the node says of itself."""

    allocatable: Quantities | None = None


class WorkloadNode(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A node and the room it has."""

    metadata: Metadata
    spec: WorkloadNodeSpec = WorkloadNodeSpec()
    status: WorkloadNodeStatus = WorkloadNodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @cached_property
    def allocatable(self) -> Amounts:
        """What pods may use of it altogether."""
        return amounts(self.status.allocatable)


def amount(resource: str, quantity: str | int | float) -> int:
    """A quantity of a resource as a whole number, rounded up."""
    return milli(quantity) if resource == CPU else whole(quantity)


def amounts(quantities: Quantities | None) -> dict[str, int]:
    """Quantities as whole numbers."""
    return {name: amount(name, quantity) for name, quantity in (quantities or {}).items()}


def effective_requests(pod: WorkloadPod, missing: Amounts | None = None) -> dict[str, int]:
    """What a node must have free for the pod; `missing` stands in for what a container does not say."""
    spec = pod.spec

    def wanted(container: Container) -> Amounts:
        requests = amounts(container.resources.requests if container.resources else None)
        return {**missing, **requests} if missing else requests

    total = _over_time(spec.containers, spec.init_containers or (), wanted)
    _replace_by_pod_level(total, spec.resources.requests if spec.resources else None)
    _add(total, amounts(spec.overhead))
    return total


def effective_limits(pod: WorkloadPod) -> dict[str, int]:
    """What the pod may use at most, of the resources for which it says so."""
    spec = pod.spec
    total = _over_time(
        spec.containers,
        spec.init_containers or (),
        lambda container: amounts(container.resources.limits if container.resources else None),
    )
    _replace_by_pod_level(total, spec.resources.limits if spec.resources else None)
    for name, extra in amounts(spec.overhead).items():
        if total.get(name):  # overhead without a limit limits nothing
            total[name] += extra
    return total


def host_ports(pod: WorkloadPod) -> tuple[HostPort, ...]:
    """The node's ports that the pod's containers and sidecars take."""
    lasting = [container for container in pod.spec.init_containers or () if container.is_sidecar]
    return tuple(
        HostPort("" if port.host_ip == "0.0.0.0" else port.host_ip, port.protocol or "TCP", port.host_port)  # noqa: S104 compared, not bound
        for container in (*lasting, *pod.spec.containers)
        for port in container.ports or ()
        if port.host_port > 0
    )


def _over_time(
    containers: Iterable[Container], init_containers: Iterable[Container], wanted: Callable[[Container], Amounts]
) -> dict[str, int]:
    """The most of each resource that is in use at any moment of the pod's life."""
    running: dict[str, int] = {}
    for container in containers:
        _add(running, wanted(container))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in init_containers:
        needs = wanted(container)
        if container.is_sidecar:
            _add(running, needs)
            _add(sidecars, needs)
            moment = sidecars
        else:
            moment = dict(sidecars)
            _add(moment, needs)
        _raise_to(starting, moment)
    _raise_to(running, starting)
    return running


def _replace_by_pod_level(total: dict[str, int], quantities: Quantities | None) -> None:
    for name, quantity in (quantities or {}).items():
        if name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX):
            total[name] = amount(name, quantity)


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: dict[str, int], at_least: Amounts) -> None:
    for name, value in at_least.items():
        if value > total.get(name, -1):
            total[name] = value
