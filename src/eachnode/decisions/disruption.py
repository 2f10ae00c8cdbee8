"""How many of the pods that a disruption budget protects may be disturbed now.

Mirrors pkg/controller/disruption of Kubernetes, with one simplification: as many pods are expected as there are,
because the kinds that could say otherwise (those with a scale) are not served here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.workload import WorkloadPod

FORGOTTEN_AFTER = 120.0  # Seconds after which an eviction that led to nothing is no longer counted.


class BudgetSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Whom the budget protects, and how many of them are to be there."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A PodDisruptionBudget, as the one who reckons it reads it."""

    metadata: Metadata
    spec: BudgetSpec = BudgetSpec()
    status: dict[str, Any] = {}

    def protects(self, pod: WorkloadPod) -> bool:
        """Whether the pod counts."""
        selector = self.spec.selector
        return selector is not None and selector.matches(pod.metadata.labels or {}) and not pod.is_over


def budget_status(budget: Budget, pods: Iterable[WorkloadPod], now: float, stamp: str) -> dict[str, Any]:
    """The status the budget should have."""
    protected = [pod for pod in pods if budget.protects(pod)]
    leaving = _still_leaving(budget.status.get("disruptedPods") or {}, protected, now)
    healthy = sum(_is_healthy(pod) and pod.metadata.name not in leaving for pod in protected)
    expected = len(protected)
    desired = _desired(budget.spec, expected)
    allowed = max(0, healthy - desired) if expected else 0
    status: dict[str, Any] = {
        "observedGeneration": budget.metadata.generation,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "conditions": [_condition(budget, allowed, stamp)],
    }
    if leaving:
        status["disruptedPods"] = leaving
    return status


def _is_healthy(pod: WorkloadPod) -> bool:
    ready = pod.condition("Ready")
    return ready is not None and ready.status == "True" and pod.metadata.deletion_timestamp is None


def _still_leaving(told: Mapping[str, str], pods: Iterable[WorkloadPod], now: float) -> dict[str, str]:
    """The evictions that were granted and have not shown yet."""
    present = {pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None}
    return {name: since for name, since in told.items() if name in present and now - seconds(since) < FORGOTTEN_AFTER}


def _desired(spec: BudgetSpec, expected: int) -> int:
    if spec.max_unavailable is not None:
        return max(0, expected - _scaled(spec.max_unavailable, expected))
    return _scaled(spec.min_available, expected) if spec.min_available is not None else 0


def _scaled(amount: int | str, total: int) -> int:
    """A number as it is, a percentage of the total rounded up."""
    if isinstance(amount, int):
        return amount
    return -(-int(amount.rstrip("%")) * total // 100)


def _condition(budget: Budget, allowed: int, stamp: str) -> dict[str, Any]:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    before: Mapping[str, Any] = next(
        (each for each in budget.status.get("conditions") or () if each.get("type") == "DisruptionAllowed"), {}
    )
    since = before.get("lastTransitionTime") if before.get("status") == status else stamp
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": since,
        "observedGeneration": budget.metadata.generation,
    }
