"""What a disruption budget allows now.

Elsewhere a controller keeps the counts in the budget's status. Where nobody does (the status has not seen the newest
spec), they are counted from the pods when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.objects.clock import seconds, timestamp
from eachnode.objects.resources import PODS
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.status import ApiError, Cause, Details, Forbidden, TooManyRequests
from eachnode.server.kind import Reader, Tree
from eachnode.server.kinds.pods.conditions import is_true

_GONE_AFTER = 120.0  # Seconds in which a pod that was given up is expected to go.
_MOST_PENDING = 2000
_NO_CONTROLLER = "found no controllers for its pods"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


@dataclass(frozen=True, slots=True)
class Allowance:
    """The counts of a budget."""

    healthy: int
    desired: int
    allowed: int
    pending: int  # Pods that were given up and are not gone.
    problem: str = ""  # Why nothing could be counted.
    unseen: bool = False  # Whoever keeps the counts has not seen the newest spec.
    condition: str = ""  # What the controller says, when it keeps the counts: ` (reason): message`.


def selects(budget: Tree, pod: Tree) -> bool:
    """Whether a budget is about a pod."""
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    parsed = msgspec.convert(selector, LabelSelector)
    return not parsed.problem and parsed.matches(pod["metadata"].get("labels") or {})


def allowance(budget: Tree, reader: Reader, now: float) -> Allowance:
    """What a budget allows: as its status says, or as its pods are."""
    status = budget.get("status") or {}
    pending = len(status.get("disruptedPods") or ())
    if _is_unseen(budget):
        if status.get("conditions"):  # Somebody keeps the counts, and has not got to the newest spec.
            return Allowance(0, 0, 0, pending, unseen=True)
        pods = [pod for pod in reader.list(PODS, budget["metadata"]["namespace"]) if selects(budget, pod)]
        return _counted(budget, pods, pending, now)
    condition: Tree = next(
        (item for item in status.get("conditions") or () if item.get("type") == "DisruptionAllowed"), {}
    )
    message = condition.get("message", "") if condition.get("status") == "False" else ""
    failed = message if condition.get("reason") == "SyncFailed" else ""
    return Allowance(
        healthy=status.get("currentHealthy", 0),
        desired=status.get("desiredHealthy", 0),
        allowed=status.get("disruptionsAllowed", 0),
        pending=pending,
        problem=failed,
        condition=f" ({condition.get('reason', '')}): {message}" if message else "",
    )


def _is_unseen(budget: Tree) -> bool:
    observed = (budget.get("status") or {}).get("observedGeneration", 0)
    return bool(observed < budget["metadata"].get("generation", 0))


def _counted(budget: Tree, pods: Sequence[Tree], pending: int, now: float) -> Allowance:
    given_up: dict[str, str] = (budget.get("status") or {}).get("disruptedPods") or {}
    healthy = sum(_is_healthy(pod, given_up, now) for pod in pods)
    spec = budget.get("spec") or {}
    at_least, at_most_less = spec.get("minAvailable"), spec.get("maxUnavailable")
    if at_most_less is None and isinstance(at_least, int):
        expected, desired = len(pods), at_least
    elif scaleless := _without_scale(pods):
        return Allowance(healthy, 0, 0, pending, problem=scaleless)
    else:
        # Pods without a controller are expected by nobody.
        expected = 0
        desired = 0 if at_most_less is not None else _share(at_least, expected)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return Allowance(healthy, desired, allowed, pending)


def _share(amount: Any, of: int) -> int:
    """A percentage of a number, rounded up."""
    return -(-int(str(amount).removesuffix("%")) * of // 100) if amount is not None else 0


def _is_healthy(pod: Tree, given_up: dict[str, str], now: float) -> bool:
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata or not is_true(pod.get("status") or {}, "Ready"):
        return False
    moment = given_up.get(metadata["name"])
    return moment is None or seconds(moment) + _GONE_AFTER <= now


def _without_scale(pods: Iterable[Tree]) -> str:
    """Shares and losses are of the number of pods that a controller wants; no kind served here tells its number."""
    for pod in pods:
        for owner in pod["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                group = owner.get("apiVersion", "").rpartition("/")[0]
                plural = f"{owner.get('kind', '').lower()}s"
                return f"{plural}.{group} does not implement the scale subresource" if group else _NO_CONTROLLER
    return ""


def refusal_of(name: str, counts: Allowance) -> ApiError | None:
    """Why a budget of that name does not allow one more pod to go, or None when it does."""
    refused = f"The disruption budget {name} does not allow evicting pods currently"
    if counts.unseen:
        cause = _cause(f"The disruption budget {name} is still being processed by the server.")
        return TooManyRequests(_REFUSED, details=Details(causes=(cause,), retry_after_seconds=10))
    if counts.allowed < 0:
        return _forbidden(
            name, "pdb disruptions allowed is negative", f"{refused}: pdb disruptions allowed is negative"
        )
    if counts.pending > _MOST_PENDING:
        detail = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        return _forbidden(name, detail, f"{refused}: too many pending evictions not confirmed by PDB controller")
    if counts.allowed > 0:
        return None
    if counts.problem:
        sentence = f"{refused} because it failed sync: {counts.problem}"
    elif counts.healthy <= counts.desired:
        needs = f"needs {counts.desired} healthy pods and has {counts.healthy} currently"
        sentence = f"The disruption budget {name} {needs}"
    else:
        sentence = f"{refused}{counts.condition}"
    return TooManyRequests(_REFUSED, details=Details(causes=(_cause(sentence),)))


def _forbidden(name: str, detail: str, sentence: str) -> Forbidden:
    message = f'poddisruptionbudget.policy "{name}" is forbidden: {detail}'
    details = Details(name=name, group="policy", kind="poddisruptionbudget", causes=(_cause(sentence),))
    return Forbidden(message, details=details)


def _cause(sentence: str) -> Cause:
    return Cause(reason="DisruptionBudget", message=sentence)


def give_up(budget: Tree, pod: str, counts: Allowance, now: float) -> None:
    """Notes in a budget that one of its pods will go."""
    status = budget.setdefault("status", {})
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: timestamp(now)}
    if _is_unseen(budget):
        return
    status["disruptionsAllowed"] = counts.allowed - 1
    if counts.allowed == 1:
        _set_insufficient(status, now)


def _set_insufficient(status: Tree, now: float) -> None:
    conditions = [item for item in status.get("conditions") or () if item.get("type") != "DisruptionAllowed"]
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": timestamp(now),
        "reason": "InsufficientPods",
        "message": "",
    }
    status["conditions"] = [*conditions, condition]
