"""What holds in every world: placements obey the rules, accounts are exact, refusals have reasons, answers repeat."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eachnode.decisions.scheduling import Diagnosis, Landscape, Placement, Sacrifice, explain, place, preempt, survey
from eachnode.decisions.scheduling.landscape import HOSTNAME, ZONE
from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import CPU, PODS, WorkloadNode, WorkloadPod

from .worlds import Json, must, near, node, pod, spread, tolerating

NAMES = [f"n{each}" for each in range(5)]
APPS = ["a", "b"]


@st.composite
def nodes(draw: st.DrawFn) -> WorkloadNode:
    labels = draw(st.sampled_from([{}, {ZONE: "x"}, {ZONE: "y"}, {ZONE: "x", "disk": "ssd"}]))
    return node(
        draw(st.sampled_from(NAMES)),
        cpu=draw(st.sampled_from(["1", "2", "4"])),
        pods=draw(st.sampled_from(["2", "110"])),
        labels=labels,
        taints=draw(st.sampled_from([[], [], ["t:NoSchedule"], ["t:PreferNoSchedule"]])),
        cordoned=draw(st.booleans()) and draw(st.booleans()),
    )


@st.composite
def specs(draw: st.DrawFn) -> Json:
    spec: Json = {"cpu": draw(st.sampled_from(["", "500m", "1", "3"])), "port": draw(st.sampled_from([0, 0, 80]))}
    spec["priority"] = draw(st.integers(0, 3))
    spec["labels"] = {"app": draw(st.sampled_from(APPS))}
    app = draw(st.sampled_from(APPS))
    key = draw(st.sampled_from([HOSTNAME, ZONE]))
    wish = draw(st.sampled_from(["none", "none", "near", "far", "spread", "pinned", "selector", "tolerant"]))
    match wish:
        case "near":
            spec["affinity"] = must("podAffinity", near(key, app=app))
        case "far":
            spec["affinity"] = must("podAntiAffinity", near(key, app=app))
        case "spread":
            spec["topologySpreadConstraints"] = [spread(key, draw(st.integers(1, 2)), app=app)]
        case "pinned":
            spec["pinned_to"] = [draw(st.sampled_from(NAMES))]
        case "selector":
            spec["nodeSelector"] = {"disk": "ssd"}
        case "tolerant":
            spec["tolerations"] = tolerating("t:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule")
    return spec


@st.composite
def worlds(draw: st.DrawFn) -> Landscape:
    there = {each.metadata.name: each for each in draw(st.lists(nodes(), max_size=5))}
    pods = [
        pod(f"p{number}", on=draw(st.sampled_from(NAMES)), **draw(specs())) for number in range(draw(st.integers(0, 6)))
    ]
    return survey(there.values(), pods)


new_pods = specs().map(lambda spec: pod("new", **spec))


@given(worlds(), new_pods)
@settings(max_examples=300)
def test_a_pod_is_never_placed_where_a_rule_refuses_it(landscape: Landscape, subject: WorkloadPod) -> None:
    outcome = place(subject, landscape)
    if isinstance(outcome, Placement):
        (answer,) = explain(subject, landscape, [outcome.node])
        assert answer.fits
        landscape.put(subject, outcome.node)
        assert not oversold(landscape.rooms[outcome.node], subject)


@given(worlds(), new_pods)
@settings(max_examples=300)
def test_a_pod_without_a_place_is_told_a_reason_by_every_node(landscape: Landscape, subject: WorkloadPod) -> None:
    outcome = place(subject, landscape)
    if isinstance(outcome, Diagnosis) and landscape.rooms:
        answers = explain(subject, landscape, landscape.rooms)
        assert not any(answer.fits for answer in answers)
        assert all(objection.facts for answer in answers for objection in answer.objections)
        counted = outcome.message().split(": ", 1)[1].rstrip(".").split(", ")
        assert sum(int(part.split(" ", 1)[0]) for part in counted) >= len(landscape)


@given(worlds(), new_pods)
@settings(max_examples=300)
def test_a_sacrifice_makes_room_and_no_victim_is_in_vain(landscape: Landscape, subject: WorkloadPod) -> None:
    outcome = place(subject, landscape)
    if not isinstance(outcome, Diagnosis):
        return
    found = preempt(subject, landscape, outcome)
    if not isinstance(found, Sacrifice):
        return
    assert all(victim.priority < subject.priority for victim in found.victims)
    for victim in found.victims:
        landscape.take(victim.metadata.uid)
    assert explain(subject, landscape, [found.node])[0].fits
    least = found.victims[0]
    landscape.put(least, found.node)
    assert not explain(subject, landscape, [found.node])[0].fits


@given(worlds(), new_pods)
@settings(max_examples=150)
def test_the_same_world_gives_the_same_answer(landscape: Landscape, subject: WorkloadPod) -> None:
    before = accounts(landscape)
    first = place(subject, landscape)
    assert place(subject, landscape) == first
    if isinstance(first, Diagnosis):
        assert preempt(subject, landscape, first) == preempt(subject, landscape, first)
    assert accounts(landscape) == before


steps = st.one_of(
    st.tuples(st.just("node"), nodes()),
    st.tuples(st.just("no node"), st.sampled_from(NAMES)),
    st.tuples(st.just("pod"), st.integers(0, 5), st.sampled_from(NAMES), specs()),
    st.tuples(st.just("no pod"), st.integers(0, 5)),
)


@given(st.lists(steps, max_size=25))
@settings(max_examples=300)
def test_the_accounts_equal_a_recount_after_any_changes(changes: list[tuple[Any, ...]]) -> None:
    landscape = Landscape()
    there: dict[str, WorkloadNode] = {}
    placed: dict[str, WorkloadPod] = {}
    for change in changes:
        match change:
            case ("node", WorkloadNode() as new):
                there[new.metadata.name] = new
                landscape.set_node(new)
            case ("no node", name):
                there.pop(name, None)
                landscape.remove_node(name)
            case ("pod", number, on, spec):
                subject = pod(f"p{number}", on=on, **spec)
                placed[subject.metadata.uid] = subject
                landscape.put(subject, on)
            case ("no pod", number):
                uid = pod(f"p{number}").metadata.uid
                placed.pop(uid, None)
                landscape.take(uid)
    recounted = survey(there.values(), placed.values())
    assert accounts(landscape) == accounts(recounted)
    assert landscape.order == recounted.order
    assert {room.name for room in landscape.hostile_rooms} == {room.name for room in recounted.hostile_rooms}
    for name in NAMES:
        assert landscape.with_hostname(name) == recounted.with_hostname(name)


def accounts(landscape: Landscape) -> dict[str, tuple[Any, ...]]:
    return {
        name: (
            room.node,
            sorted(room.tenants),
            room.requested,
            room.owners,
            sorted((key, sorted(held)) for key, held in room.ports.items()),
            sorted(room.hostile),
            (room.busy_cpu, room.busy_memory),
        )
        for name, room in landscape.rooms.items()
    }


def oversold(room: Room, newcomer: WorkloadPod) -> bool:
    """Whether more is booked than there is, of what the newcomer asks for."""
    allocatable = room.there.allocatable
    asks = newcomer.requests.get(CPU, 0) > 0
    return len(room.tenants) > allocatable[PODS] or (asks and room.requested.get(CPU, 0) > allocatable[CPU])


def test_the_account_property_would_notice_a_pod_that_is_not_struck_off() -> None:
    landscape = survey([node("n1")], [pod("a", on="n1", cpu="1")])
    landscape.rooms["n1"].requested[CPU] += 1
    assert accounts(landscape) != accounts(survey([node("n1")], [pod("a", on="n1", cpu="1")]))


def test_the_placement_property_would_notice_a_rule_that_is_not_asked() -> None:
    landscape = survey([node("n1", cpu="1")], [pod("a", on="n1", cpu="1")])
    newcomer = pod("new", cpu="1")
    landscape.put(newcomer, "n1")
    assert oversold(landscape.rooms["n1"], newcomer)
