"""What daemon pods cost is counted by class of node, and pods of others are not counted."""

from __future__ import annotations

from typing import Any

import msgspec

from eachnode.decisions.costs import Bill, class_name
from eachnode.objects.meta import Key
from eachnode.objects.workload import WorkloadNode, WorkloadPod


def node(name: str, cpu: str = "4", **labels: str) -> WorkloadNode:
    tree = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"cpu": cpu, "memory": "8Gi"}}}
    return msgspec.convert(tree, WorkloadNode)


def daemon(on: str, cpu: str, kind: str = "DaemonSet", **status: Any) -> WorkloadPod:
    owner = {"kind": kind, "name": "d", "uid": "u", "controller": True}
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    tree = {
        "metadata": {"name": "p", "namespace": "ns", "ownerReferences": [owner]},
        "spec": {"nodeName": on, "containers": containers},
        "status": status,
    }
    return msgspec.convert(tree, WorkloadPod)


def test_a_class_is_the_instance_type_or_else_the_size() -> None:
    assert class_name(node("n", **{"node.kubernetes.io/instance-type": "m5.large"})) == "m5.large"
    assert class_name(node("n", **{"beta.kubernetes.io/instance-type": "m4.large"})) == "m4.large"
    assert class_name(node("n")) == "4 cpu, 8Gi"


def test_a_small_node_pays_a_larger_share_for_the_same_pod() -> None:
    bill = Bill([node("small", "2"), node("large", "16")])
    for name in ("small", "large"):
        bill.add(daemon(name, "500m"))
    shares = {kind.name: kind.share("cpu", kind.total.requests) for kind in bill.classes}
    assert shares == {"2 cpu, 8Gi": 0.25, "16 cpu, 8Gi": 0.03125}


def test_pods_of_others_and_pods_that_have_ended_cost_nothing() -> None:
    bill = Bill([node("n")])
    bill.add(daemon("n", "1", kind="ReplicaSet"))
    bill.add(daemon("n", "1", phase="Failed"))
    bill.add(daemon("", "1"))
    assert bill.classes[0].costs == {}
    assert bill.waiting == {Key("ns", "d"): 1}
