"""What the status says, and when it is written."""

from __future__ import annotations

import msgspec
import pytest

from eachnode.decisions.slots import NEVER
from eachnode.decisions.status import (
    LONGEST_LAG,
    QUIET,
    Pacing,
    collision_body,
    counts,
    is_settled,
    needs_write,
    status_body,
)
from eachnode.objects.daemonset import Counts
from tests.decisions.world import NEW, OLD, START, daemonset, fleet_of, node, nodes_named, plan_of, pod, rolling


def counted(**given: int) -> Counts:
    return Counts(**given)


@pytest.mark.behaviour(44, 158)
def test_wanted_scheduled_and_misscheduled_nodes_are_counted() -> None:
    nodes = [*nodes_named("n1", "n2"), node("n3", taints=["a:NoSchedule"]), node("n4", taints=["a:NoSchedule"])]
    pods = [pod("p1"), pod("p3", on="n3"), pod("lost", on="gone"), pod("nowhere", on="")]
    assert counts(fleet_of(daemonset(), nodes, pods)) == counted(
        desired_number_scheduled=2,
        current_number_scheduled=1,
        number_misscheduled=1,
        number_ready=1,
        number_available=1,
        updated_number_scheduled=1,
        number_unavailable=1,
    )
    assert counts(fleet_of(daemonset(), [])) == counted()


@pytest.mark.behaviour(159)
def test_one_pod_speaks_for_its_node() -> None:
    owner = daemonset(strategy=rolling(0, 1))
    pods = [pod("old", revision=OLD, made=START - 9), pod("new", ready=False)]
    seen = counts(fleet_of(owner, nodes_named("n1"), pods))
    assert (seen.number_ready, seen.updated_number_scheduled, seen.current_number_scheduled) == (1, 0, 1)
    unbound_first = [pod("old", revision=OLD, made=START - 9, bound=False, ready=False), pod("new")]
    assert counts(fleet_of(owner, nodes_named("n1"), unbound_first)).updated_number_scheduled == 1
    going = counts(fleet_of(daemonset(), nodes_named("n1"), [pod("p", going=True)]))
    assert (going.number_ready, going.current_number_scheduled, going.updated_number_scheduled) == (1, 1, 1)


@pytest.mark.behaviour(160)
def test_what_is_not_available_is_unavailable_and_a_failed_pod_still_counts_as_there() -> None:
    seen = counts(fleet_of(daemonset(), nodes_named("n1", "n2"), [pod("p", phase="Failed")]))
    assert (seen.current_number_scheduled, seen.number_available, seen.number_unavailable) == (1, 0, 2)
    gone = counts(fleet_of(daemonset(), nodes_named("n1"), [pod("p", phase="Failed", going=True)]))
    assert gone.current_number_scheduled == 0


@pytest.mark.behaviour(166)
def test_a_ready_pod_is_available_from_the_very_second_its_patience_ends() -> None:
    owner = daemonset(minReadySeconds=10)
    fleet = fleet_of(owner, nodes_named("n1"), [pod("p", ready=START)])
    assert (counts(fleet).number_ready, counts(fleet).number_available) == (1, 0)
    assert fleet.next_change == START + 10
    fleet.refresh(START + 9.9)
    assert counts(fleet).number_available == 0
    fleet.refresh(START + 10)
    assert counts(fleet).number_available == 1
    assert fleet.next_change == NEVER


@pytest.mark.behaviour(161, 162)
def test_only_what_differs_is_written() -> None:
    truth = counted(desired_number_scheduled=1, number_unavailable=1)
    reported = daemonset(status={"desiredNumberScheduled": 1, "numberUnavailable": 1, "observedGeneration": 3}).status
    assert not needs_write(reported, truth, 3)
    assert needs_write(reported, truth, 4)
    # The reference sends an unchanged status here; the server makes nothing of it, so ours sends none.
    assert not needs_write(reported, truth, 0)
    assert needs_write(reported, counted(), 0)


@pytest.mark.behaviour(157)
def test_conditions_and_collisions_are_carried_over() -> None:
    status = {"conditions": [{"type": "X"}], "collisionCount": 2, "numberReady": 9, "numberAvailable": 4}
    owner = daemonset(status=status, annotations={"a": "b"})
    body = msgspec.json.decode(status_body(owner, counted(number_ready=1), 5))
    assert body["status"] == {
        "conditions": [{"type": "X"}],
        "collisionCount": 2,
        "observedGeneration": 5,
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 1,
        "updatedNumberScheduled": 0,
        "numberAvailable": 0,
        "numberUnavailable": 0,
    }
    assert body["metadata"]["resourceVersion"] == "7"
    assert body["metadata"]["annotations"] == {"a": "b"}
    assert body["spec"]["selector"] == {"matchLabels": {"app": "d"}}


@pytest.mark.behaviour(107, 110)
def test_a_collision_is_put_on_record() -> None:
    for before, after in ((None, 1), (0, 1), (3, 4)):
        status = {"numberReady": 2, **({} if before is None else {"collisionCount": before})}
        body = msgspec.json.decode(collision_body(daemonset(status=status)))
        assert body["status"] == {"numberReady": 2, "collisionCount": after}


def test_a_fleet_is_settled_when_nothing_is_on_its_way() -> None:
    def settled(*pods: object, strategy: dict[str, object] | None = None) -> bool:
        return is_settled(fleet_of(daemonset(strategy=strategy), nodes_named("n1"), pods))  # type: ignore[arg-type] # pods

    assert settled(pod("p"))
    for unfinished in (pod("p", ready=False), pod("p", going=True), pod("p", revision=OLD), pod("p", phase="Failed")):
        assert not settled(unfinished)
    assert not settled()
    assert settled(pod("p", revision=OLD), strategy={"type": "OnDelete"})
    assert settled(pod("p", revision=NEW), strategy={"type": "OnDelete"})
    assert plan_of(daemonset(), nodes_named("n1"), [pod("p")]).settled


def test_writes_are_gathered_while_changes_keep_coming() -> None:
    pacing = Pacing()
    assert pacing.due(counted(number_ready=1), 0.0, at_once=False) == QUIET
    assert pacing.due(counted(number_ready=1), 0.1, at_once=False) == QUIET
    assert pacing.due(counted(number_ready=2), 0.14, at_once=False) == 0.14 + QUIET
    for step in range(3, 20):
        last = pacing.due(counted(number_ready=step), step / 10, at_once=False)
    assert last == LONGEST_LAG
    assert pacing.due(counted(number_ready=20), 2.0, at_once=True) == 2.0
    pacing.written()
    assert pacing.due(counted(number_ready=21), 3.0, at_once=False) == 3.0 + QUIET
