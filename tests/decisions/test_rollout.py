"""One step of a rolling update, in place and with surge; OnDelete; which pods are current."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.decisions.plan import decide
from eachnode.decisions.rollout import BadBudget, Budget, budget, out_of_service, scaled
from eachnode.decisions.slots import Aim
from eachnode.objects.clock import timestamp
from eachnode.objects.daemonset import DaemonSet, UpdateStrategy
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod, PodCondition, PodStatus
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

FIVE = nodes_named("n1", "n2", "n3", "n4", "n5")
GENERATION = "deprecated.daemonset.template.generation"


def fleet_pods(revisions: str, *, unready: str = "") -> list[Pod]:
    """A pod on n1, n2, … for each letter: o outdated, n current; upper case when it is not available."""
    pods = []
    for number, letter in enumerate(revisions, 1):
        kind = {"o": OLD, "n": NEW}.get(letter.lower())
        if kind is not None:
            pods.append(pod(f"p{number}", on=f"n{number}", revision=kind, ready=letter.islower()))
    return pods


def strategy(unavailable: int | str | None = 1, surge: int | str | None = None) -> UpdateStrategy:
    return daemonset(strategy=rolling(unavailable, surge)).spec.update_strategy


# Current or not


@pytest.mark.behaviour(121)
def test_a_pod_is_current_by_revision_or_by_template_generation() -> None:
    aim = Aim(revision=NEW, generation="3")
    assert aim.is_current(pod("p", revision=NEW, generation="1"))
    assert aim.is_current(pod("p", revision=OLD, generation="3"))
    assert not aim.is_current(pod("p", revision=OLD, generation="2"))
    assert not aim.is_current(pod("p", revision=OLD))
    assert not Aim(revision="").is_current(pod("p", revision=""))
    assert not Aim(revision=NEW).is_current(pod("p", revision=OLD, generation="3"))


@pytest.mark.behaviour(122)
def test_another_revision_of_the_same_template_restarts_nothing() -> None:
    owner = daemonset(annotations={GENERATION: "3"})
    assert plan_of(owner, nodes_named("n1"), [pod("p", revision="replaced", generation="3")]).is_idle


@pytest.mark.behaviour(123)
def test_going_back_leaves_the_pods_of_that_revision_alone() -> None:
    owner = daemonset(annotations={GENERATION: "3"})
    pods = [pod("p1", on="n1", revision=NEW, generation="1"), pod("p2", on="n2", revision=OLD, generation="2")]
    assert deleted(plan_of(owner, nodes_named("n1", "n2"), pods)) == ["p2"]


@pytest.mark.behaviour(125)
def test_a_changed_strategy_or_patience_makes_no_pod_outdated() -> None:
    for changed in (
        daemonset(strategy=rolling("50%")),
        daemonset(minReadySeconds=5),
        daemonset(annotations={"a": "b"}),
    ):
        assert plan_of(changed, FIVE, fleet_pods("nnnnn"), now=START + 60).is_idle


# Budgets


@pytest.mark.behaviour(126)
def test_percentages_are_of_the_wanted_pods_rounded_up() -> None:
    assert budget(strategy("10%"), 5) == Budget(1, 0)
    assert budget(strategy(0, "30%"), 5) == Budget(0, 2)
    assert budget(strategy("50%"), 5) == Budget(3, 0)
    assert scaled("100%", 7) == 7
    assert scaled("0%", 7) == 0
    owner = daemonset(strategy=rolling("50%"), template={"nodeSelector": {"a": "b"}})
    nodes = [node("n1", a="b"), node("n2", a="b"), node("n3"), node("n4"), node("n5")]
    pods = fleet_pods("oo")
    assert len(deleted(plan_of(owner, nodes, pods))) == 1


@pytest.mark.behaviour(127)
def test_when_both_budgets_are_nothing_one_may_be_unavailable() -> None:
    assert budget(strategy(0, 0), 5) == Budget(1, 0)
    assert budget(strategy("0%", None), 5) == Budget(1, 0)
    assert budget(strategy(0, 0), 0) == Budget(0, 0)
    assert len(deleted(plan_of(daemonset(strategy=rolling(0, 0)), FIVE, fleet_pods("ooooo")))) == 1


def test_an_unset_budget_is_what_the_api_fills_in() -> None:
    assert budget(strategy(None), 5) == Budget(1, 0)
    assert budget(daemonset(strategy={"type": "RollingUpdate"}).spec.update_strategy, 5) == Budget(1, 0)


def test_a_budget_that_cannot_be_read_stops_the_rollout_and_nothing_else() -> None:
    with pytest.raises(BadBudget):
        budget(strategy("many"), 5)
    owner = daemonset(strategy=rolling("many"))
    plan = plan_of(owner, FIVE, fleet_pods("ooooo"))
    assert plan.is_idle
    assert "'many' is neither a number nor a percentage" in plan.trouble
    assert created(plan_of(owner, FIVE, fleet_pods("oooo"))) == ["n5"]


@pytest.mark.behaviour(128)
def test_surge_comes_only_with_a_surge_budget() -> None:
    assert created(plan_of(daemonset(strategy=rolling(0, 1)), FIVE, fleet_pods("ooooo"))) == ["n1"]
    in_place = plan_of(daemonset(strategy=rolling(1, 0)), FIVE, fleet_pods("ooooo"))
    assert (created(in_place), deleted(in_place)) == ([], ["p1"])
    nowhere = daemonset(strategy=rolling(0, "50%"), template={"nodeSelector": {"a": "b"}})
    # Half of no wanted pods is no surge: the other algorithm runs, and finds nothing it may do.
    assert plan_of(nowhere, [node("n1", taints=["a:NoSchedule"], a="b")], [pod("p", revision=OLD)]).is_idle


# In place


@pytest.mark.behaviour(129, 131)
def test_a_wanted_node_without_a_pod_counts_as_unavailable() -> None:
    fleet = fleet_of(daemonset(), FIVE, fleet_pods("oooo"))
    assert out_of_service(fleet) == 1
    refusing = [*nodes_named("n1"), node("n2", taints=["a:NoSchedule"])]
    assert out_of_service(fleet_of(daemonset(), refusing, fleet_pods("o"))) == 0


@pytest.mark.behaviour(129)
def test_pods_of_unwanted_and_vanished_nodes_count_too() -> None:
    lingering = [*nodes_named("n1"), node("n2", taints=["a:NoSchedule"])]
    assert out_of_service(fleet_of(daemonset(), lingering, fleet_pods("oN"))) == 1
    assert out_of_service(fleet_of(daemonset(), nodes_named("n1"), fleet_pods("oN"))) == 1
    assert deleted(plan_of(daemonset(), lingering, fleet_pods("oN"))) == []


@pytest.mark.behaviour(130)
def test_a_crowded_node_counts_as_unavailable() -> None:
    twice = [pod("a", on="n1", revision=OLD), pod("b", on="n1", revision=OLD), *fleet_pods(" oooo")]
    assert out_of_service(fleet_of(daemonset(), FIVE, twice)) == 1
    twice_new = [pod("a", on="n1"), pod("b", on="n1"), *fleet_pods(" oooo")]
    assert out_of_service(fleet_of(daemonset(), FIVE, twice_new)) == 1


@pytest.mark.behaviour(131)
def test_a_node_whose_only_pod_is_going_counts_as_unavailable() -> None:
    pods = [pod("p1", on="n1", revision=OLD, going=True), *fleet_pods(" oooo")]
    plan = plan_of(daemonset(), FIVE, pods)
    assert plan.is_idle
    both = [pod("a", on="n1", revision=OLD), pod("b", on="n1"), *fleet_pods(" oooo")]
    assert out_of_service(fleet_of(daemonset(), FIVE, both)) == 1


def test_a_node_that_was_lost_before_its_pod_was_told_to_go_spends_no_budget() -> None:
    """It is out of service by nobody's hand, and its pod may never be gone: the others go on."""
    lost, anywhere = (
        "node.kubernetes.io/unreachable:NoSchedule",
        daemonset(template={"tolerations": [{"operator": "Exists"}]}),
    )
    nodes = [node("n1", taints=[lost]), *FIVE[1:]]
    dead = pod("p1", on="n1", revision=OLD, ready=False, going=True)
    for owner in (daemonset(), anywhere):
        assert deleted(plan_of(owner, nodes, [dead, *fleet_pods(" oooo")])) == ["p2"]
        assert deleted(plan_of(owner, nodes, [dead, *fleet_pods(" Nooo")])) == []
    # Somebody else lives there, or is to: that counts as anywhere.
    assert out_of_service(fleet_of(daemonset(), nodes, [dead, *fleet_pods("N")])) == 1 + len("2345")
    assert out_of_service(fleet_of(anywhere, nodes, fleet_pods(" oooo"))) == 1


