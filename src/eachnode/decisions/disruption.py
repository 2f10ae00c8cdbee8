"""How many of the pods that a disruption budget protects may be disturbed now.

Mirrors pkg/controller/disruption of Kubernetes. A number to keep is a number of pods; a share, or a number that may be
missing, is one of the pods that controllers want. No kind that is served here tells how many it wants: a pod with a
controller makes such a budget fail, and pods without one are wanted by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.workload import WorkloadPod

# Kinds that tell how many pods they want, and are not there for any pod of this cluster.
_SCALED_ELSEWHERE = (
    ("", "ReplicationController"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
)
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
        return selector is not None and selector.matches(pod.metadata.labels or {})

    @property
    def needs_scale(self) -> bool:
        """Whether it is about the pods that controllers want, not about those that are there."""
        asked = self.spec.max_unavailable is not None or self.spec.min_available is not None
        return asked and not self.counts_pods

    @property
    def counts_pods(self) -> bool:
        """Whether it asks for a number of pods, whoever wants them."""
        return self.spec.max_unavailable is None and isinstance(self.spec.min_available, int)


def budget_status(budget: Budget, pods: Iterable[WorkloadPod], now: float, stamp: str) -> dict[str, Any]:
    """The status the budget should have."""
    protected = [pod for pod in pods if budget.protects(pod)]
    if budget.needs_scale and (problem := _no_scale(protected)):
        return _failed(budget, problem, stamp)
    leaving = _still_leaving(budget.status.get("disruptedPods") or {}, protected, now)
    healthy = sum(_is_healthy(pod) and pod.metadata.name not in leaving for pod in protected)
    expected = len(protected) if budget.counts_pods else 0
    desired = _desired(budget.spec, expected)
    allowed = max(0, healthy - desired) if expected else 0
    generation = budget.metadata.generation
    reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    status: dict[str, Any] = {
        "observedGeneration": generation,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "conditions": [_condition(budget, *reason, "", generation, stamp)],
    }
    if leaving:
        status["disruptedPods"] = leaving
    return status


def _failed(budget: Budget, problem: str, stamp: str) -> dict[str, Any]:
    """The status of a budget that cannot be reckoned: nothing is allowed, and the rest stays as it was."""
    observed = budget.status.get("observedGeneration", 0)
    condition = _condition(budget, "False", "SyncFailed", problem, observed, stamp)
    return {**budget.status, "disruptionsAllowed": 0, "conditions": [condition]}


def _no_scale(pods: Iterable[WorkloadPod]) -> str:
    """Why it cannot be told how many pods are wanted, if it cannot."""
    for pod in pods:
        if (owner := pod.metadata.controller) is None:
            continue
        group = owner.api_version.rpartition("/")[0]
        if (group, owner.kind) in _SCALED_ELSEWHERE:
            return f'found no controllers for pod "{pod.metadata.name}"'
        plural = f"{owner.kind.lower()}s"
        return f"{f'{plural}.{group}' if group else plural} does not implement the scale subresource"
    return ""


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


def _condition(budget: Budget, status: str, reason: str, message: str, generation: int, stamp: str) -> dict[str, Any]:
    before: Mapping[str, Any] = next(
        (each for each in budget.status.get("conditions") or () if each.get("type") == "DisruptionAllowed"), {}
    )
    since = before.get("lastTransitionTime") if before.get("status") == status else stamp
    made = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}
    return {**made, "lastTransitionTime": since} | ({"observedGeneration": generation} if generation else {})
