"""What pods and nodes tell of themselves, as far as it explains why something does not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.decisions.explanation_words import Reason, moment
from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata
from eachnode.objects.workload import (
    Container,
    PodCondition,
    WorkloadNode,
    WorkloadPod,
    WorkloadPodSpec,
)

REMEMBERED = 600.0  # Seconds: a kubelet's back-off begins anew for a container that ran for so long.


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A container that does not run yet, or not at the moment."""

    reason: str = ""
    message: str = ""


class Terminated(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A container that has ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str | None = None


class Running(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A container that runs."""

    started_at: str | None = None


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerTold(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How one container is doing."""

    name: str = ""
    image: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    def crashed_lately(self, now: float) -> bool:
        """Whether it runs since a crash of late; kubelets, too, think of a crash for this long."""
        running, last = self.state.running, self.last_state.terminated
        if running is None or last is None or not last.exit_code or running.started_at is None:
            return False
        try:
            return now < seconds(running.started_at) + REMEMBERED
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Word:
    """The last that was told of a pod: an event."""

    warns: bool
    reason: str
    message: str


class ContainerWritten(Container, frozen=True, rename="camel", gc=False):
    """A container as its pod's author wrote it, with the probes that it has to pass."""

    startup_probe: dict[str, Any] | None = None
    readiness_probe: dict[str, Any] | None = None

    @property
    def runs_beside(self) -> bool:
        """Whether this init container goes on beside the others: a sidecar."""
        return self.restart_policy == "Always"


class PodToldSpec(WorkloadPodSpec, frozen=True, rename="camel", kw_only=True, gc=False):
    """What its author wrote."""

    containers: tuple[ContainerWritten, ...] = ()
    init_containers: tuple[ContainerWritten, ...] | None = None


class PodToldStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """All that a pod's status can tell of why it does not serve."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    init_container_statuses: tuple[ContainerTold, ...] | None = None
    container_statuses: tuple[ContainerTold, ...] | None = None


class PodTold(WorkloadPod, frozen=True, kw_only=True, dict=True):
    """A pod with all that it tells of itself."""

    metadata: Metadata
    spec: PodToldSpec = PodToldSpec()
    status: PodToldStatus = PodToldStatus()  # type: ignore[assignment]  # more of the same status


class _Restarts(msgspec.Struct, frozen=True, rename="camel", gc=False):
    container_statuses: tuple[ContainerTold, ...] | None = None


class PodStarted(msgspec.Struct, frozen=True, gc=False):
    """Of a pod only how its containers are doing: cheap to read of thousands."""

    status: _Restarts = _Restarts()

    def has_crashed_lately(self, now: float) -> bool:
        """Whether a container of it runs only since a crash of late."""
        return any(container.crashed_lately(now) for container in self.status.container_statuses or ())


class NodeToldStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is said of the node."""

    allocatable: dict[str, str | int | float] | None = None
    capacity: dict[str, str | int | float] | None = None
    conditions: tuple[PodCondition, ...] | None = None


class NodeTold(WorkloadNode, frozen=True, kw_only=True, dict=True):
    """A node with since when it is ready, or not."""

    metadata: Metadata
    status: NodeToldStatus = NodeToldStatus()  # type: ignore[assignment]  # more of the same status

    def trouble(self, now: float) -> Reason | None:
        """Why nothing can be expected of the node; None when it is ready."""
        ready = next((each for each in self.status.conditions or () if each.type == "Ready"), None)
        if ready is None:
            return Reason(f"node {self.name} has never said that it is ready", "start the kubelet of the node")
        if ready.status == "True":
            return None
        since = f" since {when(ready.last_transition_time, now)}" if ready.last_transition_time else ""
        silent = "is not heard of" if ready.status == "Unknown" else "is not ready"
        told = ", ".join(filter(None, (ready.reason, ready.message.rstrip("."))))
        because = f"node {self.name} {silent}{since}{': ' if told else ''}{told}"
        return Reason(because, "repair the node, or remove it from the cluster")


def when(text: str, now: float) -> str:
    try:
        return moment(seconds(text), now)
    except ValueError:
        return text
