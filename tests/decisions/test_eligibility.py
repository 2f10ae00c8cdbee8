"""Which nodes should run a pod of a template, and the reasons against the others."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.decisions.eligibility import Placement, Verdict, judge, with_daemon_tolerations
from eachnode.objects.node import Node
from eachnode.objects.taints import Toleration
from tests.decisions.world import created, daemonset, deleted, node, nodes_named, plan_of, pod


def verdict(template: dict[str, Any], on: Node) -> tuple[bool, bool]:
    """(run?, stay?)"""
    given: Verdict = judge(Placement.of(daemonset(template=template).template), on)
    assert given.should_run == (not given.because)
    return given.should_run, given.should_stay


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


YES, NO, STAY = (True, True), (False, False), (False, True)


@pytest.mark.behaviour(1, 8)
def test_an_ordinary_node_gets_a_pod() -> None:
    assert verdict({}, node()) == YES
    assert verdict({"tolerations": [{"operator": "Exists"}]}, node(taints=["a=b:NoSchedule", "c:NoExecute"])) == YES


@pytest.mark.behaviour(2)
def test_a_template_that_names_a_node_is_for_that_node_alone() -> None:
    assert verdict({"nodeName": "n1"}, node("n1")) == YES
    assert verdict({"nodeName": "n1"}, node("n2")) == NO


@pytest.mark.behaviour(3)
def test_labels_that_do_not_match_evict() -> None:
    assert verdict({"nodeSelector": {"a": "b"}}, node(a="b")) == YES
    assert verdict({"nodeSelector": {"a": "b"}}, node(a="c")) == NO
    assert verdict({"nodeSelector": {"a": ""}}, node()) == NO
    only_n2 = affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})
    assert verdict({"affinity": only_n2}, node("n1")) == NO
    assert verdict({"affinity": only_n2}, node("n2")) == YES


@pytest.mark.behaviour(3)
def test_a_pod_on_a_node_that_no_longer_matches_is_deleted() -> None:
    owner = daemonset(template={"nodeSelector": {"a": "b"}})
    assert deleted(plan_of(owner, [node(a="c")], [pod("p")])) == ["p"]


@pytest.mark.behaviour(4)
def test_every_requirement_must_hold_at_once() -> None:
    zone = affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]})
    both = {"nodeSelector": {"a": "b"}, "affinity": zone}
    assert verdict(both, node(a="b", zone="z")) == YES
    assert verdict(both, node(a="b")) == NO
    assert verdict(both, node(zone="z")) == NO
    owner = daemonset(template={"nodeName": "n1", "nodeSelector": {"a": "b"}})
    assert created(plan_of(owner, [node("n1"), node("n2", a="b")])) == []


@pytest.mark.behaviour(7, 57)
def test_what_the_scheduler_weighs_does_not_matter_here() -> None:
    template = {
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "999"}}, "ports": [{"hostPort": 80}]}
        ],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "t", "whenUnsatisfiable": "DoNotSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
                ]
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t"}]},
        },
    }
    assert verdict(template, node()) == YES
    plan = plan_of(daemonset(template=template), nodes_named("n1"))
    assert created(plan) == ["n1"]
    assert plan.notices == []


@pytest.mark.behaviour(9)
def test_an_untolerated_no_execute_taint_evicts() -> None:
    assert verdict({}, node(taints=["a=b:NoExecute"])) == NO
    plan = plan_of(daemonset(), [node(taints=["a=b:NoExecute"])], [pod("p")])
    assert deleted(plan) == ["p"]
    assert plan.notices == []


@pytest.mark.behaviour(10)
def test_an_untolerated_no_schedule_taint_leaves_running_pods_alone() -> None:
    assert verdict({}, node(taints=["a=b:NoSchedule"])) == STAY
    assert plan_of(daemonset(), [node(taints=["a=b:NoSchedule"])], [pod("p")]).is_idle
    assert plan_of(daemonset(), [node(taints=["a=b:NoSchedule"])]).is_idle


@pytest.mark.behaviour(9, 10)
def test_of_several_taints_the_worst_counts() -> None:
    assert verdict({}, node(taints=["a=b:NoSchedule", "c:NoExecute"])) == NO
    tolerates_c = {"tolerations": [{"key": "c", "operator": "Exists"}]}
    assert verdict(tolerates_c, node(taints=["a=b:NoSchedule", "c:NoExecute"])) == STAY


@pytest.mark.behaviour(11)
def test_soft_taints_are_ignored() -> None:
    assert verdict({}, node(taints=["a=b:PreferNoSchedule"])) == YES


@pytest.mark.behaviour(12, 21)
def test_a_cordoned_node_or_one_under_pressure_still_gets_its_pod() -> None:
    for key in ("unschedulable", "disk-pressure", "memory-pressure", "pid-pressure"):
        assert verdict({}, node(taints=[f"node.kubernetes.io/{key}:NoSchedule"])) == YES
    cordoned = node()
    assert not hasattr(cordoned.spec, "unschedulable")  # It is not even read.


@pytest.mark.behaviour(13, 22)
def test_a_node_that_is_not_ready_gets_a_pod_unless_it_is_tainted_against_scheduling() -> None:
    for key in ("not-ready", "unreachable"):
        assert verdict({}, node(taints=[f"node.kubernetes.io/{key}:NoExecute"])) == YES
        assert verdict({}, node(taints=[f"node.kubernetes.io/{key}:NoSchedule"])) == STAY
    tolerates = {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}]}
    assert verdict(tolerates, node(taints=["node.kubernetes.io/not-ready:NoSchedule"])) == YES


@pytest.mark.behaviour(14, 23)
def test_a_node_without_network_takes_pods_of_its_own_network_only() -> None:
    without = node(taints=["node.kubernetes.io/network-unavailable:NoSchedule"])
    assert verdict({}, without) == STAY
    assert verdict({"hostNetwork": True}, without) == YES


@pytest.mark.behaviour(1)
def test_all_objections_are_heard_each_with_a_remedy() -> None:
    template = {"nodeName": "n9", "nodeSelector": {"a": "b", "c": "d"}, "affinity": affinity()}
    given = judge(
        Placement.of(daemonset(template=template).template), node(taints=["x=y:NoSchedule", "z:NoExecute"], c="e")
    )
    sentences = [objection.because for objection in given.objections]
    assert sentences[0] == "the pod template asks for node n9"
    assert sentences[1].endswith("nodeSelector wants a=b, but the node has no such label")
    assert sentences[2].endswith("nodeSelector wants c=d, but it is e")
    assert "no required term holds" in sentences[3]
    assert sentences[4:] == ["taint x=y:NoSchedule is not tolerated", "taint z:NoExecute is not tolerated"]
    assert [objection.evicts for objection in given.objections] == [True, True, True, True, False, True]
    assert all(objection.remedy for objection in given.objections)


def tolerations(*given: Toleration, host_network: bool = False) -> list[tuple[str, str, str, str]]:
    result = with_daemon_tolerations(given, host_network=host_network)
    assert all(each.toleration_seconds is None or each in given for each in result)
    return [(each.key.removeprefix("node.kubernetes.io/"), each.operator, each.value, each.effect) for each in result]


DAEMON_TOLERATIONS = [
    ("not-ready", "Exists", "", "NoExecute"),
    ("unreachable", "Exists", "", "NoExecute"),
    ("disk-pressure", "Exists", "", "NoSchedule"),
    ("memory-pressure", "Exists", "", "NoSchedule"),
    ("pid-pressure", "Exists", "", "NoSchedule"),
    ("unschedulable", "Exists", "", "NoSchedule"),
]


@pytest.mark.behaviour(16)
def test_every_daemon_pod_tolerates_the_troubles_of_its_node() -> None:
    assert tolerations() == DAEMON_TOLERATIONS


@pytest.mark.behaviour(17)
def test_on_the_host_network_its_absence_is_tolerated_too() -> None:
    assert tolerations(host_network=True) == [*DAEMON_TOLERATIONS, ("network-unavailable", "Exists", "", "NoSchedule")]


@pytest.mark.behaviour(18, 20)
def test_the_template_s_tolerations_come_first_and_broad_ones_suppress_nothing() -> None:
    everything = Toleration(operator="Exists")
    other = Toleration(key="a", value="b", effect="NoSchedule")
    assert tolerations(other, everything) == [("a", "", "b", "NoSchedule"), ("", "Exists", "", ""), *DAEMON_TOLERATIONS]


@pytest.mark.behaviour(19)
def test_a_toleration_that_says_the_same_is_replaced_in_place() -> None:
    def not_ready(effect: str, seconds: int) -> Toleration:
        key = "node.kubernetes.io/not-ready"
        return Toleration(key=key, operator="Exists", effect=effect, toleration_seconds=seconds)

    given = (not_ready("NoExecute", 60), Toleration(key="a"), not_ready("NoExecute", 5), not_ready("NoSchedule", 3))
    result = with_daemon_tolerations(given, host_network=False)
    assert [each.toleration_seconds for each in result[:4]] == [None, None, None, 3]
    assert len(result) == 4 + 5


@pytest.mark.behaviour(24)
def test_nothing_is_left_for_the_default_toleration_seconds_to_add() -> None:
    for key in ("not-ready", "unreachable"):
        assert (key, "Exists", "", "NoExecute") in tolerations()
