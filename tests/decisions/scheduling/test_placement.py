"""Which node is chosen, and what pinned pods cost."""

from __future__ import annotations

import pytest

from eachnode.decisions.scheduling import Diagnosis, Landscape, NoSacrifice, Placement, place, preempt
from eachnode.decisions.scheduling.landscape import HOSTNAME, ZONE
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import WorkloadPod

from .worlds import Json, must, near, node, pod, spread, world


def chosen(subject: WorkloadPod, landscape: Landscape) -> str:
    outcome = place(subject, landscape)
    assert isinstance(outcome, Placement)
    return outcome.node


def message(subject: WorkloadPod, landscape: Landscape) -> str:
    """The whole message of a pod that has no place, preemption included."""
    outcome = place(subject, landscape)
    assert isinstance(outcome, Diagnosis)
    found = preempt(subject, landscape, outcome)
    return outcome.message(found.message)


def test_a_pinned_pod_goes_to_its_node() -> None:
    landscape = world([node(f"n{each}") for each in range(9)])
    assert chosen(pod("p", pinned_to=["n7"]), landscape) == "n7"


def test_the_message_of_a_pinned_pod_counts_all_nodes() -> None:
    landscape = world([node("n1", cpu="1"), node("n2"), node("n3")], [pod("there", on="n1", cpu="800m")])
    assert message(pod("p", cpu="500m", pinned_to=["n1"]), landscape) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_a_pod_pinned_to_a_node_that_is_not_there_is_refused_by_all() -> None:
    landscape = world([node("n1"), node("n2")])
    assert message(pod("p", pinned_to=["gone"]), landscape) == (
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_contradicts_itself_is_told_so_once() -> None:
    both = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": both}]}}
    landscape = world([node("n1"), node("n2")])
    assert message(pod("p", affinity={"nodeAffinity": required}), landscape) == (
        "0/2 nodes are available: pod affinity terms conflict. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_without_a_preemption_policy_for_it_nobody_is_preempted() -> None:
    landscape = world([node("n1", cpu="1")], [pod("there", on="n1", cpu="1")])
    assert message(pod("p", cpu="1", priority=5, preemptionPolicy="Never"), landscape) == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )


@pytest.mark.parametrize("spec", [{"pinned_to": ["n7"]}, {"nodeSelector": {HOSTNAME: "n7"}}])
@pytest.mark.parametrize("size", [10, 1000])
def test_a_pinned_pod_asks_one_node_whatever_the_size(monkeypatch: pytest.MonkeyPatch, spec: Json, size: int) -> None:
    landscape = world([node(f"n{each}") for each in range(size)])
    asked: list[str] = []
    there = Room.there.fget  # type: ignore[attr-defined] # a property, as mypy sees only its value

    def noted(room: Room) -> object:
        asked.append(room.name)
        return there(room)

    monkeypatch.setattr(Room, "there", property(noted))
    assert chosen(pod("p", cpu="1", **spec), landscape) == "n7"
    assert set(asked) == {"n7"}


def test_ordinary_pods_ask_enough_nodes_and_no_more() -> None:
    landscape = world([node(f"n{each:04}") for each in range(3000)])
    outcome = place(pod("p", cpu="1"), landscape, start=50)
    assert outcome == Placement("n0050", asked=100)


def test_pods_without_requests_are_spread_over_the_nodes() -> None:
    landscape = world([node(f"n{each}") for each in range(4)])
    for number in range(8):
        subject = pod(f"p{number}", owner="rs")
        landscape.put(subject, chosen(subject, landscape))
    assert [len(room.tenants) for room in landscape.rooms.values()] == [2, 2, 2, 2]


def test_pods_of_one_owner_are_spread_over_the_zones() -> None:
    landscape = world([node(f"n{each}", labels={ZONE: "aaabbb"[each]}) for each in range(6)])
    for number in range(4):
        subject = pod(f"p{number}", owner="rs")
        landscape.put(subject, chosen(subject, landscape))
    assert sum(len(landscape.rooms[name].tenants) for name in ("n0", "n1", "n2")) == 2


def test_the_emptier_node_is_preferred() -> None:
    landscape = world([node("n1"), node("n2"), node("n3")], [pod("a", on="n1", cpu="1"), pod("b", on="n2", cpu="500m")])
    assert chosen(pod("p", cpu="1"), landscape) == "n3"


def test_a_node_that_discourages_is_avoided() -> None:
    landscape = world([node("n1", taints=["a:PreferNoSchedule"]), node("n2")], [pod("a", on="n2", cpu="3")])
    assert chosen(pod("p", cpu="100m"), landscape) == "n2"


def test_the_preferred_node_affinity_is_followed() -> None:
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": preference}]}
    landscape = world([node("n1"), node("n2", labels={"disk": "ssd"})])
    assert chosen(pod("p", cpu="1", affinity={"nodeAffinity": wish}), landscape) == "n2"


@pytest.mark.parametrize(("kind", "expected"), [("podAffinity", "n2"), ("podAntiAffinity", "n1")])
def test_preferred_neighbours_are_followed(kind: str, expected: str) -> None:
    term = {"weight": 100, "podAffinityTerm": near(HOSTNAME, app="db")}
    wish = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    landscape = world([node("n1"), node("n2")], [pod("db", on="n2", labels={"app": "db"})])
    assert chosen(pod("p", affinity=wish), landscape) == expected


def test_a_soft_spread_is_followed_when_it_can_be() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]
    landscape = world(nodes, [pod("w", on="n1", labels={"app": "w"})])
    soft = spread(ZONE, app="w", when="ScheduleAnyway")
    assert chosen(pod("p", labels={"app": "w"}, topologySpreadConstraints=[soft]), landscape) == "n2"


