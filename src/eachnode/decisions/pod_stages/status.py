"""The status that a simulated pod has in each state, as a patch a kubelet would send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from eachnode.decisions.pod_stages.stages import Outcome, matches_any
from eachnode.decisions.pod_stages.states import PodState
from eachnode.decisions.pod_stages.view import ContainerStatus, SimulatedContainer, SimulatedPod
from eachnode.objects.workload import PodCondition

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pod is and when: what its status says of its node."""

    now: str
    host_ip: str
    pod_ip: str
    bad_images: tuple[str, ...] = ()


def status_after(pod: SimulatedPod, outcome: Outcome, place: Place) -> Tree:
    """The status patch that brings the pod into the state that a stage leads to."""
    if outcome.state is PodState.OVER:
        return _ended(pod, outcome, place)
    serving = outcome.state is PodState.READY
    running = serving or outcome.state is PodState.STARTED
    status: Tree = {
        "phase": "Running" if running or outcome.state in (PodState.CRASHED, PodState.CRASH_BACK_OFF) else "Pending",
        "conditions": _conditions(pod, _truths(pod, outcome.state, running, serving), place.now),
        "containerStatuses": [_container(pod, each, outcome, place) for each in pod.spec.containers],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_init_container(each, outcome, place) for each in pod.spec.init_containers]
    if pod.status.start_time is None:
        status["startTime"] = place.now
    if place.host_ip:
        status["hostIP"] = place.host_ip
        status["hostIPs"] = [{"ip": place.host_ip}]
    if running and place.pod_ip and not pod.status.pod_ip:
        status["podIP"] = place.pod_ip
        status["podIPs"] = [{"ip": place.pod_ip}]
    return status


def refused(pod: SimulatedPod, reason: str, message: str, now: str) -> Tree:
    """The status of a pod that the kubelet did not admit."""
    return {"phase": "Failed", "reason": reason, "message": message, "startTime": pod.status.start_time or now}


def _truths(pod: SimulatedPod, state: PodState, running: bool, serving: bool) -> Mapping[str, str]:
    """Condition type → its reason when it is False, or nothing when it is True."""
    created = running or state in (PodState.CRASHED, PodState.CRASH_BACK_OFF)
    waiting = "" if serving else "ContainersNotReady"
    not_initialized = "ContainersNotInitialized" if pod.spec.init_containers else ""
    return {
        "PodReadyToStartContainers": "",
        "Initialized": "" if created else not_initialized,
        "Ready": waiting,
        "ContainersReady": waiting,
    }


def _conditions(pod: SimulatedPod, truths: Mapping[str, str], now: str) -> list[Tree]:
    before: dict[str, PodCondition] = {each.type: each for each in pod.status.conditions or ()}
    unready = ", ".join(each.name for each in pod.spec.containers)
    found = []
    for kind, reason in truths.items():
        status = "False" if reason else "True"
        old = before.get(kind)
        since = old.last_transition_time if old is not None and old.status == status else now
        condition: Tree = {"type": kind, "status": status, "lastTransitionTime": since, "lastProbeTime": None}
        if reason:
            condition |= {"reason": reason, "message": f"containers with unready status: [{unready}]"}
        elif old is not None and old.status != status:
            condition |= {"reason": None, "message": None}
        found.append(condition)
    if "PodScheduled" not in before:  # Bound by its author, not by a scheduler.
        found.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": now, "lastProbeTime": None})
    return found


def _container(pod: SimulatedPod, container: SimulatedContainer, outcome: Outcome, place: Place) -> Tree:
    before = next((each for each in pod.status.container_statuses or () if each.name == container.name), None)
    count = before.restart_count if before is not None else 0
    was_stopped = before is not None and before.state.running is None and before.state.waiting is not None
    serving = outcome.state is PodState.READY
    if outcome.state is PodState.STARTED and was_stopped and _waited_to_restart(pod):
        count += 1
    status: Tree = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": serving,
        "started": serving or outcome.state is PodState.STARTED,
        "restartCount": count,
        "state": _state(pod, container, outcome, place),
        "lastState": _last_state(before),
    }
    if outcome.state in (PodState.STARTED, PodState.READY, PodState.CRASHED, PodState.CRASH_BACK_OFF):
        status["imageID"] = f"simulated://{container.image}"
        status["containerID"] = f"simulated://{crc32(f'{pod.metadata.uid}/{container.name}/{count}'.encode()):08x}"
    return status


