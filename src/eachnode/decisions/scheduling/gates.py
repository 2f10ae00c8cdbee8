"""A pod with scheduling gates is not tried before whoever set them takes them away."""

from __future__ import annotations

from eachnode.objects.workload import WorkloadPod

REASON = "SchedulingGated"
MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"


def is_gated(pod: WorkloadPod) -> bool:
    """Whether somebody keeps the pod from being tried."""
    return bool(pod.spec.scheduling_gates)
