"""What one node lacks or has too much of."""

from __future__ import annotations

import pytest

from eachnode.decisions.plan import BURST, decide
from tests.decisions.world import (
    NEW,
    NO_HISTORY,
    OLD,
    START,
    created,
    daemonset,
    deleted,
    fleet_of,
    node,
    nodes_named,
    plan_of,
    pod,
    rolling,
)

N1 = nodes_named("n1")
TAINTED = [node(taints=["a=b:NoSchedule"])]
REFUSING = [node(taints=["a=b:NoExecute"])]
SURGE = rolling(0, 1)


@pytest.mark.behaviour(44)
def test_without_nodes_there_is_nothing_to_do() -> None:
    plan = plan_of(daemonset(), [])
    assert plan.is_idle
    assert plan.settled


@pytest.mark.behaviour(47)
def test_a_node_without_a_pod_gets_one() -> None:
    plan = plan_of(daemonset(), nodes_named("n2", "n1"))
    assert [(action.node, action.because) for action in plan.creates] == [
        ("n1", "no pod of it is on the node"),
        ("n2", "no pod of it is on the node"),
    ]


@pytest.mark.behaviour(46, 49)
def test_a_pod_that_ended_and_is_going_is_as_good_as_gone() -> None:
    for phase in ("Succeeded", "Failed"):
        assert created(plan_of(daemonset(), N1, [pod("p", phase=phase, going=True)])) == ["n1"]


@pytest.mark.behaviour(46, 48)
def test_a_pod_that_is_going_but_still_runs_blocks_its_replacement() -> None:
    assert plan_of(daemonset(), N1, [pod("p", going=True)]).is_idle


@pytest.mark.behaviour(50)
def test_on_a_node_that_refuses_them_all_pods_go_once() -> None:
    pods = [pod("a"), pod("b"), pod("c", going=True), pod("d", phase="Failed")]
    plan = plan_of(daemonset(), REFUSING, pods)
    assert sorted(deleted(plan)) == ["a", "b", "d"]
    assert {action.because for action in plan.deletes} == {"taint a=b:NoExecute is not tolerated"}
    assert plan.notices == []


@pytest.mark.behaviour(51)
def test_of_several_pods_the_bound_the_oldest_the_first_by_name_stays() -> None:
    unbound, late, early = pod("a", bound=False), pod("b", made=START + 9), pod("c", made=START + 3)
    assert sorted(deleted(plan_of(daemonset(), N1, [unbound, late, early]))) == ["a", "b"]
    assert deleted(plan_of(daemonset(), N1, [pod("z"), pod("y"), pod("x")])) == ["y", "z"]
    ended = pod("0", phase="Failed", made=START - 9)
    assert deleted(plan_of(daemonset(), N1, [ended, pod("x")])) == ["0"]


@pytest.mark.behaviour(52)
def test_a_pod_that_ended_is_deleted_before_its_replacement_is_made() -> None:
    for phase in ("Failed", "Succeeded"):
        plan = plan_of(daemonset(), N1, [pod("p", phase=phase)])
        assert deleted(plan) == ["p"]
        assert created(plan) == []
    assert created(plan_of(daemonset(), N1, [])) == ["n1"]


@pytest.mark.behaviour(53, 173)
def test_one_failed_and_three_running_pods_become_one() -> None:
    pods = [pod("f", phase="Failed"), pod("a"), pod("b"), pod("c")]
    plan = plan_of(daemonset(), N1, pods)
    assert sorted(deleted(plan)) == ["b", "c", "f"]
    assert created(plan) == []
    assert [(notice.type, notice.reason, notice.message) for notice in plan.notices] == [
        ("Warning", "FailedDaemonPod", "Found failed daemon pod ns/f on node n1, will try to kill it")
    ]


@pytest.mark.behaviour(174)
def test_a_pod_that_succeeded_is_told_of() -> None:
    plan = plan_of(daemonset(), N1, [pod("p", phase="Succeeded")])
    assert [(notice.type, notice.reason, notice.message) for notice in plan.notices] == [
        ("Normal", "SucceededDaemonPod", "Found succeeded daemon pod ns/p on node n1, will try to delete it")
    ]


