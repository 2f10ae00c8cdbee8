"""What a kubelet refuses: a pod whose host ports are taken, or for which the node has no room left.

A scheduler normally sees to it that this does not happen; pods bound by name, or by two schedulers, can still clash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eachnode.decisions.pod_stages.view import SimulatedNode, SimulatedPod
from eachnode.objects.meta import Key
from eachnode.objects.workload import Amounts, HostPort


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod was not admitted, as its status tells it."""

    reason: str
    message: str


@dataclass(slots=True)
class Room:
    """What the admitted pods of one node take, kept up to date pod by pod."""

    used: dict[str, int] = field(default_factory=dict)
    ports: dict[HostPort, Key] = field(default_factory=dict)
    pods: dict[Key, tuple[str, Amounts, tuple[HostPort, ...]]] = field(default_factory=dict)

    def admit(self, pod: SimulatedPod) -> None:
        """Count a pod; once is enough."""
        key, uid = pod.metadata.key, pod.metadata.uid
        known = self.pods.get(key)
        if known is not None:
            if known[0] == uid:
                return
            self.release(key)
        self.pods[key] = (uid, pod.requests, pod.host_ports)
        for name, amount in pod.requests.items():
            self.used[name] = self.used.get(name, 0) + amount
        for port in pod.host_ports:
            self.ports[port] = key

    def release(self, key: Key) -> bool:
        """Count a pod no longer; whether it was counted."""
        known = self.pods.pop(key, None)
        if known is None:
            return False
        for name, amount in known[1].items():
            self.used[name] -= amount
        for port in known[2]:
            self.ports.pop(port, None)
        return True

    def refusal(self, pod: SimulatedPod, node: SimulatedNode) -> Refusal | None:
        """Why the pod cannot be admitted, or None."""
        limits = node.allocatable
        if "pods" in limits and len(self.pods) + 1 > limits["pods"]:
            return _out_of("pods", 1, len(self.pods), limits["pods"])
        for name, wanted in pod.requests.items():
            used, limit = self.used.get(name, 0), limits.get(name, 0)
            if wanted > 0 and used + wanted > limit:
                return _out_of(name, wanted, used, limit)
        if any(mine.clashes(taken) for mine in pod.host_ports for taken in self.ports):
            told = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
            return Refusal("NodePorts", told)
        return None


def _out_of(resource: str, wanted: int, used: int, limit: int) -> Refusal:
    told = f"Node didn't have enough resource: {resource}, requested: {wanted}, used: {used}, capacity: {limit}"
    return Refusal(f"OutOf{resource}", told)
