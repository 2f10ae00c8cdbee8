"""Which pods nobody will ever finish."""

from __future__ import annotations

import msgspec

from eachnode.decisions.pod_garbage import CareNode, MortalPod, doomed
from eachnode.objects.document import Document


def pod(
    name: str, *, node: str = "", phase: str = "Running", reason: str = "", going: bool = False, created: int = 0
) -> MortalPod:
    deleted = ',"deletionTimestamp":"2026-01-01T00:00:00Z"' if going else ""
    return Document(
        f'{{"metadata":{{"namespace":"n","name":"{name}","creationTimestamp":"2026-01-01T00:00:{created:02d}Z"{deleted}}},'
        f'"spec":{{"nodeName":"{node}"}},"status":{{"phase":"{phase}","reason":"{reason}"}}}}'.encode()
    ).read(MortalPod)


def names(*pods: MortalPod, gone: frozenset[str] = frozenset(), allowed: int = 100) -> list[str]:
    return [removal.pod.metadata.name for removal in doomed(pods, gone, allowed)]


def test_pods_of_a_node_that_is_gone_go_and_those_of_others_stay() -> None:
    pods = pod("a", node="gone"), pod("b", node="there"), pod("c")
    assert names(*pods, gone=frozenset({"gone"})) == ["a"]


def test_a_pod_deleted_before_it_was_bound_goes() -> None:
    assert names(pod("a", going=True), pod("b", node="there", going=True)) == ["a"]


def test_the_oldest_finished_pods_beyond_the_threshold_go() -> None:
    pods = [pod(f"p{age}", node="there", phase="Failed", created=age) for age in (3, 1, 2)]
    assert names(*pods, allowed=1) == ["p1", "p2"]
    assert names(*pods, allowed=3) == []


def test_a_threshold_of_none_keeps_all_finished_pods() -> None:
    assert names(*(pod(f"p{age}", node="there", phase="Succeeded") for age in range(5)), allowed=0) == []


def test_evicted_pods_go_before_older_ones() -> None:
    evicted = pod("evicted", node="there", phase="Failed", reason="Evicted", created=9)
    older = [pod(f"p{age}", node="there", phase="Failed", created=age) for age in (1, 2)]
    assert names(*older, evicted, allowed=2) == ["evicted"]
    assert names(*older, evicted, allowed=1) == ["evicted", "p1"]


def test_pods_that_are_to_leave_a_node_out_of_service_go() -> None:
    pods = [pod("going", node="off", going=True), pod("staying", node="off"), pod("elsewhere", node="on", going=True)]
    removed = [removal.pod.metadata.name for removal in doomed(pods, (), 100, {"off"})]
    assert removed == ["going"]


def test_a_node_is_out_of_service_when_it_is_said_and_it_is_not_ready() -> None:
    def node(ready: str, taint: str) -> CareNode:
        status = {"conditions": [{"type": "Ready", "status": ready}]}
        tree = {
            "metadata": {"name": "n"},
            "spec": {"taints": [{"key": taint, "effect": "NoExecute"}]},
            "status": status,
        }
        return msgspec.convert(tree, CareNode)

    said = "node.kubernetes.io/out-of-service"
    assert node("Unknown", said).is_out_of_service
    assert not node("True", said).is_out_of_service
    assert not node("Unknown", "node.kubernetes.io/unreachable").is_out_of_service
