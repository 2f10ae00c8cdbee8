"""What a pod asks for, and which of the node's ports it takes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.objects.workload import HostPort, WorkloadNode, WorkloadPod, effective_limits, effective_requests

Json = dict[str, Any]
GIB = 1 << 30


def container(cpu: str = "", memory: str = "", *, sidecar: bool = False, **more: Any) -> Json:
    wants = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    tree: Json = {"name": "c", "resources": {"requests": wants, "limits": wants}, **more}
    return {**tree, "restartPolicy": "Always"} if sidecar else tree


def pod_of(**spec: Any) -> WorkloadPod:
    return msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "spec": spec}, WorkloadPod)


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("100m"), container("0.2")]}, 300),
        ({"containers": [container("100m")], "initContainers": [container("1")]}, 1000),  # the neediest moment
        ({"containers": [container("2")], "initContainers": [container("1"), container("500m")]}, 2000),
        ({"containers": [container("100m")], "initContainers": [container("1", sidecar=True)]}, 1100),  # it stays
        (  # the sidecar runs beside the init container that comes after it
            {"containers": [container("100m")], "initContainers": [container("1", sidecar=True), container("2")]},
            3000,
        ),
        (  # and not beside the one that came before
            {"containers": [container("100m")], "initContainers": [container("2"), container("1", sidecar=True)]},
            2000,
        ),
        ({"containers": [container("100m")], "overhead": {"cpu": "50m"}}, 150),
        ({"containers": [container("100m")], "resources": {"requests": {"cpu": "1"}}}, 1000),  # the pod's own word
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "50m"}}, 2050),
        ({"containers": [container()]}, None),
    ],
)  # fmt: skip
def test_the_cpu_that_must_be_free_for_a_pod(spec: Json, cpu: int | None) -> None:
    pod = pod_of(**spec)
    assert pod.requests.get("cpu") == cpu
    assert effective_requests(pod) == pod.requests


def test_each_resource_has_its_own_neediest_moment() -> None:
    pod = pod_of(containers=[container("1", "1Gi")], initContainers=[container("500m", "4Gi")])
    assert pod.requests == {"cpu": 1000, "memory": 4 * GIB}


def test_what_is_not_said_can_be_stood_in_for() -> None:
    pod = pod_of(containers=[container("250m"), container()])
    assert effective_requests(pod, {"cpu": 100, "memory": 7}) == {"cpu": 350, "memory": 14}


def test_only_what_pods_may_ask_for_as_a_whole_replaces_the_sum() -> None:
    wants = {"requests": {"memory": "2Gi", "example.com/gpu": "9", "hugepages-2Mi": "4Mi"}}
    pod = pod_of(containers=[container("1", "1Gi")], resources=wants)
    assert pod.requests == {"cpu": 1000, "memory": 2 * GIB, "hugepages-2Mi": 4 << 20}


def test_overhead_adds_to_limits_that_there_are_and_makes_none() -> None:
    pod = pod_of(containers=[container("1")], overhead={"cpu": "100m", "memory": "1Gi"})
    assert effective_limits(pod) == {"cpu": 1100}


def test_the_ports_of_sidecars_are_taken_and_those_of_init_containers_are_not() -> None:
    def ports(*numbers: int) -> list[Json]:
        return [{"containerPort": 1, "hostPort": number} for number in numbers]

    pod = pod_of(
        containers=[container(ports=[*ports(80), {"containerPort": 2}])],
        initContainers=[container(ports=ports(81)), container(sidecar=True, ports=ports(82))],
    )
    assert [port.port for port in pod.host_ports] == [82, 80]


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (HostPort("", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.2", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), False),
        (HostPort("", "UDP", 80), HostPort("", "TCP", 80), False),
        (HostPort("", "TCP", 80), HostPort("", "TCP", 81), False),
    ],
)
def test_ports_clash_when_one_address_would_have_both(one: HostPort, other: HostPort, clash: bool) -> None:
    assert one.clashes(other) is clash
    assert other.clashes(one) is clash


def test_an_unspecified_address_means_all_of_them() -> None:
    pod = pod_of(containers=[container(ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "0.0.0.0"}])])
    assert pod.host_ports == (HostPort("", "TCP", 80),)


def test_a_node_has_what_it_says_it_can_give() -> None:
    tree = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "3920m", "memory": "1Gi", "pods": 110}}}
    node = msgspec.convert(tree, WorkloadNode)
    assert node.allocatable == {"cpu": 3920, "memory": GIB, "pods": 110}


def test_pods_of_one_kind_share_their_tolerations() -> None:
    tolerations = [{"key": "a", "operator": "Exists"}]
    first, second = (pod_of(containers=[], tolerations=tolerations) for _ in range(2))
    assert first.spec.tolerations is second.spec.tolerations
