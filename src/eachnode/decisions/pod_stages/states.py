"""The one word for how far a pod has come on its node, derived from what its status says and nothing else."""

from __future__ import annotations

from enum import StrEnum

from eachnode.decisions.pod_stages.view import ContainerStatus, SimulatedPod


class PodState(StrEnum):
    """Where a simulated pod stands."""

    BOUND = "bound"  # The kubelet has not taken notice yet.
    CREATING = "creating"  # Accepted; images are being pulled.
    PULL_FAILED = "pull-failed"  # ErrImagePull
    PULL_BACK_OFF = "pull-back-off"  # ImagePullBackOff
    STARTED = "started"  # Runs, but is not ready.
    READY = "ready"
    CRASHED = "crashed"  # A container has ended and is to be started again.
    CRASH_BACK_OFF = "crash-back-off"  # CrashLoopBackOff
    INTERRUPTED = "interrupted"  # Its node was rebooted: it starts again, and nobody holds that against it.
    OVER = "over"  # Failed or Succeeded: it stays as it is.
    LEAVING = "leaving"  # Its deletion has begun.


LOST = "Unknown"  # The reason of a container that ended with its node: nobody knows how.
_BY_REASON = {
    "ContainerCreating": PodState.CREATING,
    "PodInitializing": PodState.CREATING,
    "ErrImagePull": PodState.PULL_FAILED,
    "ImagePullBackOff": PodState.PULL_BACK_OFF,
    "CrashLoopBackOff": PodState.CRASH_BACK_OFF,
}


def state_of(pod: SimulatedPod) -> PodState:
    """How far the pod has come."""
    if pod.metadata.deletion_timestamp is not None:
        return PodState.LEAVING
    if pod.status.phase in ("Failed", "Succeeded"):
        return PodState.OVER
    if pod.status.start_time is None:
        return PodState.BOUND
    for status in pod.status.init_container_statuses or ():
        if status.state.waiting is not None:
            return _BY_REASON.get(status.state.waiting.reason, PodState.CREATING)
    for status in pod.status.container_statuses or ():
        state = _trouble(status)
        if state is not None:
            return state
    ready = pod.condition("Ready")
    serves = ready is not None and ready.status == "True" and not pod.closed_gates
    return PodState.READY if serves else PodState.STARTED


def _trouble(status: ContainerStatus) -> PodState | None:
    if status.state.waiting is not None:
        return _BY_REASON.get(status.state.waiting.reason, PodState.CREATING)
    if status.state.terminated is not None:
        return PodState.INTERRUPTED if status.state.terminated.reason == LOST else PodState.CRASHED
    return None


def restarts(pod: SimulatedPod) -> int:
    """How often its containers were started again; the worst of them counts."""
    return max((status.restart_count for status in pod.status.container_statuses or ()), default=0)
