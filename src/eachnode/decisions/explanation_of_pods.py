"""How far a pod has come on its way to serving, in sentences: by its own status, its node and the scheduler's rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eachnode.decisions.explanation_views import (
    ContainerTold,
    ContainerWritten,
    NodeTold,
    PodTold,
    Terminated,
    Word,
    when,
)
from eachnode.decisions.explanation_words import Kind, Reason, moment, times
from eachnode.decisions.scheduling import Landscape, explain
from eachnode.decisions.scheduling import host_ports as ports
from eachnode.decisions.slots import NEVER
from eachnode.objects.pod import Pod
from eachnode.objects.workload import DEFAULT_SCHEDULER

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


# Pods that are ending or have ended


def leaving(pod: Pod, told: PodTold | None, node: NodeTold | None, now: float) -> Told:
    """A pod whose deletion has begun, or whose node is gone."""
    by = f" by {when(pod.metadata.deletion_timestamp, now)}" if pod.metadata.deletion_timestamp else ""
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
    disrupted = told.condition("DisruptionTarget") if told is not None else None
    if disrupted is not None and disrupted.status == "True":
        said = sentence(disrupted.reason, disrupted.message)
        because = f"{pod.name} had to leave ({said}) and should be gone{by}"
        return Kind.LEAVING, f"its pod had to leave: {disrupted.reason}", (Reason(because, ""),)
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
    details = sentence(told.status.reason, told.status.message, ", ".join(ends))
    return summary, f"{pod.name} has failed{': ' if details else ''}{details}"


def sentence(*parts: str) -> str:
    """What others said, put together: without full stops, and without what was not said."""
    return ": ".join(text for part in parts if (text := part.strip().rstrip(".")))


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
    word: Word | None,
    available_from: float,
    now: float,
) -> Told:
    """What keeps a pod from being available; `word` is the last that was heard of it."""
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
    for part in _in_order(told):
        answer = _hindered(pod, part, word, now)
        if answer is not None:
            return answer
    if not told.status.container_statuses:
        bound = told.condition("PodScheduled")
        since = _since(bound.last_transition_time if bound else None, now)
        because = f"{pod.name} is bound to the node{since}, and its kubelet has not said anything about it yet"
        return Kind.STARTING, "waits for the kubelet", (Reason(because, "if this lasts, look at the node's kubelet"),)
    return _unready(pod, told, word, now)


def tells_little(told: PodTold) -> bool:
    """Whether its status does not say why it is not ready yet, so that events have to."""
    statuses = (*(told.status.init_container_statuses or ()), *(told.status.container_statuses or ()))
    reasons = {status.state.waiting.reason for status in statuses if status.state.waiting is not None}
    return bool(told.spec.node_name and statuses) and reasons <= _ON_THE_WAY


def _since(moment_told: str | None, now: float) -> str:
    return f" since {when(moment_told, now)}" if moment_told else ""


class _Part(NamedTuple):
    """One container of a pod: how it is doing, and how it was written."""

    status: ContainerTold
    written: ContainerWritten
    first: bool  # An init container.

    @property
    def named(self) -> str:
        return f"{'init ' if self.first else ''}container {self.status.name}"


def _in_order(told: PodTold) -> Iterator[_Part]:
    """The containers in the order in which they start; not those that have done their work."""
    written = {each.name: each for each in (*(told.spec.init_containers or ()), *told.spec.containers)}
    for status in told.status.init_container_statuses or ():
        if status.state.terminated is None or status.state.terminated.exit_code:
            yield _Part(status, written.get(status.name, ContainerWritten()), first=True)
    for status in told.status.container_statuses or ():
        yield _Part(status, written.get(status.name, ContainerWritten()), first=False)


def _hindered(pod: Pod, part: _Part, word: Word | None, now: float) -> Told | None:
    """What keeps one container from running; None when it runs, or when its turn has not come."""
    status = part.status
    waiting, terminated = status.state.waiting, status.state.terminated
    if terminated is not None:
        return _crashed(pod, part, terminated, now)
    if waiting is None:
        loops = not status.ready and status.restart_count > 1 and status.crashed_lately(now)
        return _crashed(pod, part, status.last_state.terminated, now) if loops else None
    if waiting.reason == "CrashLoopBackOff":
        return _crashed(pod, part, status.last_state.terminated, now)
    if waiting.reason in _IMAGE_TROUBLES:
        said = f": {waiting.message}" if waiting.message else ""
        because = f"image {status.image} of {part.named} cannot be pulled ({waiting.reason}{said})"
        remedy = "correct the image's name, its registry's credentials (imagePullSecrets), or the registry"
        return Kind.IMAGE, f"image {status.image} cannot be pulled", (Reason(because, remedy),)
    if waiting.reason not in _ON_THE_WAY:
        said = f": {waiting.message}" if waiting.message else ""
        because = f"{part.named} cannot be started: {waiting.reason}{said}"
        return Kind.BLOCKED, because, (Reason(because, "correct what the message names in the pod template"),)
    if waiting.reason == "PodInitializing" and not part.first:
        return None
    return _creating(pod, part, word, now)


def _creating(pod: Pod, part: _Part, word: Word | None, now: float) -> Told:
    """A container that is being made ready to start; what the kubelet said last may tell what it lacks."""
    since = _since(pod.metadata.creation_timestamp, now)
    if word is not None and word.warns:
        because = f"{part.named} waits{since}: {sentence(word.reason, word.message)}"
        remedy = "see to what the message names; the kubelet tries again and again"
        return Kind.BLOCKED, f"{part.named} cannot be started: {word.reason}", (Reason(because, remedy),)
    image = part.status.image
    because = f"{part.named} waits for image {image} and for its sandbox and volumes{since}"
    return Kind.PULLING, f"pulls image {image}", (Reason(because, ""),)


def _crashed(pod: Pod, part: _Part, end: Terminated | None, now: float) -> Told:
    running = part.status.state.running
    again = f"; it runs again{_since(running.started_at, now)}, and is not ready yet" if running is not None else ""
    remedy = f"see its last words: {_logs(pod, part)} --previous"
    return Kind.CRASHING, f"{part.named} {_end(end)}", (Reason(_crash(part, end, now) + again, remedy),)


def _crash(part: _Part, end: Terminated | None, now: float) -> str:
    """How a container ended, when, what it said, and how often that was so."""
    at = f" at {when(end.finished_at, now)}" if end is not None and end.finished_at else ""
    said = f": {end.message.strip()}" if end is not None and end.message else ""
    count = part.status.restart_count
    return f"{part.named} {_end(end)}{at}{said}{f', restarted {times(count)} so far' if count else ''}"


def _logs(pod: Pod, part: _Part) -> str:
    namespace = f" -n {pod.metadata.namespace}" if pod.metadata.namespace else ""
    return f"kubectl logs{namespace} {pod.name} -c {part.status.name}"


def crash_of_late(told: PodTold, now: float) -> str:
    """What a pod that serves has behind it; empty when nothing."""
    for part in _in_order(told):
        if part.status.crashed_lately(now):
            return _crash(part, part.status.last_state.terminated, now)
    return ""


def _unready(pod: Pod, told: PodTold, word: Word | None, now: float) -> Told:
    """No container is in trouble, and the pod is not ready."""
    for part in _in_order(told):
        status = part.status
        if status.state.running is None:
            continue
        runs = f"{part.named} runs{_since(status.state.running.started_at, now)}"
        if part.first and not part.written.runs_beside:
            because = f"{runs}; what comes after it starts when it has ended"
            return Kind.STARTING, f"{part.named} runs", (Reason(because, f"see what it does: {_logs(pod, part)}"),)
        probe = _probe_ahead(part)
        if not probe:
            continue
        last = status.last_state.terminated
        again = f"; before that it {_end(last)}, restarted {times(status.restart_count)} so far" if last else ""
        said = f" ({word.message.strip()})" if word is not None and word.warns and word.message else ""
        because = f"{runs}, and its {probe} probe has not passed{said}{again}"
        remedy = f"see what the {probe} probe asks, and the container's logs"
        return Kind.STARTING, f"{part.named} runs, its {probe} probe has not passed", (Reason(because, remedy),)
    missing = [each for each in told.status.conditions or () if each.status != "True" and each.type not in _THE_SUM]
    ready = told.condition("Ready")
    told_of_it = ", ".join(f"{each.type} is {each.status}" for each in missing) or (ready.message if ready else "")
    because = f"{pod.name} is not ready{': ' if told_of_it else ''}{told_of_it}"
    return Kind.STARTING, "its containers run, it is not ready", (Reason(because, ""),)


_THE_SUM = ("Ready", "ContainersReady")  # Conditions that only sum up the others.


def _probe_ahead(part: _Part) -> str:
    """Which of its probes a running container has yet to pass; empty when none."""
    if part.written.startup_probe is not None and not part.status.started:
        return "startup"
    return "readiness" if part.written.readiness_probe is not None and not part.status.ready else ""


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
    since = _since(pod.metadata.creation_timestamp, now)
    said = pod.condition("PodScheduled")
    last = f"; it said last: {said.message}" if said is not None and said.message else ""
    whose = f"the scheduler {scheduler!r}" if scheduler != DEFAULT_SCHEDULER else "the scheduler"
    return Reason(f"{name} waits for {whose}{since}, which has not placed it yet{last}", f"see to it that {whose} runs")
