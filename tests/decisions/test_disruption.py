"""What the status of a disruption budget should be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.decisions.disruption import Budget, budget_status
from eachnode.objects.workload import WorkloadPod

STAMP = "2026-01-01T00:00:00Z"
OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}


def budget(**spec: Any) -> Budget:
    about = {"name": "b", "namespace": "ns", "generation": 2}
    return msgspec.convert({"metadata": about, "spec": {"selector": {"matchLabels": {"a": "b"}}, **spec}}, Budget)


def pod(name: str, *, owned: bool = False, phase: str = "Running", ready: bool = True) -> WorkloadPod:
    owners = [OWNER] if owned else []
    about = {"name": name, "namespace": "ns", "labels": {"a": "b"}, "ownerReferences": owners}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    tree = {"metadata": about, "spec": {"containers": []}, "status": {"phase": phase, "conditions": conditions}}
    return msgspec.convert(tree, WorkloadPod)


def counts(status: dict[str, Any]) -> tuple[int, ...]:
    return tuple(status[name] for name in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"))


def test_a_number_to_keep_counts_all_pods_even_those_that_ended() -> None:
    pods = [pod("x", owned=True), pod("y"), pod("z", phase="Succeeded", ready=False)]
    assert counts(budget_status(budget(minAvailable=1), pods, 0.0, STAMP)) == (3, 2, 1, 1)


@pytest.mark.parametrize("spec", [{"minAvailable": "50%"}, {"maxUnavailable": 1}, {}])
def test_pods_that_nobody_wants_are_not_expected(spec: dict[str, Any]) -> None:
    status = budget_status(budget(**spec), [pod("x"), pod("y")], 0.0, STAMP)
    assert (status["expectedPods"], status["disruptionsAllowed"]) == (0, 0)
    assert status["conditions"][0]["reason"] == "InsufficientPods"


@pytest.mark.parametrize("spec", [{"minAvailable": "50%"}, {"maxUnavailable": 1}])
def test_a_share_of_the_pods_of_a_daemon_set_cannot_be_told(spec: dict[str, Any]) -> None:
    status = budget_status(budget(**spec), [pod("x", owned=True)], 0.0, STAMP)
    assert status == {
        "disruptionsAllowed": 0,
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "False",
                "reason": "SyncFailed",
                "message": "daemonsets.apps does not implement the scale subresource",
                "lastTransitionTime": STAMP,
            }
        ],
    }
