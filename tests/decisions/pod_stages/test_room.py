"""What a kubelet refuses, and in which words."""

from __future__ import annotations

from typing import Any

from eachnode.decisions.pod_stages.room import Room
from eachnode.decisions.pod_stages.view import SimulatedNode, SimulatedPod
from tests.decisions.pod_stages.pods import node, pod

GPU = "example.com/gpu"
PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}
SMALL = node({"cpu": "1", "memory": "1Gi", "pods": "2", GPU: "1"})


def asking(amount: str, resource: str = "cpu") -> dict[str, Any]:
    return {"resources": {"requests": {resource: amount}}}


def named(name: str, **spec: Any) -> SimulatedPod:
    return pod(metadata={"name": name, "uid": name}, **spec)


def refusal(subject: SimulatedPod, where: SimulatedNode, *others: SimulatedPod) -> tuple[str, str] | None:
    room = Room()
    for other in others:
        room.admit(other)
    found = room.refusal(subject, where)
    return None if found is None else (found.reason, found.message)


def test_a_taken_port_is_refused() -> None:
    assert refusal(named("p", container=PORT), SMALL) is None
    assert refusal(named("p", container=PORT), SMALL, named("q", container=PORT)) == (
        "NodePorts",
        "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    )


def test_too_little_room_is_told_in_numbers() -> None:
    assert refusal(named("p", container=asking("600m")), SMALL, named("q", container=asking("500m"))) == (
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000",
    )
    full = refusal(named("p"), SMALL, named("q"), named("r"))
    assert full == ("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2")


def test_a_device_that_is_not_free_any_more_is_unexpected() -> None:
    wants = named("p", container=asking("1", GPU))
    assert refusal(wants, SMALL) is None
    assert refusal(wants, SMALL, named("q", container=asking("1", GPU))) == (
        "UnexpectedAdmissionError",
        "Allocate failed due to requested number of devices unavailable for example.com/gpu. "
        "Requested: 1, Available: 0, which is unexpected",
    )


def test_a_resource_that_the_node_never_had_is_left_to_others() -> None:
    assert refusal(named("p", container=asking("1", GPU)), node()) is None


def test_a_pod_that_should_not_be_on_this_node_is_refused() -> None:
    picky = named("p", nodeSelector={"disk": "ssd"})
    assert refusal(picky, node(disk="ssd")) is None
    assert refusal(picky, node(disk="hdd")) == (
        "NodeAffinity",
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    )


def test_a_pod_that_would_be_expelled_at_once_is_refused_and_one_that_may_only_not_start_is_not() -> None:
    expelling = node(None, "k:NoExecute")
    assert refusal(named("p"), expelling) == (
        "TaintToleration",
        "Predicate TaintToleration failed: node(s) had untolerated taint(s)",
    )
    assert refusal(named("p", tolerations=[{"key": "k", "operator": "Exists"}]), expelling) is None
    assert refusal(named("p"), node(None, "k:NoSchedule")) is None


def test_what_is_released_is_free_again() -> None:
    room, first = Room(), named("first", container={**PORT, **asking("1")})
    room.admit(first)
    room.admit(first)
    assert room.refusal(named("second", container=PORT), SMALL) is not None
    room.release(first.metadata.key)
    assert room.refusal(named("second", container=PORT), SMALL) is None
    assert set(room.used.values()) <= {0}