def test_the_same_world_gives_the_same_answer_in_any_order() -> None:
    nodes = [node(f"n{each}", labels={ZONE: "abc"[each % 3]}) for each in range(9)]
    subject = pod("p", cpu="1")
    assert chosen(subject, world(nodes)) == chosen(subject, world(reversed(nodes)))


def test_nodes_are_looked_at_one_of_each_zone_in_turn() -> None:
    landscape = world([node(f"{zone}{each}", labels={ZONE: zone}) for zone in "ab" for each in range(2)])
    assert landscape.order == ("a0", "b0", "a1", "b1")


def test_the_node_that_is_cleared_for_a_pod_is_asked_first() -> None:
    waiting = pod("p", cpu="1", status={"nominatedNodeName": "n2"})
    assert chosen(waiting, world([node("n1"), node("n2")], [waiting])) == "n2"


def test_room_that_is_cleared_for_a_more_important_pod_is_kept_free() -> None:
    landscape = world([node("n1", cpu="1")])
    landscape.nominate(pod("vip", cpu="1", priority=10), "n1")
    assert isinstance(place(pod("p", cpu="1", priority=5), landscape), Diagnosis)
    assert chosen(pod("q", cpu="1", priority=11), landscape) == "n1"
    landscape.nominate(pod("vip", cpu="1", priority=10), "")
    assert chosen(pod("p", cpu="1", priority=5), landscape) == "n1"


def test_a_pod_that_cannot_be_helped_by_preemption_says_on_how_many_nodes() -> None:
    landscape = world([node("n1", cpu="1"), node("n2", taints=["a:NoSchedule"])], [pod("low", on="n1", cpu="500m")])
    outcome = place(pod("p", cpu="2"), landscape)
    assert isinstance(outcome, Diagnosis)
    assert preempt(pod("p", cpu="2", priority=9), landscape, outcome) == NoSacrifice(
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_affinity_to_pods_that_must_stay_apart_from_each_other_is_refused_everywhere() -> None:
    loner = must("podAntiAffinity", near(HOSTNAME, app="w"))
    landscape = world([node("n1"), node("n2")])
    for expected in ("n1", "n2"):
        subject = pod(f"p-{expected}", labels={"app": "w"}, affinity=loner)
        assert chosen(subject, landscape) == expected
        landscape.put(subject, expected)
    assert isinstance(place(pod("p3", labels={"app": "w"}, affinity=loner), landscape), Diagnosis)
