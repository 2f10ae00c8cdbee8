"""What DaemonSets take of the nodes: requests against allocatable, by class of node.

A daemon pod costs once per node, so a small node pays a larger share for the same pod than a large one. Nodes of one
instance type are one class; where types are not told, nodes of one size are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eachnode.decisions.scheduling.room_for import spelled
from eachnode.objects.meta import Key
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.workload import CPU, MEMORY, PODS, WorkloadNode, WorkloadPod

INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


@dataclass(slots=True)
class Cost:
    """What the pods of one DaemonSet ask for on the nodes of one class."""

    pods: int = 0
    requests: Counter[str] = field(default_factory=Counter)

    def add(self, pod: WorkloadPod) -> None:
        """One pod more."""
        self.pods += 1
        self.requests.update(pod.requests)


@dataclass(slots=True)
class NodeClass:
    """Nodes that are alike, what they have to give, and what DaemonSets take of it."""

    name: str
    nodes: int = 0
    allocatable: Counter[str] = field(default_factory=Counter)
    costs: dict[Key, Cost] = field(default_factory=dict)

    def share(self, resource: str, taken: Mapping[str, int]) -> float:
        """Which part of what the class has is taken."""
        return taken.get(resource, 0) / self.allocatable[resource] if self.allocatable[resource] else 0.0

    @property
    def total(self) -> Cost:
        """All DaemonSets together."""
        total = Cost()
        for cost in self.costs.values():
            total.pods += cost.pods
            total.requests.update(cost.requests)
        return total

    @property
    def dearest_first(self) -> list[tuple[Key, Cost]]:
        """The DaemonSets by the largest share that they take of anything."""

        def rank(item: tuple[Key, Cost]) -> tuple[float, Key]:
            key, cost = item
            return -max(self.share(resource, cost.requests) for resource in (CPU, MEMORY)), key

        return sorted(self.costs.items(), key=rank)


class Bill:
    """The costs of all DaemonSets, pod by pod."""

    def __init__(self, nodes: Iterable[WorkloadNode]) -> None:
        self._class_of: dict[str, NodeClass] = {}
        self._classes: dict[str, NodeClass] = {}
        self.waiting: Counter[Key] = Counter()  # Pods without a node: they cost nothing yet.
        for node in nodes:
            name = class_name(node)
            kind = self._classes.setdefault(name, NodeClass(name))
            kind.nodes += 1
            kind.allocatable.update(node.allocatable)
            self._class_of[node.name] = kind

    def add(self, pod: WorkloadPod) -> None:
        """Count a pod, if it is a daemon pod that holds room."""
        owner = pod.metadata.controller
        if owner is None or owner.kind != DAEMON_SETS.kind or pod.is_over:
            return
        key = Key(pod.metadata.namespace, owner.name)
        kind = self._class_of.get(pod.spec.node_name)
        if kind is None:
            self.waiting[key] += 1
            return
        kind.costs.setdefault(key, Cost()).add(pod)

    @property
    def classes(self) -> list[NodeClass]:
        """The classes of nodes, the most frequent first."""
        return sorted(self._classes.values(), key=lambda each: (-each.nodes, each.name))


def class_name(node: WorkloadNode) -> str:
    """The class a node belongs to: its instance type, or else its size."""
    for label in INSTANCE_TYPES:
        if node.labels.get(label):
            return node.labels[label]
    size = node.allocatable
    return f"{spelled(CPU, size.get(CPU, 0))} cpu, {spelled(MEMORY, size.get(MEMORY, 0))}"


def spell(resource: str, value: int) -> str:
    """An amount as people write it."""
    return str(value) if resource == PODS else spelled(resource, value)