def test_a_node_that_was_lost_after_its_pod_was_told_to_go_spends_budget_as_ever() -> None:
    """It may have been lost because of that; then doing the same to the next node is the last thing to do."""
    nodes = [node("n1", taints=["node.kubernetes.io/unreachable:NoSchedule"]), *FIVE[1:]]
    served = pod("p1", on="n1", revision=OLD, going=True)
    not_ready = PodCondition(type="Ready", status="False", last_transition_time=timestamp(START + 50))
    lost = msgspec.structs.replace(served, status=PodStatus(phase="Running", conditions=(not_ready,)))
    for pod_there in (served, lost):
        assert plan_of(daemonset(), nodes, [pod_there, *fleet_pods(" oooo")]).is_idle
    # Nor does it matter on a node that is heard of.
    broken = pod("p1", on="n1", revision=OLD, ready=False, going=True)
    assert plan_of(daemonset(), FIVE, [broken, *fleet_pods(" oooo")]).is_idle


def test_that_a_node_is_not_heard_of_makes_a_difference_even_where_it_is_tolerated() -> None:
    owner = daemonset(template={"tolerations": [{"operator": "Exists"}]})
    going = pod("p1", on="n1", revision=OLD, ready=False, going=True)
    fleet = fleet_of(owner, FIVE, [going, *fleet_pods(" oooo")])
    assert out_of_service(fleet) == 1
    assert fleet.see_node(node("n1", taints=["node.kubernetes.io/unreachable:NoExecute"]))
    fleet.refresh(START)
    assert out_of_service(fleet) == 0
    assert fleet.see_node(node("n1"))
    fleet.refresh(START)
    assert out_of_service(fleet) == 1


