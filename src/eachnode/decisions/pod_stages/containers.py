"""The statuses of a simulated pod's containers in each state, as a kubelet tells them.

Init containers run before the others, one after another; a sidecar among them keeps running. What a container has been
through (when it started, how often, how it ended) is carried over from its status before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import msgspec

from eachnode.decisions.pod_stages.stages import Outcome, back_off, matches_any
from eachnode.decisions.pod_stages.states import PodState
from eachnode.decisions.pod_stages.view import ContainerStatus, SimulatedContainer, SimulatedPod

Tree = dict[str, Any]

PULLING = (PodState.PULL_FAILED, PodState.PULL_BACK_OFF)
INITIALIZING = "PodInitializing"
CREATING = "ContainerCreating"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pod is and when: what its status says of its node."""

    now: str
    host_ip: str
    pod_ip: str
    bad_images: tuple[str, ...] = ()


class ContainerStatuses:
    """Both lists of statuses that a stage leads to."""

    def __init__(self, pod: SimulatedPod, outcome: Outcome, place: Place) -> None:
        self._pod = pod
        self._outcome = outcome
        self._place = place
        self._before = {
            each.name: each
            for each in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        }
        containers = pod.spec.init_containers or ()
        # The init containers from this one on have not had their turn.
        self._reached = len(containers)
        if outcome.state is PodState.CREATING:
            self._reached = 0
        elif outcome.state in PULLING:
            self._reached = next((n for n, each in enumerate(containers) if self._is_missing(each)), len(containers))
        self._initialized = self._reached == len(containers)
        self._restarting = any(
            each.state.waiting is not None and each.state.waiting.reason == "CrashLoopBackOff"
            for each in pod.status.container_statuses or ()
        )
        self.init = [self._init(number, each) for number, each in enumerate(containers)]
        self.main = [self._main(each) for each in pod.spec.containers]

    def _is_missing(self, container: SimulatedContainer) -> bool:
        return matches_any(container.image, self._place.bad_images)

    def _init(self, number: int, container: SimulatedContainer) -> Tree:
        if number > self._reached:
            return self._status(container, _waiting(INITIALIZING))
        if number == self._reached:
            state = self._pull_trouble(container) if self._outcome.state in PULLING else _waiting(INITIALIZING)
            return self._status(container, state)
        if container.is_sidecar:
            if self._outcome.state is PodState.OVER:
                return self._status(container, self._ended(container, 0, "Completed"))
            if self._outcome.state is PodState.INTERRUPTED:
                return self._status(container, self._ended(container, self._outcome.exit_code, self._outcome.reason))
            return self._status(container, self._running(container), ready=True)
        return self._status(container, self._ended(container, 0, "Completed"), ready=True)

    def _main(self, container: SimulatedContainer) -> Tree:
        outcome = self._outcome
        match outcome.state:
            case PodState.STARTED | PodState.READY:
                return self._status(container, self._running(container), ready=outcome.state is PodState.READY)
            case PodState.CRASHED | PodState.INTERRUPTED:
                return self._status(container, self._ended(container, outcome.exit_code, outcome.reason))
            case PodState.OVER if outcome.phase == "Succeeded":
                return self._status(container, self._ended(container, 0, "Completed"))
            case PodState.OVER:
                return self._status(container, self._ended(container, outcome.exit_code, outcome.reason))
            case PodState.CRASH_BACK_OFF:
                return self._status(container, self._crash_back_off(container))
            case PodState.PULL_FAILED | PodState.PULL_BACK_OFF if self._initialized:
                if self._is_missing(container):
                    return self._status(container, self._pull_trouble(container))
                return self._status(container, self._running(container), ready=True)
        return self._status(container, _waiting(INITIALIZING if self._pod.spec.init_containers else CREATING))

    def _status(self, container: SimulatedContainer, state: Tree, *, ready: bool = False) -> Tree:
        before = self._before.get(container.name)
        count = self._count(container)
        status: Tree = {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": ready,
            "started": "running" in state,
            "restartCount": count,
            "state": state,
            "lastState": _last_state(before, state),
        }
        if "waiting" not in state or state["waiting"]["reason"] == "CrashLoopBackOff":
            status["imageID"] = f"simulated://{container.image}"
            status["containerID"] = self._id(container, count)
        return status

    def _count(self, container: SimulatedContainer) -> int:
        """How often it was started again, this time included."""
        before = self._before.get(container.name)
        if before is None:
            return 0
        had_ended = before.state.terminated is not None or (before.state.waiting is not None and self._restarting)
        starts = self._outcome.state in (PodState.STARTED, PodState.READY)
        lasts = container.is_sidecar or container in self._pod.spec.containers
        return before.restart_count + (had_ended and starts and lasts)

    def _id(self, container: SimulatedContainer, count: int) -> str:
        return f"simulated://{crc32(f'{self._pod.metadata.uid}/{container.name}/{count}'.encode()):08x}"

    def _running(self, container: SimulatedContainer) -> Tree:
        return {"running": {"startedAt": self._started_at(container)}}

    def _started_at(self, container: SimulatedContainer) -> str:
        before = self._before.get(container.name)
        running = before.state.running if before is not None else None
        return (running.started_at if running is not None else None) or self._place.now

    def _ended(self, container: SimulatedContainer, exit_code: int, reason: str) -> Tree:
        before = self._before.get(container.name)
        if before is not None and before.state.terminated is not None:
            return {"terminated": _tree(before.state.terminated)}
        ended: Tree = {
            "exitCode": exit_code,
            "reason": reason,
            "startedAt": self._started_at(container),
            "finishedAt": self._place.now,
            "containerID": self._id(container, self._count(container)),
        }
        if self._outcome.message and exit_code:
            ended["message"] = self._outcome.message
        return {"terminated": ended}

    def _crash_back_off(self, container: SimulatedContainer) -> Tree:
        metadata = self._pod.metadata
        name = f"{metadata.name}_{metadata.namespace}({metadata.uid})"
        delay = _spelled(back_off(self._count(container) + 1))
        told = f"back-off {delay} restarting failed container={container.name} pod={name}"
        return _waiting("CrashLoopBackOff", told)

    def _pull_trouble(self, container: SimulatedContainer) -> Tree:
        if self._outcome.state is PodState.PULL_FAILED:
            return _waiting("ErrImagePull", pull_error(container.image))
        told = f'Back-off pulling image "{container.image}": ErrImagePull: {pull_error(container.image)}'
        return _waiting("ImagePullBackOff", told)


def _spelled(seconds: float) -> str:
    """A pause as a kubelet says it: `40s`, `1m20s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def pull_error(image: str) -> str:
    """What a container runtime says of an image that is nowhere to be found."""
    return f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'


def _waiting(reason: str, message: str = "") -> Tree:
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def _last_state(before: ContainerStatus | None, state: Mapping[str, object]) -> Tree:
    """How the container ended the last time, if it ever did before this."""
    if before is None:
        return {}
    ended = before.last_state.terminated if "terminated" in state else before.state.terminated
    ended = ended or before.last_state.terminated
    return {} if ended is None else {"terminated": _tree(ended)}


def _tree(value: msgspec.Struct) -> Tree:
    tree: Tree = msgspec.to_builtins(value)
    return {key: each for key, each in tree.items() if each not in (None, "") or key == "exitCode"}


def unready(statuses: Sequence[Tree]) -> list[str]:
    """The names of those that are not ready."""
    return [status["name"] for status in statuses if not status["ready"]]
