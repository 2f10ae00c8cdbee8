"""How far a pod has come on its way to serving, in sentences: by its own status, its node and the scheduler's rules."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from eachnode.decisions.explanation_words import Kind, Reason, moment
from eachnode.decisions.scheduling import Landscape, explain
from eachnode.decisions.scheduling import host_ports as ports
from eachnode.decisions.slots import NEVER
from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata
from eachnode.objects.pod import Pod
from eachnode.objects.workload import DEFAULT_SCHEDULER, PodCondition, WorkloadNode, WorkloadPod

Told = tuple[Kind, str, tuple[Reason, ...]]  # Kind, summary, reasons.

_IMAGE_TROUBLES = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_ON_THE_WAY = frozenset({"", "ContainerCreating", "PodInitializing"})


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
    status: PodToldStatus = PodToldStatus()  # type: ignore[assignment]  # more of the same status


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
        since = f" since {_when(ready.last_transition_time, now)}" if ready.last_transition_time else ""
        silent = "is not heard of" if ready.status == "Unknown" else "is not ready"
        told = f": {ready.reason}{', ' if ready.reason and ready.message else ''}{ready.message}"
        because = f"node {self.name} {silent}{since}{told if told != ': ' else ''}"
        return Reason(because, "repair the node, or remove it from the cluster")


def _when(text: str, now: float) -> str:
    try:
        return moment(seconds(text), now)
    except ValueError:
        return text


# Pods that are ending or have ended


def leaving(pod: Pod, node: NodeTold | None, now: float) -> Told:
    """A pod whose deletion has begun, or whose node is gone."""
    by = f" by {_when(pod.metadata.deletion_timestamp, now)}" if pod.metadata.deletion_timestamp else ""
    held = ", ".join(pod.metadata.finalizers or ())
    if held:
        because = f"{pod.name} should be gone{by}, and is held by the finalizers {held}"
        return Kind.LEAVING, f"is held by the finalizers {held}", (Reason(because, "see to whoever set them"),)
    if node is None:
        because = (
            f"node {pod.target} does not exist; {pod.name} is left of it, and the pod garbage collector removes it"
        )
        return Kind.NODE_GONE, "the node is gone, its pod is left", (Reason(because, ""),)
    trouble = node.trouble(now)
    if trouble is not None and pod.spec.node_name:
        because = f"{pod.name} should be gone{by}, and only its node can confirm that it has stopped: {trouble.because}"
        remedy = (
            "bring the node back, remove it, or give it the taint "
            "node.kubernetes.io/out-of-service:NoExecute once it is surely off"
        )
        return Kind.DEAD, "its pod cannot end, because the node is not ready", (Reason(because, remedy),)
    return Kind.LEAVING, "its pod is stopping", (Reason(f"{pod.name} should be gone{by}", ""),)


def ended(pod: Pod, told: PodTold | None) -> tuple[str, str]:
    """How a pod ended: in words that go for many pods alike, and for this one."""
    if pod.status.phase == "Succeeded":
        return "its pod has ended, though well", f"{pod.name} has ended, though well"
    if told is None:
        return "its pod has failed", f"{pod.name} has failed"
    containers = (*(told.status.container_statuses or ()), *(told.status.init_container_statuses or ()))
    ends = [f"container {each.name} {_end(each.state.terminated)}" for each in containers if each.state.terminated]
    reason = told.status.reason or next(iter(ends), "")
    summary = f"its pod has failed: {reason}" if reason else "its pod has failed"
    details = ": ".join(filter(None, (told.status.reason, told.status.message, ", ".join(ends))))
    return summary, f"{pod.name} has failed{': ' if details else ''}{details}"


def _end(terminated: Terminated | None) -> str:
    """How a container ended."""
    if terminated is None:
        return "ended"
    how = (
        f"was ended by signal {terminated.signal}"
        if terminated.signal
        else f"ended with exit code {terminated.exit_code}"
    )
    known = f" ({terminated.reason})" if terminated.reason and terminated.reason not in ("Error", "Completed") else ""
    return how + known


# Pods on their way


def progress(
    pod: Pod,
    told: PodTold | None,
    node: NodeTold | None,
    landscape: Landscape | None,
    available_from: float,
    now: float,
) -> Told:
    """What keeps a pod from being available."""
    if now < available_from < NEVER:
        because = f"{pod.name} is ready, and counts as available from {moment(available_from, now)}"
        return (
            Kind.STARTING,
            "is ready, waits for minReadySeconds",
            (Reason(because, "wait, or lower minReadySeconds"),),
        )
    if told is None:
        return Kind.STARTING, "its pod is not ready", (Reason(f"{pod.name} is not ready", ""),)
    if not told.spec.node_name:
        return _unplaced(told, landscape, now)
    if node is not None and (trouble := node.trouble(now)) is not None:
        return Kind.NODE_NOT_READY, "node not ready", (trouble,)
    for container, first in _in_order(told):
        answer = _hindered(pod, container, first, now)
        if answer is not None:
            return answer
    if not told.status.container_statuses:
        since = told.condition("PodScheduled")
        when = f" since {_when(since.last_transition_time, now)}" if since and since.last_transition_time else ""
        because = f"{pod.name} is bound to the node{when}, and its kubelet has not said anything about it yet"
        return Kind.STARTING, "waits for the kubelet", (Reason(because, "if this lasts, look at the node's kubelet"),)
    return _unready(pod, told, now)


def _in_order(told: PodTold) -> Iterator[tuple[ContainerTold, str]]:
    """The containers in the order in which they start, with what they are called."""
    for container in told.status.init_container_statuses or ():
        if container.state.terminated is None or container.state.terminated.exit_code:
            yield container, "init container"
    for container in told.status.container_statuses or ():
        yield container, "container"


def _hindered(pod: Pod, container: ContainerTold, word: str, now: float) -> Told | None:
    """What keeps one container from running; None when it runs, or when its turn has not come."""
    waiting, terminated = container.state.waiting, container.state.terminated
    named = f"{word} {container.name}"
    if terminated is not None:
        return _crashed(pod, container, named, terminated, now)
    if waiting is None:
        return None
    if waiting.reason == "CrashLoopBackOff":
        return _crashed(pod, container, named, container.last_state.terminated, now)
    if waiting.reason in _IMAGE_TROUBLES:
        said = f": {waiting.message}" if waiting.message else ""
        because = f"image {container.image} of {named} cannot be pulled ({waiting.reason}{said})"
        remedy = "correct the image's name, its registry's credentials (imagePullSecrets), or the registry"
        return Kind.IMAGE, f"image {container.image} cannot be pulled", (Reason(because, remedy),)
    if waiting.reason not in _ON_THE_WAY:
        said = f": {waiting.message}" if waiting.message else ""
        because = f"{named} cannot be started: {waiting.reason}{said}"
        return Kind.BLOCKED, because, (Reason(because, "correct what the message names in the pod template"),)
    if waiting.reason == "PodInitializing" and word == "container":
        return None
    since = f" since {_when(pod.metadata.creation_timestamp, now)}" if pod.metadata.creation_timestamp else ""
    because = f"{named} waits for image {container.image} and for its sandbox and volumes{since}"
    return Kind.PULLING, f"pulls image {container.image}", (Reason(because, ""),)


def _crashed(pod: Pod, container: ContainerTold, named: str, end: Terminated | None, now: float) -> Told:
    summary = f"{named} {_end(end)}"
    when = f" at {_when(end.finished_at, now)}" if end is not None and end.finished_at else ""
    said = f": {end.message.strip()}" if end is not None and end.message else ""
    times = f", restarted {container.restart_count} times so far" if container.restart_count else ""
    namespace = f" -n {pod.metadata.namespace}" if pod.metadata.namespace else ""
    remedy = f"see its last words: kubectl logs{namespace} {pod.name} -c {container.name} --previous"
    return Kind.CRASHING, summary, (Reason(f"{summary}{when}{said}{times}", remedy),)


def _unready(pod: Pod, told: PodTold, now: float) -> Told:
    """All containers run, and it is not ready."""
    for container in told.status.container_statuses or ():
        if container.ready or container.state.running is None:
            continue
        probe = "startup" if container.started is False else "readiness"
        since = f" since {_when(container.state.running.started_at, now)}" if container.state.running.started_at else ""
        last = container.last_state.terminated
        again = f"; before that it {_end(last)}, restarted {container.restart_count} times so far" if last else ""
        because = f"container {container.name} runs{since}, and its {probe} probe has not passed{again}"
        summary = f"container {container.name} runs, its {probe} probe has not passed"
        return Kind.STARTING, summary, (Reason(because, f"see what the {probe} probe asks, and the container's logs"),)
    missing = [each for each in told.status.conditions or () if each.status != "True" and each.type != "Ready"]
    ready = told.condition("Ready")
    told_of_it = ", ".join(f"{each.type} is {each.status}" for each in missing) or (ready.message if ready else "")
    because = f"{pod.name} is not ready{': ' if told_of_it else ''}{told_of_it}"
    return Kind.STARTING, "its containers run, it is not ready", (Reason(because, ""),)


# Pods without a node


def _unplaced(pod: PodTold, landscape: Landscape | None, now: float) -> Told:
    """A pod that no scheduler has placed."""
    name = pod.metadata.name
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        because = f"{name} is kept from being scheduled by the gates {gates}"
        return Kind.PENDING, f"kept by the scheduling gates {gates}", (Reason(because, "see to whoever set them"),)
    if landscape is None:
        return Kind.PENDING, "waits for a place", (_said_by_the_scheduler(pod, now),)
    answers = explain(pod, landscape)
    objections = [objection for answer in answers for objection in answer.objections]
    if objections:
        facts = [fact for each in objections for fact in each.facts]
        if all(each.rule == ports.NAME for each in objections):
            taken = dict.fromkeys(holder.holds for fact in facts for holder in fact.holders)
            kind, summary = Kind.PORT_TAKEN, f"{', '.join(taken)} is taken"
        else:
            words = dict.fromkeys(reason for each in objections for reason in each.reasons)
            kind, summary = Kind.PENDING, ", ".join(words)
        reasons = [Reason(fact.sentence, fact.remedy, fact.holders) for fact in facts] or [Reason(summary, "")]
        if pod.status.nominated_node_name:
            reasons.append(Reason(f"room is being made for it on {pod.status.nominated_node_name} by preemption", ""))
        return kind, summary, tuple(reasons)
    return Kind.PENDING, "waits for the scheduler", (_not_tried(pod, now),)


def _said_by_the_scheduler(pod: PodTold, now: float) -> Reason:
    """What is known without looking at the other pods of the cluster."""
    said = pod.condition("PodScheduled")
    if said is None or not said.message:
        return _not_tried(pod, now)
    because = f"{pod.metadata.name} has no node; the scheduler said: {said.message}"
    return Reason(because, "take away what it names; who may list all pods is told who holds the room")


def _not_tried(pod: PodTold, now: float) -> Reason:
    name, scheduler = pod.metadata.name, pod.spec.scheduler_name
    since = f" since {_when(pod.metadata.creation_timestamp, now)}" if pod.metadata.creation_timestamp else ""
    said = pod.condition("PodScheduled")
    last = f"; it said last: {said.message}" if said is not None and said.message else ""
    whose = f"the scheduler {scheduler!r}" if scheduler != DEFAULT_SCHEDULER else "the scheduler"
    return Reason(f"{name} waits for {whose}{since}, which has not placed it yet{last}", f"see to it that {whose} runs")