@pytest.mark.behaviour(132)
def test_a_current_pod_counts_until_it_has_been_ready_long_enough() -> None:
    owner = daemonset(minReadySeconds=30)
    pods = [
        pod("p1", on="n1", ready=START),
        *[pod(f"p{i}", on=f"n{i}", revision=OLD, ready=START - 99) for i in (2, 3)],
    ]
    three = FIVE[:3]
    assert plan_of(owner, three, pods, now=START + 29).is_idle
    assert deleted(plan_of(owner, three, pods, now=START + 30)) == ["p2"]


@pytest.mark.behaviour(133, 140)
def test_an_outdated_pod_that_serves_nobody_is_replaced_whatever_the_budget() -> None:
    assert deleted(plan_of(daemonset(), FIVE, fleet_pods("OOoNo"))) == ["p1", "p2"]
    # A second change of the template: those that did not come up yet go first, and they spend the budget.
    assert deleted(plan_of(daemonset(strategy=rolling(2)), FIVE, fleet_pods("OOooo"))) == ["p1", "p2"]


@pytest.mark.behaviour(134)
def test_serving_pods_are_replaced_while_the_budget_lasts() -> None:
    assert deleted(plan_of(daemonset(strategy=rolling(2)), FIVE, fleet_pods("ooooo"))) == ["p1", "p2"]
    assert deleted(plan_of(daemonset(strategy=rolling(2)), FIVE, fleet_pods("Noooo"))) == ["p2"]
    assert deleted(plan_of(daemonset(strategy=rolling(9)), FIVE, fleet_pods("nnnno"))) == ["p5"]
    because = plan_of(daemonset(strategy=rolling(2)), FIVE, fleet_pods("Noooo")).deletes[0].because
    assert because == "it is outdated, and 1 of 2 are out of service now"


@pytest.mark.behaviour(135)
def test_a_serving_pod_stays_while_the_budget_is_spent() -> None:
    assert plan_of(daemonset(strategy=rolling(2)), FIVE, fleet_pods("NNNoo")).is_idle