@pytest.mark.behaviour(54, 55)
def test_where_pods_may_only_stay_the_ended_and_the_surplus_go_and_none_comes() -> None:
    plan = plan_of(daemonset(), TAINTED, [pod("f", phase="Failed"), pod("a"), pod("b")])
    assert sorted(deleted(plan)) == ["b", "f"]
    assert created(plan) == []
    assert created(plan_of(daemonset(), TAINTED, [pod("f", phase="Failed", going=True)])) == []


@pytest.mark.behaviour(56)
def test_of_a_node_that_does_not_exist_only_unbound_pods_go() -> None:
    pods = [pod("bound", on="gone"), pod("unbound", on="gone", bound=False), pod("nowhere", on="")]
    plan = plan_of(daemonset(), [], pods)
    assert deleted(plan) == ["unbound"]
    assert plan.deletes[0].because == "its node is gone"


@pytest.mark.behaviour(28)
def test_a_pod_without_a_target_counts_on_no_node() -> None:
    fleet = fleet_of(daemonset(), N1, [pod("nowhere", on="")])
    assert [each.name for each in fleet.pods.values()] == ["nowhere"]
    assert created(plan_of(daemonset(), N1, [pod("nowhere", on="")])) == ["n1"]


# Failed pods and patience


@pytest.mark.behaviour(61, 62, 63, 64)
def test_failed_pods_are_replaced_with_growing_patience() -> None:
    owner = daemonset()
    fleet = fleet_of(owner, N1)
    now = START
    for window in (1.0, 2.0, 4.0):
        name = f"p{window}"
        fleet.see_pod(pod(name, phase="Failed"))
        fleet.refresh(now)
        assert list(fleet.tally.unsettled) == ["n1"]
        fleet.failed_pod_goes("n1", now)
        fleet.lose_pod(f"uid-{name}")
        fleet.see_pod(pod("next", phase="Failed"))
        fleet.refresh(now)
        assert list(fleet.tally.unsettled) == []
        assert fleet.next_change == now + window
        fleet.refresh(now + window - 0.01)  # Looking again lengthens nothing.
        assert list(fleet.tally.unsettled) == []
        assert fleet.next_change == now + window
        now += window
        fleet.refresh(now)
        assert list(fleet.tally.unsettled) == ["n1"]
        fleet.lose_pod("uid-next")


@pytest.mark.behaviour(61)
def test_of_several_failed_pods_on_a_node_one_goes_at_a_time() -> None:
    plan = plan_of(daemonset(), N1, [pod("a", phase="Failed"), pod("b", phase="Failed")])
    assert deleted(plan) == ["a"]
    assert len(plan.notices) == 1


@pytest.mark.behaviour(66)
def test_succeeded_pods_need_no_patience() -> None:
    owner = daemonset()
    fleet = fleet_of(owner, N1, [pod("p", phase="Succeeded")])
    fleet.failed_pod_goes("n1", START)
    fleet.refresh(START)
    assert list(fleet.tally.unsettled) == ["n1"]


@pytest.mark.behaviour(60)
def test_a_processed_change_of_the_spec_starts_patience_afresh() -> None:
    fleet = fleet_of(daemonset(status={"observedGeneration": 1}), N1, [pod("p", phase="Failed")])
    fleet.failed_pod_goes("n1", START)
    fleet.refresh(START)
    assert list(fleet.tally.unsettled) == []
    changed = fleet_of(daemonset(status={"observedGeneration": 2}), N1).aim
    fleet.take_aim(changed)
    fleet.refresh(START)
    assert list(fleet.tally.unsettled) == ["n1"]


# Surge


@pytest.mark.behaviour(68, 142)
def test_with_surge_a_node_whose_pods_have_all_ended_gets_one_at_once() -> None:
    for gone in (pod("p", phase="Failed"), pod("p", going=True), pod("p", phase="Succeeded")):
        assert created(plan_of(daemonset(strategy=SURGE), N1, [gone])) == ["n1"]
    plan = plan_of(daemonset(strategy=SURGE), N1, [pod("p", phase="Failed")])
    assert deleted(plan) == ["p"]
    assert plan_of(daemonset(strategy=SURGE), TAINTED, [pod("p", going=True)]).is_idle


