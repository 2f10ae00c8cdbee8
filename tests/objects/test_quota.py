"""What quotas count, and when they are full."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.objects.quota import (
    Holdings,
    Quota,
    ServiceView,
    add_up,
    counted_kinds,
    object_usage,
    overrun,
    pod_usage,
    quota_status,
    service_usage,
    unsaid,
)
from eachnode.objects.workload import WorkloadPod


def pod(phase: str = "Pending", **spec: Any) -> WorkloadPod:
    spec.setdefault("containers", [container("c", requests={"cpu": "400m", "memory": "200Mi"})])
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase}}, WorkloadPod)


def container(name: str, **resources: Any) -> dict[str, Any]:
    return {"name": name, "resources": resources}


def quota(hard: dict[str, str] | None = None, **spec: Any) -> Quota:
    return msgspec.convert({"metadata": {"name": "q", "namespace": "ns"}, "spec": {"hard": hard or {}, **spec}}, Quota)


def service(**spec: Any) -> ServiceView:
    return msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ServiceView)


def shown(usage: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(usage.items())}


def test_a_pod_uses_up_what_it_asks_for_under_every_name() -> None:
    gpu = container("d", requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "1", "memory": "1Gi"})
    one = pod(containers=[container("c", requests={"cpu": "400m", "memory": "200Mi"}), gpu])
    assert shown(pod_usage(one)) == {
        "count/pods": "1",
        "cpu": "400m",
        "limits.memory": "1Gi",
        "memory": "200Mi",
        "pods": "1",
        "requests.cpu": "400m",
        "requests.example.com/gpu": "1",
        "requests.memory": "200Mi",
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_counts_as_an_object_only(phase: str) -> None:
    assert shown(pod_usage(pod(phase))) == {"count/pods": "1"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "ClusterIP", "ports": [{}]}, {}),
        ({"type": "NodePort", "ports": [{}, {}]}, {"services.nodeports": "2"}),
        ({"type": "LoadBalancer", "ports": [{}]}, {"services.loadbalancers": "1", "services.nodeports": "1"}),
        (
            {"type": "LoadBalancer", "ports": [{}], "allocateLoadBalancerNodePorts": False},
            {"services.loadbalancers": "1"},
        ),
    ],
)
def test_services_use_up_ports_of_nodes(spec: Any, expected: dict[str, str]) -> None:
    assert shown(service_usage(service(**spec))) == {"count/services": "1", "services": "1", **expected}


def test_some_kinds_are_counted_by_their_bare_name_too() -> None:
    assert shown(object_usage("secrets")) == {"count/secrets": "1", "secrets": "1"}
    assert shown(object_usage("daemonsets.apps")) == {"count/daemonsets.apps": "1"}


def test_sums_are_written_as_their_first_part_is() -> None:
    usage = add_up([pod_usage(pod()), pod_usage(pod(containers=[container("c", requests={"memory": "512Mi"})]))])
    assert str(usage["memory"]) == "712Mi"
    assert str(usage["pods"]) == "2"


def test_a_full_quota_says_what_was_asked_is_used_and_is_allowed() -> None:
    full = quota({"pods": "2", "requests.cpu": "1", "memory": "1Gi"})
    used = add_up([pod_usage(pod()), pod_usage(pod())])
    assert overrun(full, used, pod_usage(pod())) == (
        "exceeded quota: q, requested: pods=1,requests.cpu=400m, used: pods=2,requests.cpu=800m, "
        "limited: pods=2,requests.cpu=1"
    )


def test_what_fits_exactly_fits() -> None:
    assert overrun(quota({"pods": "2"}), pod_usage(pod()), pod_usage(pod())) == ""


def test_what_is_not_asked_for_is_not_held_against_anybody() -> None:
    full = quota({"limits.cpu": "1"})
    used = {"limits.cpu": pod_usage(pod())["cpu"].plus(pod_usage(pod())["cpu"]).plus(pod_usage(pod())["cpu"])}
    assert overrun(full, used, pod_usage(pod())) == ""


@pytest.mark.parametrize(
    ("hard", "expected"),
    [
        ({"pods": "2"}, ""),
        ({"requests.cpu": "1"}, ""),
        ({"cpu": "1"}, ""),
        ({"limits.memory": "1"}, "limits.memory for: c,i"),
        ({"limits.cpu": "1", "requests.memory": "1"}, "limits.cpu for: c; requests.memory for: i"),
    ],
)
def test_containers_must_say_what_a_quota_limits(hard: dict[str, str], expected: str) -> None:
    one = pod(
        containers=[container("c", requests={"cpu": "1", "memory": "1"})],
        initContainers=[container("i", requests={"cpu": "1"}, limits={"cpu": "1"})],
    )
    assert unsaid(quota(hard), one) == expected


def test_a_pod_that_speaks_for_all_its_containers_has_said_enough() -> None:
    assert unsaid(quota({"limits.cpu": "1"}), pod(resources={"requests": {"cpu": "1"}})) == ""


@pytest.mark.parametrize(
    ("scopes", "spec", "counted"),
    [
        (["Terminating"], {"activeDeadlineSeconds": 5}, True),
        (["Terminating"], {}, False),
        (["NotTerminating"], {}, True),
        (["BestEffort"], {"containers": [container("c")]}, True),
        (["BestEffort"], {}, False),
        (["NotBestEffort"], {}, True),
        (["PriorityClass"], {"priorityClassName": "high"}, True),
        (["PriorityClass"], {}, False),
        (["CrossNamespacePodAffinity"], {}, False),
        (
            ["CrossNamespacePodAffinity"],
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "namespaces": ["n"]}]
                    }
                }
            },
            True,
        ),
        (["VolumeAttributesClass"], {}, False),
    ],
)
def test_scopes_narrow_down_which_pods_count(scopes: list[str], spec: Any, counted: bool) -> None:
    assert quota(scopes=scopes).counts_pod(pod(**spec)) is counted


@pytest.mark.parametrize(
    ("operator", "values", "name", "counted"),
    [
        ("In", ["high"], "high", True),
        ("In", ["high"], "low", False),
        ("In", ["high"], "", False),
        ("NotIn", ["high"], "low", True),
        ("NotIn", ["high"], "", True),
        ("DoesNotExist", None, "", True),
        ("Exists", None, "low", True),
    ],
)
def test_a_scope_may_name_priority_classes(operator: str, values: Any, name: str, counted: bool) -> None:
    requirement = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    chosen = quota(scopeSelector={"matchExpressions": [requirement]})
    assert chosen.counts_pod(pod(priorityClassName=name)) is counted


def test_a_quota_with_scopes_counts_pods_only() -> None:
    assert quota().counts_others()
    assert not quota(scopes=["BestEffort"]).counts_others()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("pods", ("count/pods", "hugepages-2Mi", "pods", "requests.cpu", "requests.example.com/gpu")),
        ("services", ("services.nodeports",)),
        ("secrets", ("count/secrets", "secrets")),
        ("daemonsets.apps", ("count/daemonsets.apps",)),
        ("configmaps", ()),
    ],
)
def test_each_kind_uses_up_its_own_resources(kind: str, names: tuple[str, ...]) -> None:
    of_pods = ("pods", "count/pods", "requests.cpu", "requests.example.com/gpu", "hugepages-2Mi")
    hard = dict.fromkeys((*of_pods, "services.nodeports", "secrets", "count/secrets", "count/daemonsets.apps"), "1")
    assert quota(hard).names_for(kind) == names


def test_the_status_of_a_quota_is_made_from_what_is_there() -> None:
    full = quota({"pods": "5", "requests.memory": "1Gi", "services": "2", "count/daemonsets.apps": "1", "secrets": "9"})
    held = Holdings([pod(), pod("Failed")], [service(type="ClusterIP")], {"daemonsets.apps": 1})
    assert counted_kinds(full) == {"daemonsets.apps", "secrets"}
    assert quota_status(full, held) == {
        "hard": {"count/daemonsets.apps": "1", "pods": "5", "requests.memory": "1Gi", "secrets": "9", "services": "2"},
        "used": {
            "count/daemonsets.apps": "1",
            "pods": "1",
            "requests.memory": "200Mi",
            "secrets": "0",
            "services": "1",
        },
    }


def test_a_quota_that_limits_nothing_has_no_status() -> None:
    assert quota_status(quota(), Holdings([pod()])) == {}