@pytest.mark.behaviour(136)
def test_pods_are_replaced_in_the_order_of_their_nodes() -> None:
    nodes = nodes_named("b", "c", "a")
    pods = [pod(f"on-{name}", on=name, revision=OLD) for name in ("c", "a", "b")]
    assert deleted(plan_of(daemonset(strategy=rolling(2)), nodes, pods)) == ["on-a", "on-b"]


@pytest.mark.behaviour(137, 67)
def test_failed_outdated_pods_are_replaced_without_patience() -> None:
    owner = daemonset()
    fleet = fleet_of(owner, FIVE[:1], [pod("p1", revision=OLD, phase="Failed")])
    fleet.failed_pod_goes("n1", START)
    plan = decide(owner, fleet, NO_HISTORY, START)
    assert deleted(plan) == ["p1"]
    assert plan.notices == []
    current = fleet_of(owner, FIVE[:2], [pod("p1", phase="Failed"), pod("p2", on="n2", revision=OLD)])
    current.failed_pod_goes("n1", START)
    assert decide(owner, current, NO_HISTORY, START).is_idle


def trace(owner: DaemonSet, nodes: list[Node], pods: list[Pod], steps: int = 20) -> list[tuple[int, int]]:
    """(creates, deletes) of each step, when every action takes effect and every pod gets ready before the next."""
    seen: list[tuple[int, int]] = []
    now = START
    for step in range(steps):
        plan = plan_of(owner, nodes, pods, now=now)
        if plan.is_idle:
            break
        seen.append((len(plan.creates), len(plan.deletes)))
        going = {action.pod.name for action in plan.deletes}
        pods = [each for each in pods if each.name not in going]
        pods += [pod(f"{action.node}-{step}", on=action.node, made=now, ready=now) for action in plan.creates]
        now += 100
    assert [each.revision_hash for each in pods] == [NEW] * len(nodes)
    return seen


@pytest.mark.behaviour(138, 139)
def test_the_usual_course_of_an_update_in_place() -> None:
    owner = daemonset(strategy=rolling(2))
    assert trace(owner, FIVE, fleet_pods("ooooo")) == [(0, 2), (2, 0), (0, 2), (2, 0), (0, 1), (1, 0)]
    assert plan_of(owner, FIVE, fleet_pods("NNooo")).is_idle


@pytest.mark.behaviour(153)
def test_the_usual_course_of_an_update_with_surge() -> None:
    owner = daemonset(strategy=rolling(0, 2))
    assert trace(owner, FIVE, fleet_pods("ooooo")) == [(2, 0), (0, 2), (2, 0), (0, 2), (1, 0), (0, 1)]


# With surge


def surging(surge: int | str = 2, **spec: Any) -> DaemonSet:
    return daemonset(strategy=rolling(0, surge), **spec)


@pytest.mark.behaviour(145)
def test_with_surge_a_node_whose_outdated_pod_serves_nobody_gets_a_new_one_at_once() -> None:
    plan = plan_of(surging(1), FIVE, fleet_pods("OOOoo"))
    assert created(plan) == ["n1", "n2", "n3", "n4"]
    lingering = [node("n1", taints=["a:NoSchedule"])]
    plan = plan_of(surging(1), lingering, fleet_pods("O"))
    assert (created(plan), deleted(plan)) == ([], ["p1"])


@pytest.mark.behaviour(146)
def test_with_surge_serving_pods_get_company_while_the_budget_lasts() -> None:
    assert created(plan_of(surging(2), FIVE, fleet_pods("ooooo"))) == ["n1", "n2"]
    assert created(plan_of(surging("10%"), FIVE, fleet_pods("ooooo"))) == ["n1"]
    assert deleted(plan_of(surging(2), FIVE, fleet_pods("ooooo"))) == []


@pytest.mark.behaviour(147)
def test_with_surge_the_pairs_still_waiting_and_the_crowded_spend_the_budget() -> None:
    pair = [pod("new", on="n1", ready=False), *fleet_pods("ooooo")]
    assert created(plan_of(surging(2), FIVE, pair)) == ["n2"]
    assert created(plan_of(surging(1), FIVE, pair)) == []
    crowd = [pod("x", on="n1", revision=OLD, generation="3"), pod("y", on="n1", revision=NEW), *fleet_pods(" oooo")]
    owner = surging(2, annotations={GENERATION: "3"})
    # By revision one is outdated and one is current, by generation both are current: too many of one kind.
    fleet = fleet_of(owner, FIVE, [*crowd])
    plan = decide(owner, fleet, NO_HISTORY, START)
    assert deleted(plan) == ["x"]


