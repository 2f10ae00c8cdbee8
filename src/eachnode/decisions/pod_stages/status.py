"""The status that a simulated pod has in each state, as a patch a kubelet would send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eachnode.decisions.pod_stages.containers import ContainerStatuses, Place, unready
from eachnode.decisions.pod_stages.stages import Outcome
from eachnode.decisions.pod_stages.states import PodState
from eachnode.decisions.pod_stages.view import SimulatedPod
from eachnode.objects.workload import PodCondition

Tree = dict[str, Any]
Told = tuple[str, bool, str, str]  # A condition: its type, whether it is so, and reason and message where it is not.

_HAVE_RUN = (PodState.STARTED, PodState.READY, PodState.CRASHED, PodState.CRASH_BACK_OFF, PodState.INTERRUPTED)


def status_after(pod: SimulatedPod, outcome: Outcome, place: Place) -> Tree:
    """The status patch that brings the pod into the state that a stage leads to."""
    statuses = ContainerStatuses(pod, outcome, place)
    is_over = outcome.state is PodState.OVER
    told = _ended(outcome) if is_over else _conditions(pod, statuses)
    status: Tree = {
        "phase": outcome.phase if is_over else "Running" if outcome.state in _HAVE_RUN else "Pending",
        "conditions": _stamped(pod, told, place.now),
        "containerStatuses": statuses.main,
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if statuses.init:
        status["initContainerStatuses"] = statuses.init
    if is_over and outcome.message:
        status["message"] = outcome.message
    if pod.status.start_time is None:
        status["startTime"] = place.now
    if place.host_ip:
        status["hostIP"] = place.host_ip
        status["hostIPs"] = [{"ip": place.host_ip}]
    if outcome.state in (PodState.STARTED, PodState.READY) and place.pod_ip and not pod.status.pod_ip:
        status["podIP"] = place.pod_ip
        status["podIPs"] = [{"ip": place.pod_ip}]
    return status


def refused(pod: SimulatedPod, reason: str, message: str, now: str) -> Tree:
    """The status of a pod that the kubelet did not admit."""
    return {"phase": "Failed", "reason": reason, "message": message, "startTime": pod.status.start_time or now}


def _conditions(pod: SimulatedPod, statuses: ContainerStatuses) -> list[Told]:
    incomplete = unready(statuses.init)
    sidecars = {each.name for each in pod.spec.init_containers or () if each.is_sidecar}
    not_ready = [name for name in incomplete if name in sidecars] + unready(statuses.main)
    containers = ("ContainersNotReady", _named("containers with unready status", not_ready)) if not_ready else ("", "")
    gates = [_gate(*each) for each in pod.closed_gates]
    ready = ("ReadinessGatesNotReady", ", ".join(gates)) if gates and not not_ready else containers
    initialized = ("ContainersNotInitialized", _named("containers with incomplete status", incomplete))
    return [
        ("PodReadyToStartContainers", True, "", ""),
        ("Initialized", not incomplete, *(initialized if incomplete else ("", ""))),
        ("Ready", not ready[0], *ready),
        ("ContainersReady", not containers[0], *containers),
    ]


def _named(what: str, names: Sequence[str]) -> str:
    """As Go prints a list: `[a b]`."""
    return f"{what}: [{' '.join(names)}]"


def _gate(condition: str, status: str) -> str:
    if not status:
        return f'corresponding condition of pod readiness gate "{condition}" does not exist.'
    return f'the status of pod readiness gate "{condition}" is not "True", but {status}'


def _ended(outcome: Outcome) -> list[Told]:
    """Every container has ended and none is started again."""
    why = "PodCompleted" if outcome.phase == "Succeeded" else "PodFailed"
    return [
        ("PodReadyToStartContainers", False, "", ""),
        ("Initialized", True, "PodCompleted" if outcome.phase == "Succeeded" else "", ""),
        ("Ready", False, why, ""),
        ("ContainersReady", False, why, ""),
    ]


def _stamped(pod: SimulatedPod, told: Sequence[Told], now: str) -> list[Tree]:
    """The conditions with the moment since when each is so."""
    before: dict[str, PodCondition] = {each.type: each for each in pod.status.conditions or ()}
    found: list[Tree] = []
    for kind, is_so, reason, message in told:
        status = "True" if is_so else "False"
        old = before.get(kind)
        since = old.last_transition_time if old is not None and old.status == status else now
        condition: Tree = {"type": kind, "status": status, "lastTransitionTime": since, "lastProbeTime": None}
        if pod.metadata.generation:
            condition["observedGeneration"] = pod.metadata.generation
        for field, text, was in (("reason", reason, old and old.reason), ("message", message, old and old.message)):
            if text or was:
                condition[field] = text or None  # What was said before is taken back.
        found.append(condition)
    if "PodScheduled" not in before:  # Bound by its author, not by a scheduler.
        found.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": now, "lastProbeTime": None})
    return found
