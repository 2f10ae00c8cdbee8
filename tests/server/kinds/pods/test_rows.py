"""Pods in tables."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.kind import PODS_KIND
from tests.server.kinds.judging import NOW, cells

AGO = "2023-11-14T22:08:20Z"  # Five minutes before now.


def shown(status: Tree, *, spec: Tree | None = None, **metadata: Any) -> dict[str, Any]:
    about = {"name": "p", "creationTimestamp": AGO, **metadata}
    tree = {"metadata": about, "spec": {"containers": [{"name": "c"}], **(spec or {})}, "status": status}
    return cells(PODS_KIND, tree, now=NOW)


def container(state: Tree, **fields: Any) -> Tree:
    return {"name": "c", "state": state, "restartCount": 0, **fields}


def test_a_running_pod() -> None:
    row = shown(
        {
            "phase": "Running",
            "podIPs": [{"ip": "10.0.0.1"}],
            "containerStatuses": [
                container(
                    {"running": {}},
                    ready=True,
                    restartCount=3,
                    lastState={"terminated": {"finishedAt": AGO}},
                )
            ],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "www.example.com/gate", "status": "True"}],
        },
        spec={"nodeName": "n", "readinessGates": [{"conditionType": "www.example.com/gate"}, {"conditionType": "x"}]},
    )
    assert row == {
        "Name": "p",
        "Ready": "1/1",
        "Status": "Running",
        "Restarts": "3 (5m ago)",
        "Age": "5m",
        "IP": "10.0.0.1",
        "Node": "n",
        "Nominated Node": "<none>",
        "Readiness Gates": "1/2",
    }


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {"phase": "Running", "containerStatuses": [container({"waiting": {"reason": "CrashLoopBackOff"}})]},
            "CrashLoopBackOff",
        ),
        (
            {"phase": "Succeeded", "containerStatuses": [container({"terminated": {"reason": "Completed"}})]},
            "Completed",
        ),
        ({"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 3}})]}, "ExitCode:3"),
        ({"phase": "Failed", "containerStatuses": [container({"terminated": {"signal": 9}})]}, "Signal:9"),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    container({"terminated": {"reason": "Completed"}}),
                    container({"running": {}}, ready=True),
                ],
            },
            "NotReady",
        ),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    container({"terminated": {"reason": "Completed"}}),
                    container({"running": {}}, ready=True),
                ],
            },
            "Running",
        ),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "SchedulingGated",
        ),
    ],
)
def test_one_word_says_how_a_pod_is(status: Tree, word: str) -> None:
    assert shown(status)["Status"] == word


@pytest.mark.parametrize(
    ("init", "word"),
    [
        ({"state": {"running": {}}}, "Init:0/2"),
        ({"state": {"waiting": {"reason": "PodInitializing"}}}, "Init:0/2"),
        ({"state": {"waiting": {"reason": "ImagePullBackOff"}}}, "Init:ImagePullBackOff"),
        ({"state": {"terminated": {"exitCode": 2}}}, "Init:ExitCode:2"),
        ({"state": {"terminated": {"exitCode": 2, "signal": 9}}}, "Init:Signal:9"),
        ({"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}, "Init:Error"),
    ],
)
def test_a_pod_that_starts_says_how_far_it_is(init: Tree, word: str) -> None:
    spec = {"initContainers": [{"name": "i"}, {"name": "j"}]}
    assert shown({"phase": "Pending", "initContainerStatuses": [{"name": "i", **init}]}, spec=spec)["Status"] == word


def test_sidecars_count_among_the_containers() -> None:
    spec = {"initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "once"}]}
    status = {
        "phase": "Running",
        "initContainerStatuses": [
            {"name": "side", "started": True, "ready": True, "restartCount": 2, "state": {"running": {}}},
            {"name": "once", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
        ],
        "containerStatuses": [container({"running": {}}, ready=True, restartCount=1)],
    }
    row = shown(status, spec=spec)
    assert (row["Ready"], row["Status"], row["Restarts"]) == ("2/2", "Running", "3")


def test_a_pod_that_leaves_says_so_unless_it_has_ended() -> None:
    assert shown({"phase": "Running"}, deletionTimestamp=AGO)["Status"] == "Terminating"
    assert shown({"phase": "Failed"}, deletionTimestamp=AGO)["Status"] == "Failed"
    assert shown({"phase": "Running", "reason": "NodeLost"}, deletionTimestamp=AGO)["Status"] == "Unknown"