@pytest.mark.behaviour(148)
def test_with_surge_the_outdated_pod_goes_when_its_replacement_is_available() -> None:
    owner = surging(1, minReadySeconds=10)
    pods = [pod("new", on="n1", ready=START), pod("p1", on="n1", revision=OLD, ready=START - 99, made=START - 99)]
    assert plan_of(owner, FIVE[:1], pods, now=START + 9).is_idle
    assert deleted(plan_of(owner, FIVE[:1], pods, now=START + 10)) == ["p1"]


@pytest.mark.behaviour(149)
def test_with_surge_a_lone_current_pod_or_none_asks_for_nothing() -> None:
    assert plan_of(surging(1), FIVE[:2], fleet_pods("nN")).is_idle
    assert (
        plan_of(surging(1), FIVE[:1], [pod("p", going=True, phase="Failed"), pod("q", going=True)], now=START).deletes
        == []
    )


@pytest.mark.behaviour(150)
def test_with_surge_a_serving_pod_where_none_should_run_waits_until_enough_serve_elsewhere() -> None:
    owner = surging(1)
    nodes = [node("n1", taints=["a:NoSchedule"]), *nodes_named("n2", "n3")]
    assert plan_of(owner, nodes, fleet_pods("onN")).is_idle
    plan = plan_of(owner, nodes, fleet_pods("onn"))
    assert deleted(plan) == ["p1"]
    assert "enough pods serve elsewhere" in plan.deletes[0].because
    more = [node("n0", taints=["a:NoSchedule"]), *nodes]
    both = [pod("p0", on="n0", revision=OLD), *fleet_pods("onn")]
    assert deleted(plan_of(owner, more, both)) == ["p0", "p1"]
    half = [pod("p0", on="n0", revision=OLD), *fleet_pods("onN")]
    assert deleted(plan_of(owner, more, half)) == ["p0"]


@pytest.mark.behaviour(151)
def test_with_surge_a_pod_of_a_vanished_node_does_not_stop_the_others() -> None:
    pods = [
        pod("lost", on="gone", revision=OLD),
        pod("lost2", on="gone2", revision=OLD, ready=False),
        *fleet_pods("oo"),
    ]
    plan = plan_of(surging(1), FIVE[:2], pods)
    assert created(plan) == ["n1"]
    assert deleted(plan) == []


@pytest.mark.behaviour(152)
def test_with_surge_the_rollout_itself_creates() -> None:
    plan = plan_of(surging(1), FIVE[:1], fleet_pods("o"))
    assert created(plan) == ["n1"]
    assert plan.creates[0].because == "its pod is outdated, and 0 of 1 nodes surge now"


# OnDelete


@pytest.mark.behaviour(155)
def test_with_on_delete_outdated_pods_stay_and_replacements_are_current() -> None:
    owner = daemonset(strategy={"type": "OnDelete"})
    assert plan_of(owner, FIVE[:2], fleet_pods("oO")).is_idle
    assert created(plan_of(owner, FIVE[:2], fleet_pods("o"))) == ["n2"]


@pytest.mark.behaviour(156)
def test_with_on_delete_the_misplaced_the_surplus_and_the_ended_go_all_the_same() -> None:
    owner = daemonset(strategy={"type": "OnDelete"})
    nodes = [node("n1", taints=["a:NoExecute"]), *nodes_named("n2", "n3", "n4")]
    pods = [
        pod("misplaced", on="n1", revision=OLD),
        pod("kept", on="n2", revision=OLD, made=START - 1),
        pod("surplus", on="n2", revision=OLD),
        pod("failed", on="n3", revision=OLD, phase="Failed"),
        pod("succeeded", on="n4", revision=OLD, phase="Succeeded"),
    ]
    assert sorted(deleted(plan_of(owner, nodes, pods))) == ["failed", "misplaced", "succeeded", "surplus"]


@pytest.mark.behaviour(79)
def test_a_rollout_takes_no_step_while_something_is_to_be_settled() -> None:
    plan = plan_of(daemonset(), FIVE, fleet_pods("oooo"))
    assert created(plan) == ["n5"]
    assert deleted(plan) == []
