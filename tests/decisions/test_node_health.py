"""What is to be made of a node's health."""

from __future__ import annotations

import msgspec
import pytest

from eachnode.decisions.node_health import (
    TaintedPod,
    WatchedNode,
    ZoneHealth,
    expulsion_rate,
    leaves_at,
    silent_conditions,
    taints_for,
    zone_health,
)
from eachnode.objects.clock import seconds
from eachnode.objects.taints import Taint

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def node(ready: str = "True", *taints: str, unschedulable: bool = False, **conditions: str) -> WatchedNode:
    told = {"Ready": ready, **conditions} if ready else conditions
    tree = {
        "metadata": {"name": "n", "creationTimestamp": THEN},
        "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
        "status": {"conditions": [{"type": kind, "status": status} for kind, status in told.items()]},
    }
    return msgspec.convert(tree, WatchedNode)


def with_condition(kind: str, status: str) -> WatchedNode:
    conditions = [{"type": "Ready", "status": "True"}, {"type": kind, "status": status}]
    return msgspec.convert({"metadata": {"name": "n"}, "status": {"conditions": conditions}}, WatchedNode)


def _taint(text: str) -> dict[str, str]:
    key, effect = text.split(":")
    return {"key": key, "effect": effect}


def wanted(node: WatchedNode, expel: bool | None = None) -> list[str] | None:
    taints = taints_for(node, NOW, expel)
    return None if taints is None else [str(taint) for taint in taints]


@pytest.mark.parametrize(
    ("condition", "status", "key"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
    ],
)
def test_a_condition_becomes_its_taint_and_takes_it_along(condition: str, status: str, key: str) -> None:
    troubled = node(status) if condition == "Ready" else with_condition(condition, status)
    assert wanted(troubled) == [f"node.kubernetes.io/{key}:NoSchedule"]
    assert wanted(node("True", f"node.kubernetes.io/{key}:NoSchedule")) == []


def test_a_cordoned_node_is_tainted_and_a_foreign_taint_stays() -> None:
    cordoned = node("True", "mine:NoSchedule", unschedulable=True)
    assert wanted(cordoned) == ["mine:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"]


def test_a_node_with_the_right_taints_is_left_alone() -> None:
    assert wanted(node("True")) is None
    assert wanted(node("False", "node.kubernetes.io/not-ready:NoSchedule")) is None


def test_a_failed_node_is_expelled_from_when_its_turn_has_come_and_let_be_when_it_is_back() -> None:
    failed = node("Unknown", "node.kubernetes.io/unreachable:NoSchedule")
    assert wanted(failed, expel=False) is None
    assert wanted(failed, expel=True) == [
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.kubernetes.io/unreachable:NoExecute",
    ]
    back = node("True", "node.kubernetes.io/unreachable:NoExecute")
    assert wanted(back, expel=False) == []


def test_a_silent_node_says_so_once() -> None:
    changed = silent_conditions(node("True", MemoryPressure="False", DiskPressure="Unknown"), NOW)
    assert [(each["type"], each["reason"]) for each in changed] == [
        ("Ready", "NodeStatusUnknown"),
        ("MemoryPressure", "NodeStatusUnknown"),
        ("PIDPressure", "NodeStatusNeverUpdated"),
    ]
    silent = node("Unknown", MemoryPressure="Unknown", DiskPressure="Unknown", PIDPressure="Unknown")
    assert silent_conditions(silent, NOW) == []


def test_a_zone_is_dark_when_all_its_nodes_are_and_partly_so_from_the_threshold_on() -> None:
    good, bad = node("True"), node("Unknown")
    assert zone_health([good, good]) == (ZoneHealth.NORMAL, 2)
    assert zone_health([bad, bad]) == (ZoneHealth.DARK, 2)
    assert zone_health([bad, bad, good]) == (ZoneHealth.NORMAL, 3)
    assert zone_health([bad, bad, bad, good]) == (ZoneHealth.PARTLY_DARK, 4)


def test_nobody_is_expelled_when_everything_is_dark_or_a_small_zone_partly() -> None:
    assert expulsion_rate(ZoneHealth.DARK, 9, all_dark=True) == 0
    assert expulsion_rate(ZoneHealth.PARTLY_DARK, 50, all_dark=False) == 0
    assert (
        0
        < expulsion_rate(ZoneHealth.PARTLY_DARK, 51, all_dark=False)
        < expulsion_rate(ZoneHealth.NORMAL, 51, all_dark=False)
    )


def pod(*tolerations: dict[str, object]) -> TaintedPod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}, TaintedPod)


def test_a_pod_leaves_at_once_after_its_seconds_or_never() -> None:
    taint = Taint(key="k", effect="NoExecute", time_added=THEN)
    now = seconds(NOW)
    assert leaves_at(pod(), [taint], now) == now
    assert leaves_at(pod({"key": "k", "operator": "Exists"}), [taint], now) is None
    patient = pod({"key": "k", "operator": "Exists", "tolerationSeconds": 300})
    assert leaves_at(patient, [taint], now) == seconds(THEN) + 300
    assert leaves_at(pod(), [Taint(key="k", effect="NoSchedule")], now) is None


def test_the_shortest_patience_counts() -> None:
    taints = [Taint(key=key, effect="NoExecute", time_added=THEN) for key in ("a", "b")]
    of_both = pod(
        {"key": "a", "operator": "Exists", "tolerationSeconds": 60},
        {"key": "b", "operator": "Exists", "tolerationSeconds": 30},
    )
    assert leaves_at(of_both, taints, seconds(THEN)) == seconds(THEN) + 30
