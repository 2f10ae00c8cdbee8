"""What a kubelet refuses: a pod for which the node has no room or no device, or that should not be on this node.

A scheduler normally sees to it that this does not happen; pods bound by name, or by two schedulers, can still clash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eachnode.decisions.pod_stages.view import SimulatedNode, SimulatedPod
from eachnode.decisions.scheduling.host_ports import TAKEN
from eachnode.decisions.scheduling.node_affinity import NOT_WANTED
from eachnode.decisions.scheduling.refusals import Refusal as Objection
from eachnode.decisions.scheduling.tolerance import TAINTED
from eachnode.objects.meta import Key
from eachnode.objects.taints import untolerated
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
        """Why the pod cannot be admitted, or None; in the order in which a kubelet asks."""
        return self._no_device(pod, node) or self._no_room(pod, node) or self._no_match(pod, node)

    def _no_device(self, pod: SimulatedPod, node: SimulatedNode) -> Refusal | None:
        for name, wanted in pod.requests.items():
            limit = node.allocatable.get(name)
            if not _is_extended(name) or limit is None:  # What the node never had is somebody else's to give.
                continue
            free = max(0, limit - self.used.get(name, 0))
            if wanted > free:
                asked = f"Requested: {wanted}, Available: {free}"
                told = f"requested number of devices unavailable for {name}. {asked}"
                return Refusal("UnexpectedAdmissionError", f"Allocate failed due to {told}, which is unexpected")
        return None

    def _no_room(self, pod: SimulatedPod, node: SimulatedNode) -> Refusal | None:
        limits = node.allocatable
        if "pods" in limits and len(self.pods) + 1 > limits["pods"]:
            return _out_of("pods", 1, len(self.pods), limits["pods"])
        for name, wanted in pod.requests.items():
            used, limit = self.used.get(name, 0), limits.get(name, 0)
            if wanted > 0 and used + wanted > limit and not _is_extended(name):
                return _out_of(name, wanted, used, limit)
        return None

    def _no_match(self, pod: SimulatedPod, node: SimulatedNode) -> Refusal | None:
        if not pod.required_nodes.match(node.name, node.labels):
            return _predicate(NOT_WANTED)
        if any(mine.clashes(taken) for mine in pod.host_ports for taken in self.ports):
            return _predicate(TAKEN)
        expelling = (taint for taint in node.spec.taints or () if taint.expels)
        if next(untolerated(expelling, pod.spec.tolerations or ()), None) is not None:
            return _predicate(TAINTED)
        return None


def _is_extended(resource: str) -> bool:
    """Whether it is not one of Kubernetes' own: a device, or whatever else somebody counts."""
    return "/" in resource and "kubernetes.io/" not in resource


def _predicate(objection: Objection) -> Refusal:
    """What a kubelet makes of a scheduler's objection."""
    return Refusal(objection.rule, f"Predicate {objection.rule} failed: {objection.reason}")


def _out_of(resource: str, wanted: int, used: int, limit: int) -> Refusal:
    told = f"Node didn't have enough resource: {resource}, requested: {wanted}, used: {used}, capacity: {limit}"
    return Refusal(f"OutOf{resource}", told)
