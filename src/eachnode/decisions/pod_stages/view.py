"""A pod and a node as the simulated kubelet reads them."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from eachnode.objects.meta import Metadata
from eachnode.objects.workload import Container, PodCondition, WorkloadNode, WorkloadPod, WorkloadPodSpec

SIMULATED = "eachnode.dev/simulated"  # The annotation that puts a node into the simulated kubelet's hands.


class Probe(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The timing of a probe; simulated probes succeed when they are first made."""

    initial_delay_seconds: int = 0
    period_seconds: int = 10
    success_threshold: int = 1


class ExecAction(msgspec.Struct, frozen=True, gc=False):
    """A command run in the container."""

    command: tuple[str, ...] | None = None


class SleepAction(msgspec.Struct, frozen=True, gc=False):
    """A pause."""

    seconds: int = 0


class LifecycleHandler(msgspec.Struct, frozen=True, gc=False):
    """What runs before a container is stopped."""

    exec: ExecAction | None = None
    sleep: SleepAction | None = None

    @property
    def seconds(self) -> float:
        """How long it takes, as far as one can tell from outside: a sleep takes its time, anything else none."""
        if self.sleep is not None:
            return float(self.sleep.seconds)
        words = " ".join(self.exec.command or ()).split() if self.exec is not None else []
        for word, after in pairwise(words):
            if word == "sleep" and after.rstrip("s").isdecimal():
                return float(after.rstrip("s"))
        return 0.0


class Lifecycle(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """`lifecycle` of a container."""

    pre_stop: LifecycleHandler | None = None


class SimulatedContainer(Container, frozen=True, rename="camel", gc=False):
    """A container and what its start and its end take."""

    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A container that does not run yet, or not at the moment."""

    reason: str = ""


class Terminated(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A container that has ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class Running(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A container that runs."""

    started_at: str | None = None


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How one container is doing."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class ReadinessGate(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A condition, set by somebody else, without which the pod is not ready."""

    condition_type: str = ""


class SimulatedPodSpec(WorkloadPodSpec, frozen=True, rename="camel", kw_only=True, gc=False):
    """What the pod wants, with what its containers' start and end take."""

    containers: tuple[SimulatedContainer, ...] = ()
    init_containers: tuple[SimulatedContainer, ...] | None = None
    readiness_gates: tuple[ReadinessGate, ...] | None = None


class SimulatedPodStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """How far the pod has come."""

    phase: str = ""
    reason: str = ""
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodCondition, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class SimulatedPod(WorkloadPod, frozen=True, kw_only=True, dict=True):
    """A pod as the kubelet reads it."""

    metadata: Metadata
    spec: SimulatedPodSpec = SimulatedPodSpec()
    status: SimulatedPodStatus = SimulatedPodStatus()  # type: ignore[assignment]  # another part of the same status

    @property
    def closed_gates(self) -> tuple[tuple[str, str], ...]:
        """The readiness gates that keep it from being ready: condition and its status, which may be missing."""
        gates = self.spec.readiness_gates or ()
        told = {each.type: each.status for each in self.status.conditions or ()}
        return tuple(
            (each.condition_type, said) for each in gates if (said := told.get(each.condition_type, "")) != "True"
        )


class NodeAddress(msgspec.Struct, frozen=True, gc=False):
    """Where the node can be reached."""

    type: str = ""
    address: str = ""


class SimulatedNodeStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """What has been said of the node."""

    allocatable: dict[str, str | int | float] | None = None
    capacity: dict[str, str | int | float] | None = None
    conditions: tuple[PodCondition, ...] | None = None
    addresses: tuple[NodeAddress, ...] | None = None


class SimulatedNode(WorkloadNode, frozen=True, kw_only=True, dict=True):
    """A node as the kubelet reads it."""

    metadata: Metadata
    status: SimulatedNodeStatus = SimulatedNodeStatus()  # type: ignore[assignment]  # another part of the same status

    @property
    def is_simulated(self) -> bool:
        """Whether it is ours to run."""
        return (self.metadata.annotations or {}).get(SIMULATED) == "true"

    @property
    def address(self) -> str:
        """Its address inside the cluster, if it has one."""
        for each in self.status.addresses or ():
            if each.type == "InternalIP":
                return each.address
        return ""
