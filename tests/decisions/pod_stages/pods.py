"""Pods and nodes for the tests of pod stages."""

from __future__ import annotations

from typing import Any

import msgspec

from eachnode.decisions.pod_stages.containers import Place
from eachnode.decisions.pod_stages.stages import Outcome
from eachnode.decisions.pod_stages.states import PodState
from eachnode.decisions.pod_stages.status import status_after
from eachnode.decisions.pod_stages.view import SimulatedNode, SimulatedPod

PLACE = Place(now="2026-01-01T00:00:00Z", host_ip="10.0.0.1", pod_ip="10.128.0.1", bad_images=("*no-such*",))
LATER = Place(now="2026-01-01T00:01:00Z", host_ip="10.0.0.1", pod_ip="10.128.0.1", bad_images=("*no-such*",))


def pod(status: dict[str, Any] | None = None, image: str = "i:1", **spec: Any) -> SimulatedPod:
    """A pod on node-1 with one container, or those given."""
    container = {"name": "c", "image": image, **spec.pop("container", {})}
    tree = {
        "metadata": {"namespace": "n", "name": "p", "uid": "u", **spec.pop("metadata", {})},
        "spec": {"nodeName": "node-1", "containers": [container], **spec},
        "status": status or {"phase": "Pending"},
    }
    return msgspec.convert(tree, SimulatedPod)


def node(allocatable: dict[str, str] | None = None, *taints: str, **labels: str) -> SimulatedNode:
    """node-1, with taints like `k:NoExecute`."""
    spec = {"taints": [dict(zip(("key", "effect"), taint.split(":"), strict=True)) for taint in taints]}
    tree = {
        "metadata": {"name": "node-1", "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable or {"cpu": "4", "pods": "110"}},
    }
    return msgspec.convert(tree, SimulatedNode)


def walk(*states: PodState | Outcome, **spec: Any) -> dict[str, Any]:
    """The status of a pod that was led through these states, with a minute between the first and the others."""
    status: dict[str, Any] = {"phase": "Pending"}
    place = PLACE
    for state in states:
        outcome = state if isinstance(state, Outcome) else Outcome(state)
        change = status_after(pod(status, **spec), outcome, place)
        known = {each["type"]: each for each in status.get("conditions", [])}
        for each in change["conditions"]:
            merged = {**known.get(each["type"], {}), **each}
            known[each["type"]] = {key: value for key, value in merged.items() if value is not None}
        status = {**status, **change, "conditions": list(known.values())}
        place = LATER
    return status
