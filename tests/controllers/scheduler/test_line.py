"""Whose turn it is, and who is woken by what."""

from __future__ import annotations

from eachnode.controllers.scheduler.line import LONGEST_PARKED, Line, Waiting
from eachnode.decisions.scheduling import Change
from eachnode.objects.workload import WorkloadPod
from tests.decisions.scheduling.worlds import pod

GONE = frozenset({Change.POD_GONE})


def names(line: Line, now: float = 0.0) -> list[str]:
    """The pods whose turn it is, in order."""
    found = []
    while (waiting := line.pop(now)) is not None:
        found.append(waiting.pod.metadata.name)
    return found


def line_of(*pods: WorkloadPod) -> Line:
    line = Line()
    for each in pods:
        line.add(each)
    return line


def taken(line: Line, now: float = 0.0) -> Waiting:
    waiting = line.pop(now)
    assert waiting is not None
    return waiting


def created(name: str, second: int, priority: int = 0) -> WorkloadPod:
    return pod(name, priority=priority, metadata={"creationTimestamp": f"2026-01-01T00:00:0{second}Z"})


def test_the_more_important_go_first_then_the_older_then_who_came_first() -> None:
    line = line_of(created("young", 2), created("vip", 3, 10), created("old", 1), created("also young", 2))
    assert names(line) == ["vip", "old", "young", "also young"]


def test_a_pod_is_in_line_once() -> None:
    line = line_of(pod("p"), pod("p"))
    assert names(line) == ["p"]


def test_a_removed_pod_has_no_turn() -> None:
    line = line_of(pod("p"), pod("q"))
    line.remove(pod("p").metadata.uid)
    assert names(line) == ["q"]
    assert len(line) == 1


def test_an_attempt_that_failed_by_an_error_rests_longer_each_time() -> None:
    line = line_of(pod("p"))
    now = 0.0
    for pause in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        line.rest(taken(line, now))
        assert line.next_due() == now + pause
        assert names(line, now + pause - 0.1) == []
        now += pause


def test_a_parked_pod_waits_for_a_change_that_helps_it() -> None:
    line = line_of(pod("p"))
    waiting = taken(line)
    line.park(waiting, GONE, 0.0)
    assert names(line, 100.0) == []
    assert line.roaming({Change.NODE_TAINTS}) == []
    assert line.roaming({Change.POD_GONE}) == [waiting]
    line.wake(waiting, 100.0)
    assert names(line, 100.0) == ["p"]


def test_a_pinned_pod_waits_for_its_node_only() -> None:
    line = line_of(pod("p", pinned_to=["n1"]))
    waiting = taken(line)
    line.park(waiting, GONE, 0.0)
    assert line.roaming(Change) == []
    assert line.parked_on("n2", GONE) == []
    assert line.parked_on("n1", {Change.NODE_TAINTS}) == []
    assert line.parked_on("n1", GONE) == [waiting]


def test_who_was_tried_a_moment_ago_pauses_a_little_longer_each_time() -> None:
    line = line_of(pod("p"))
    now = 0.0
    for pause in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0):
        waiting = taken(line, now)
        line.park(waiting, GONE, now)
        line.wake(waiting, now)
        assert line.next_due() == now + pause
        assert names(line, now + pause / 2) == []
        now += pause


def test_who_was_tried_long_ago_has_its_turn_at_once() -> None:
    line = line_of(pod("p", priority=5))
    waiting = taken(line)
    line.park(waiting, GONE, 0.0)
    line.wake(waiting, 5.0)
    line.add(pod("q"))
    assert names(line, 5.0) == ["p", "q"]


def test_a_parked_pod_can_be_made_to_rest_instead() -> None:
    line = line_of(pod("p"))
    waiting = taken(line)
    line.park(waiting, GONE, 0.0)
    line.rest(waiting)
    assert line.roaming(GONE) == []
    assert line.next_due() == 1.0
    assert names(line, 1.0) == ["p"]


def test_a_parked_pod_that_asks_for_something_else_is_tried_at_once() -> None:
    line = line_of(pod("p"))
    line.park(taken(line), GONE, 0.0)
    line.add(pod("p", status={"nominatedNodeName": "n1"}))
    assert names(line) == []
    line.add(pod("p", nodeSelector={"disk": "ssd"}))
    assert names(line) == ["p"]


def test_a_parked_pod_is_looked_at_again_after_a_while_anyhow() -> None:
    line = line_of(pod("p"))
    line.park(taken(line), GONE, 7.0)
    assert line.next_due() == 7.0 + LONGEST_PARKED
    assert names(line, 7.0 + LONGEST_PARKED) == ["p"]


def test_a_new_pod_of_the_same_name_does_not_inherit_the_place() -> None:
    first, second = pod("p"), pod("p", metadata={"uid": "another"})
    line = line_of(first)
    line.rest(taken(line))
    line.remove(first.metadata.uid)
    line.add(second)
    assert names(line) == ["p"]
    assert names(line, 100.0) == []


def test_nothing_is_left_behind_when_everybody_is_gone() -> None:
    pods = [pod("p"), pod("q", pinned_to=["n1"]), pod("r")]
    line = line_of(*pods)
    line.park(taken(line), GONE, 0.0)
    line.park(taken(line), GONE, 0.0)
    for each in pods:
        line.remove(each.metadata.uid)
    assert line.pop(1000.0) is None
    empty = Line()
    empty._count = line._count
    assert line == empty
