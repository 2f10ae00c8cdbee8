"""What is to be made of a node's health."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from eachnode.decisions.node_health import (
    Expulsion,
    TaintedPod,
    WatchedNode,
    ZoneHealth,
    expulsion_rate,
    leaves_at,
    old_labels_for,
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


def wanted(node: WatchedNode, expulsion: Expulsion = Expulsion.LATER) -> list[str] | None:
    taints = taints_for(node, NOW, expulsion)
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
    assert wanted(failed) is None
    assert wanted(failed, Expulsion.NOW) == [
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.kubernetes.io/unreachable:NoExecute",
    ]
    back = node("True", "node.kubernetes.io/unreachable:NoExecute")
    assert wanted(back) == []


def test_taints_are_put_on_in_the_order_of_the_conditions_and_the_cordon_last() -> None:
    conditions = [{"type": kind, "status": "True"} for kind in ("PIDPressure", "Ready", "DiskPressure")]
    tree = {"metadata": {"name": "n"}, "spec": {"unschedulable": True}, "status": {"conditions": conditions}}
    keys = [
        taint.key.split("/")[1] for taint in taints_for(msgspec.convert(tree, WatchedNode), NOW, Expulsion.NOW) or ()
    ]
    assert keys == ["pid-pressure", "disk-pressure", "unschedulable"]


def test_where_nobody_is_to_be_expelled_the_taint_that_would_is_taken_off_again() -> None:
    silent = node("Unknown", "node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute")
    assert wanted(silent) is None
    assert wanted(silent, Expulsion.NOBODY) == ["node.kubernetes.io/unreachable:NoSchedule"]


def test_labels_of_old_follow_those_that_took_their_place() -> None:
    def labelled(**labels: str) -> WatchedNode:
        tree = {"name": "n", "labels": {f"{key}.io/os": value for key, value in labels.items()}}
        return msgspec.convert({"metadata": tree}, WatchedNode)

    assert old_labels_for(labelled(kubernetes="linux")) == {"beta.kubernetes.io/os": "linux"}
    wrong = msgspec.convert(
        {"metadata": {"labels": {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "plan9"}}}, WatchedNode
    )
    assert old_labels_for(wrong) == {"beta.kubernetes.io/os": "linux"}
    assert old_labels_for(labelled()) == {}


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


def test_nobody_is_expelled_where_most_of_a_small_zone_is_dark_and_few_where_it_is_large() -> None:
    assert expulsion_rate(ZoneHealth.PARTLY_DARK, 50) == 0
    assert 0 < expulsion_rate(ZoneHealth.PARTLY_DARK, 51) < expulsion_rate(ZoneHealth.NORMAL, 51)
    assert expulsion_rate(ZoneHealth.DARK, 9) == expulsion_rate(ZoneHealth.NORMAL, 9)


def pod(*tolerations: Mapping[str, object]) -> TaintedPod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}, TaintedPod)


def leaves(pod: TaintedPod, *taints: Taint, came: float = 0.0, undated: float = 0.0) -> float | None:
    return leaves_at(pod, taints, came, {taint: undated for taint in taints if not taint.time_added})


def test_a_pod_leaves_at_once_after_its_seconds_or_never() -> None:
    taint = Taint(key="k", effect="NoExecute", time_added=THEN)
    came = seconds(THEN) - 10
    assert leaves(pod(), taint, came=came) == came
    assert leaves(pod({"key": "k", "operator": "Exists"}), taint) is None
    patient = pod({"key": "k", "operator": "Exists", "tolerationSeconds": 300})
    assert leaves(patient, taint, came=came) == seconds(THEN) + 300
    assert leaves(pod(), Taint(key="k", effect="NoSchedule")) is None


def test_seconds_run_from_when_the_pod_came_if_the_taint_was_there_before() -> None:
    patient = pod({"key": "k", "operator": "Exists", "tolerationSeconds": 300})
    assert leaves(patient, Taint(key="k", effect="NoExecute", time_added=THEN), came=seconds(NOW)) == seconds(NOW) + 300


def test_of_a_taint_without_a_date_it_counts_since_when_it_is_seen() -> None:
    patient = pod({"key": "k", "operator": "Exists", "tolerationSeconds": 5})
    assert leaves(patient, Taint(key="k", effect="NoExecute"), came=100.0, undated=200.0) == 205.0


def test_the_first_toleration_that_fits_counts() -> None:
    taint = Taint(key="k", effect="NoExecute", time_added=THEN)
    hurried, forever = {"key": "k", "operator": "Exists", "tolerationSeconds": 0}, {"operator": "Exists"}
    assert leaves(pod(forever, hurried), taint) is None
    assert leaves(pod(hurried, forever), taint) == seconds(THEN)


def test_the_shortest_patience_counts() -> None:
    taints = [Taint(key=key, effect="NoExecute", time_added=THEN) for key in ("a", "b")]
    of_both = pod(
        {"key": "a", "operator": "Exists", "tolerationSeconds": 60},
        {"key": "b", "operator": "Exists", "tolerationSeconds": 30},
    )
    assert leaves(of_both, *taints) == seconds(THEN) + 30
