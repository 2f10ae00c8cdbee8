"""The conditions of a pod that the server itself sets."""

from __future__ import annotations

from eachnode.objects.clock import timestamp
from eachnode.server.kind import Tree


def set_condition(status: Tree, kind: str, value: str, now: float, *, reason: str = "", message: str = "") -> None:
    """Sets one condition; its time moves when its value does."""
    conditions: list[Tree] = status.setdefault("conditions", [])
    index = next((index for index, known in enumerate(conditions) if known.get("type") == kind), None)
    moment = timestamp(now)
    if index is not None and conditions[index].get("status") == value:
        moment = conditions[index].get("lastTransitionTime") or moment
    condition: Tree = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": moment}
    condition |= {"reason": reason} if reason else {}
    condition |= {"message": message} if message else {}
    if index is None:
        conditions.append(condition)
    else:
        conditions[index] = condition


def is_true(status: Tree, kind: str) -> bool:
    """Whether a condition is there and true."""
    return any(item.get("type") == kind and item.get("status") == "True" for item in status.get("conditions") or ())
