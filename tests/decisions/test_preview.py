"""A preview plays the controller's decisions forward: it ends, keeps the budget, and leaves nothing undone."""

from __future__ import annotations

import time
from collections.abc import Iterable

from hypothesis import event, given
from hypothesis import strategies as st

from eachnode.decisions.eligibility import Placement, judge
from eachnode.decisions.preview import Before, preview
from eachnode.decisions.preview_warnings import warnings
from eachnode.decisions.rollout import budget
from eachnode.decisions.scheduling import survey
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from tests.decisions.test_explanation import cells, node_told, peopled, pod_told, workload
from tests.decisions.test_properties import budgets, often, owners, templates
from tests.decisions.world import OLD, START, daemonset, node, pod, rolling

Cells = list[tuple[object, ...]]


def before_of(owner: DaemonSet, chosen: Cells) -> Before:
    ground = peopled(owner, chosen, [None] * 5)
    return Before(owner, ground.nodes, tuple(ground.pods))


@often
@given(owners, st.lists(cells, min_size=5, max_size=5), templates, budgets)
def test_it_ends_and_tells_of_every_node_that_is_gained_or_lost(
    owner: DaemonSet, chosen: Cells, template: dict[str, object], strategy: dict[str, object]
) -> None:
    changed = daemonset(template={**template, "hostname": "other"}, strategy=strategy)
    found = preview(before_of(owner, chosen), changed, START)
    old, new = Placement.of(owner.template), Placement.of(changed.template)
    nodes = before_of(owner, chosen).nodes
    run_before = {name for name, each in nodes.items() if judge(old, each).should_run}
    run_after = {name for name, each in nodes.items() if judge(new, each).should_run}
    assert {change.node for change in found.gained} == run_after - run_before
    lost = {change.node for change in found.lost}
    suffered = lost - (run_before - run_after)  # Nodes that kept a pod, though none would have been started there.
    assert lost - suffered == run_before - run_after
    assert suffered <= {each.target for each in before_of(owner, chosen).pods} - run_after - run_before
    assert all(change.because for change in (*found.gained, *found.lost, *found.left))
    for change in found.gained:
        event("gained")
        assert change.because == f"this is no longer so: {judge(old, nodes[change.node]).because}"
    for change in found.lost:
        event("lost")
        assert change.because.startswith(judge(new, nodes[change.node]).because)


strategies = st.sampled_from([rolling(1), rolling(2), rolling("50%"), rolling(0, 1), rolling(0, 2), rolling(0, "50%")])


def fleet_of_old_pods(count: int) -> tuple[dict[str, Node], tuple[Pod, ...]]:
    names = [f"n{number:04}" for number in range(count)]
    return {name: node(name) for name in names}, tuple(
        pod(f"p-{name}", name, revision=OLD, ready=START - 60) for name in names
    )


@often
@given(strategies, st.integers(1, 9), st.sampled_from([0, 10]))
def test_every_pod_is_replaced_once_and_never_more_at_a_time_than_the_budget_allows(
    strategy: dict[str, object], count: int, patience: int
) -> None:
    nodes, pods = fleet_of_old_pods(count)
    changed = daemonset(strategy=strategy, minReadySeconds=patience)
    found = preview(Before(changed, nodes, pods), changed, START)
    allowed = budget(changed.spec.update_strategy, count)
    assert sorted(name for wave in found.waves for name in wave) == sorted(nodes)
    assert found.at_a_time <= max(allowed.surge, allowed.unavailable)
    assert (found.creates, found.deletes, found.left) == (count, count, [])


