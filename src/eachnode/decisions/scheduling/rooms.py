"""A room: one node, and the account of what is on it, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from eachnode.decisions.scheduling.affinity_terms import far_terms
from eachnode.objects.workload import CPU, MEMORY, Amounts, HostPort, WorkloadNode, WorkloadPod, effective_requests

# What a container that asks for nothing is taken to use when nodes are compared (never when they are filtered):
# otherwise pods without requests would all seem to weigh nothing and pile up on one node.
UNSTATED: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024}


class Tenant:
    """A pod on a node, with what was booked for it."""

    __slots__ = ("busy_cpu", "busy_memory", "owner", "pod", "ports", "refuses", "requests")

    def __init__(self, pod: WorkloadPod) -> None:
        self.pod = pod
        self.requests = pod.requests
        self.ports = pod.host_ports
        self.busy_cpu, self.busy_memory = stated_or_assumed(pod)
        owner = pod.metadata.controller
        self.owner = owner.uid if owner else ""
        self.refuses = far_terms(pod)

    def renewed(self, pod: WorkloadPod) -> bool:
        """Take the pod's newer state when it changes nothing that is booked; False when it must be booked anew."""
        old, new = self.pod, pod
        if (
            old.spec.containers != new.spec.containers
            or old.spec.resources != new.spec.resources
            or old.metadata.owner_references != new.metadata.owner_references
        ):
            return False
        self.pod = pod
        return True


class Room:
    """One node and what is on it; without a node it only keeps the pods that name it."""

    __slots__ = ("busy_cpu", "busy_memory", "hostile", "name", "node", "owners", "ports", "requested", "tenants")

    def __init__(self, name: str, node: WorkloadNode | None = None) -> None:
        self.name = name
        self.node = node
        self.tenants: dict[str, Tenant] = {}
        self.requested: dict[str, int] = {}
        self.ports: dict[tuple[str, int], list[tuple[HostPort, str]]] = {}  # by protocol and port: who has it
        self.owners: dict[str, int] = {}
        self.hostile: dict[str, Tenant] = {}  # those who refuse certain neighbours
        self.busy_cpu = self.busy_memory = 0

    @property
    def there(self) -> WorkloadNode:
        """The node itself; only rooms whose node exists are ever checked."""
        assert self.node is not None
        return self.node

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.there.metadata.labels or {}

    @property
    def pods(self) -> Iterator[WorkloadPod]:
        """The pods on it."""
        return (tenant.pod for tenant in self.tenants.values())

    def add(self, pod: WorkloadPod) -> None:
        """Book a pod."""
        tenant = self.tenants[pod.metadata.uid] = Tenant(pod)
        requested = self.requested
        for name, value in tenant.requests.items():
            if value:
                requested[name] = requested.get(name, 0) + value
        self.busy_cpu += tenant.busy_cpu
        self.busy_memory += tenant.busy_memory
        for port in tenant.ports:
            self.ports.setdefault((port.protocol, port.port), []).append((port, pod.metadata.uid))
        if tenant.owner:
            self.owners[tenant.owner] = self.owners.get(tenant.owner, 0) + 1
        if tenant.refuses:
            self.hostile[pod.metadata.uid] = tenant

    def remove(self, uid: str) -> WorkloadPod:
        """Strike a pod from the books."""
        tenant = self.tenants.pop(uid)
        _subtract(self.requested, tenant.requests)
        self.busy_cpu -= tenant.busy_cpu
        self.busy_memory -= tenant.busy_memory
        for port in tenant.ports:
            holders = self.ports[port.protocol, port.port]
            holders.remove((port, uid))
            if not holders:
                del self.ports[port.protocol, port.port]
        if tenant.owner:
            _subtract(self.owners, {tenant.owner: 1})
        self.hostile.pop(uid, None)
        return tenant.pod

    def port_holder(self, wanted: HostPort) -> str | None:
        """The uid of a pod that has the port, if one has."""
        for port, uid in self.ports.get((wanted.protocol, wanted.port), ()):
            if port.clashes(wanted):
                return uid
        return None

    def imagined(self, *, without: Iterable[str] = (), with_pods: Iterable[WorkloadPod] = ()) -> Room:
        """The room as it would be without some of its pods, and with others."""
        gone = set(without)
        other = Room(self.name, self.node)
        for uid, tenant in self.tenants.items():
            if uid not in gone:
                other.add(tenant.pod)
        for pod in with_pods:
            if pod.metadata.uid not in other.tenants:
                other.add(pod)
        return other


def stated_or_assumed(pod: WorkloadPod) -> tuple[int, int]:
    """The cpu and memory a pod counts for when nodes are compared."""
    requests = pod.requests
    cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
    containers = pod.spec.containers
    if cpu and memory and len(containers) == 1 and not pod.spec.init_containers:
        return cpu, memory
    assumed = effective_requests(pod, UNSTATED)
    return assumed.get(CPU, 0), assumed.get(MEMORY, 0)


def _subtract(total: dict[str, int], less: Amounts) -> None:
    for name, value in less.items():
        if value:
            left = total[name] - value
            if left:
                total[name] = left
            else:
                del total[name]