@pytest.mark.behaviour(68)
def test_with_surge_patience_delays_the_deletion_only() -> None:
    owner = daemonset(strategy=SURGE)
    fleet = fleet_of(owner, N1, [pod("p", phase="Failed")])
    fleet.failed_pod_goes("n1", START)
    plan = decide(owner, fleet, NO_HISTORY, START)
    assert created(plan) == ["n1"]
    assert deleted(plan) == []


@pytest.mark.behaviour(143)
def test_with_surge_the_oldest_current_and_the_oldest_outdated_pod_may_stay() -> None:
    pods = [
        pod("new1", made=START + 5, ready=False),
        pod("new2", made=START + 6),
        pod("old1", revision=OLD, made=START + 1),
        pod("old2", revision="older", made=START + 2),
    ]
    assert sorted(deleted(plan_of(daemonset(strategy=SURGE), N1, pods))) == ["new2", "old2"]
    only_new = [pod("a", made=START), pod("b", made=START + 1), pod("c", made=START + 2)]
    assert sorted(deleted(plan_of(daemonset(strategy=SURGE), N1, only_new))) == ["b", "c"]


@pytest.mark.behaviour(144)
def test_with_surge_the_outdated_pod_goes_when_it_serves_no_longer_or_its_replacement_does() -> None:
    def pair(old_ready: bool, new_ready: bool | float) -> list[str]:
        owner = daemonset(strategy=SURGE, minReadySeconds=10)
        pods = [pod("old", revision=OLD, made=START - 9, ready=old_ready), pod("new", ready=new_ready)]
        return deleted(plan_of(owner, N1, pods, now=START + 12))

    assert pair(old_ready=False, new_ready=False) == ["old"]
    assert pair(old_ready=True, new_ready=START + 1) == ["old"]
    assert pair(old_ready=True, new_ready=START + 5) == []
    assert pair(old_ready=True, new_ready=False) == []


@pytest.mark.behaviour(141)
def test_surge_is_for_rolling_updates_with_a_positive_budget() -> None:
    two = [pod("old", revision=OLD, made=START - 9), pod("new", ready=False)]
    for strategy, keeps_both in (
        (rolling(0, 1), True),
        (rolling(0, "10%"), True),
        (rolling(1, 0), False),
        (rolling(1, "0%"), False),
        (rolling(1), False),
        (rolling(1, "broken"), False),
        ({"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}, False),
    ):
        assert (deleted(plan_of(daemonset(strategy=strategy), N1, two)) == []) is keeps_both, strategy


@pytest.mark.behaviour(124)
def test_while_surging_the_revision_alone_tells_new_from_old() -> None:
    generation = "deprecated.daemonset.template.generation"
    owner = daemonset(strategy=SURGE, annotations={generation: "3"})
    pods = [
        pod("a", revision=OLD, generation="3", made=START - 9),
        pod("b", revision=OLD, generation="2", made=START - 8),
        pod("c", revision=NEW, generation="1", ready=False),
    ]
    assert deleted(plan_of(owner, N1, pods)) == ["b"]


@pytest.mark.behaviour(154)
def test_when_surge_is_switched_off_the_older_pod_of_two_stays() -> None:
    pods = [pod("old", revision=OLD, made=START - 9), pod("new")]
    assert deleted(plan_of(daemonset(), N1, pods)) == ["new"]


@pytest.mark.behaviour(70)
def test_one_pass_does_no_more_than_250_creates_and_250_deletes() -> None:
    plan = plan_of(daemonset(), [node(f"n{number:03}") for number in range(300)])
    assert len(plan.creates) == BURST == 250
    assert plan.creates[-1].node == "n249"
    assert plan.postponed
    names = [f"n{number:03}" for number in range(300)]
    refusing = [node(name, taints=["a:NoExecute"]) for name in names]
    plan = plan_of(daemonset(), refusing, [pod(f"p{name}", on=name) for name in names])
    assert len(plan.deletes) == 250
    assert plan.postponed