def _waited_to_restart(pod: SimulatedPod) -> bool:
    return any(
        each.state.waiting is not None and each.state.waiting.reason == "CrashLoopBackOff"
        for each in pod.status.container_statuses or ()
    )


def _state(pod: SimulatedPod, container: SimulatedContainer, outcome: Outcome, place: Place) -> Tree:
    match outcome.state:
        case PodState.STARTED | PodState.READY:
            before = next((each for each in pod.status.container_statuses or () if each.name == container.name), None)
            running = before.state.running if before is not None else None
            return {"running": {"startedAt": running.started_at if running is not None else place.now}}
        case PodState.CRASHED:
            return {"terminated": _termination(outcome, place)}
        case PodState.CRASH_BACK_OFF:
            name = f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
            told = f"back-off restarting failed container={container.name} pod={name}"
            return {"waiting": {"reason": "CrashLoopBackOff", "message": told}}
        case PodState.PULL_FAILED | PodState.PULL_BACK_OFF if matches_any(container.image, place.bad_images):
            return {"waiting": _pull_trouble(container.image, outcome.state)}
    return {"waiting": {"reason": "ContainerCreating"}}


def pull_error(image: str) -> str:
    """What a container runtime says of an image that is nowhere to be found."""
    return f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'


def _pull_trouble(image: str, state: PodState) -> Tree:
    if state is PodState.PULL_FAILED:
        return {"reason": "ErrImagePull", "message": pull_error(image)}
    told = f'Back-off pulling image "{image}": ErrImagePull: {pull_error(image)}'
    return {"reason": "ImagePullBackOff", "message": told}


def _termination(outcome: Outcome, place: Place) -> Tree:
    ended: Tree = {"exitCode": outcome.exit_code, "reason": outcome.reason, "finishedAt": place.now}
    if outcome.message:
        ended["message"] = outcome.message
    return ended


def _last_state(before: ContainerStatus | None) -> Tree:
    """How the container ended the last time, if it ever did."""
    if before is None:
        return {}
    ended = before.state.terminated or before.last_state.terminated
    if ended is None:
        return {}
    return {"terminated": {"exitCode": ended.exit_code, "reason": ended.reason, "finishedAt": ended.finished_at}}


def _init_container(container: SimulatedContainer, outcome: Outcome, place: Place) -> Tree:
    started = outcome.state not in (PodState.CREATING, PodState.PULL_FAILED, PodState.PULL_BACK_OFF)
    state: Tree = {"waiting": {"reason": "PodInitializing"}}
    if started and container.is_sidecar:
        state = {"running": {"startedAt": place.now}}
    elif started:
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": place.now}}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": f"simulated://{container.image}" if started else "",
        "ready": started,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _ended(pod: SimulatedPod, outcome: Outcome, place: Place) -> Tree:
    """Every container has ended and none is started again."""
    succeeded = outcome.phase == "Succeeded"
    code = 0 if succeeded else outcome.exit_code
    reason = "Completed" if succeeded else outcome.reason
    statuses: Sequence[Tree] = [
        {
            "name": each.name,
            "image": each.image,
            "imageID": f"simulated://{each.image}",
            "ready": False,
            "started": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": place.now}},
            "lastState": {},
        }
        for each in pod.spec.containers
    ]
    why = "PodCompleted" if succeeded else "PodFailed"
    status: Tree = {
        "phase": outcome.phase,
        "conditions": _conditions(pod, {"Ready": why, "ContainersReady": why}, place.now),
        "containerStatuses": statuses,
    }
    if outcome.message:
        status["message"] = outcome.message
    return status