@often
@given(strategies, st.integers(2, 6), st.sets(st.integers(0, 5), max_size=6))
def test_nodes_without_hope_hold_the_budget_and_are_named_by_who_waits(
    strategy: dict[str, object], count: int, hopeless: Iterable[int]
) -> None:
    nodes, pods = fleet_of_old_pods(count)
    dead = {f"n{number:04}" for number in hopeless if number < count}
    changed = daemonset(strategy=strategy)
    allowed = budget(changed.spec.update_strategy, count)
    found = preview(Before(changed, nodes, pods), changed, START, dead)
    if len(dead) >= (allowed.surge or allowed.unavailable):
        stuck = {change.node for change in found.left}
        replaced = {name for wave in found.waves for name in wave}
        assert stuck | replaced == set(nodes)
        if stuck - dead:
            event("stuck")
            assert all(any(name in change.because for name in dead) for change in found.left)
    else:
        assert found.left == []


def test_on_delete_leaves_every_pod_and_says_why() -> None:
    nodes, pods = fleet_of_old_pods(3)
    changed = daemonset(strategy={"type": "OnDelete"})
    found = preview(Before(changed, nodes, pods), changed, START)
    assert not found.moves_pods
    assert len(found.left) == 3
    assert "OnDelete" in found.left[0].because


def test_a_budget_that_cannot_be_read_is_told() -> None:
    nodes, pods = fleet_of_old_pods(2)
    changed = daemonset(strategy=rolling("many"))
    assert (
        "'many' is neither a number nor a percentage" in preview(Before(changed, nodes, pods), changed, START).trouble
    )


def test_five_thousand_nodes_one_at_a_time_are_played_in_seconds() -> None:
    nodes, pods = fleet_of_old_pods(5000)
    changed = daemonset(strategy=rolling(1))
    began = time.perf_counter()
    found = preview(Before(changed, nodes, pods), changed, START)
    assert time.perf_counter() - began < 5.0
    assert (len(found.waves), found.at_a_time) == (5000, 1)


def test_room_is_looked_for_node_by_node() -> None:
    nodes = {name: node(name) for name in ("n1", "n2")}
    told = {name: node_told(each) for name, each in nodes.items()}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    landscape = survey(told.values(), [workload("hog", "3", 0)])
    found = warnings(None, daemonset(template={"containers": [container]}), nodes, told, landscape, START)
    assert [each.nodes for each in found] == [("n1",)]
    assert "n1: 2 of cpu is asked for and 1 of 4 is free" in found[0].sentence


def test_a_pod_that_leaves_already_is_taken_to_be_gone_unless_its_node_is_dead() -> None:
    nodes = {"n1": node("n1")}
    going = pod("p", "n1", revision=OLD, going=True)
    changed = daemonset()
    assert pod_told(going).metadata.deletion_timestamp
    assert preview(Before(changed, nodes, (going,)), changed, START).creates == 1
    assert preview(Before(changed, nodes, (going,)), changed, START, {"n1"}).creates == 0


def test_a_pod_that_was_only_suffered_goes_with_the_update_and_that_is_told() -> None:
    nodes = {"n1": node("n1"), "n2": node("n2", ["a:NoSchedule"])}
    pods = tuple(pod(f"p-{name}", name, revision=OLD, ready=START - 60) for name in nodes)
    (lost,) = preview(Before(daemonset(), nodes, pods), daemonset(), START).lost
    assert lost.node == "n2"
    assert lost.because == "taint a:NoSchedule is not tolerated; its pod goes, and none comes in its place"
    on_delete = daemonset(strategy={"type": "OnDelete"})
    assert preview(Before(on_delete, nodes, pods), on_delete, START).lost == []


def test_a_node_that_is_lost_keeps_its_pod_only_if_nothing_deletes_it() -> None:
    nodes = {"n1": node("n1", ["a:NoSchedule"])}
    pods = (pod("p-n1", "n1", revision=OLD, ready=START - 60),)
    tolerant = daemonset(template={"tolerations": [{"key": "a", "operator": "Exists"}]})
    (lost,) = preview(Before(tolerant, nodes, pods), daemonset(), START).lost
    assert lost.because == "taint a:NoSchedule is not tolerated"
    (kept,) = preview(Before(tolerant, nodes, pods), daemonset(strategy={"type": "OnDelete"}), START).lost
    assert kept.because == "taint a:NoSchedule is not tolerated; its pod may stay"
