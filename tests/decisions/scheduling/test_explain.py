"""Every objection of a node, with the fact behind it."""

from __future__ import annotations

from eachnode.decisions.scheduling import Answer, Landscape, explain
from eachnode.decisions.scheduling.refusals import Holder
from eachnode.objects.workload import WorkloadPod

from .worlds import must, near, node, pod, spread, world

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def only(subject: WorkloadPod, landscape: Landscape) -> Answer:
    (answer,) = explain(subject, landscape)
    return answer


def sentences(answer: Answer) -> list[str]:
    return [fact.sentence for objection in answer.objections for fact in objection.facts]


def test_all_objections_are_told_not_only_the_first() -> None:
    landscape = world([node("n1", cordoned=True, taints=["dedicated=gpu:NoSchedule"])])
    answer = only(pod("p", nodeSelector={"disk": "ssd"}), landscape)
    assert sentences(answer) == [
        "the node is cordoned (spec.unschedulable)",
        "taint dedicated=gpu:NoSchedule is not tolerated",
        "the node selector wants disk=ssd, and the node has no label disk",
    ]
    assert answer.objections[1].facts[0].remedy == (
        "add the toleration {key: dedicated, value: gpu, effect: NoSchedule}, or take the taint off the node"
    )
    assert [objection.reasons for objection in answer.objections] == [
        ("node(s) were unschedulable",),
        ("node(s) had untolerated taint(s)",),
        ("node(s) didn't match Pod's node affinity/selector",),
    ]


def test_who_holds_the_room_is_told_the_easiest_to_displace_first() -> None:
    there = [
        pod("mid", on="n1", cpu="1", priority=5),
        pod("small", on="n1", cpu="500m"),
        pod("large", on="n1", cpu="2"),
        pod("idle", on="n1"),
    ]
    answer = only(pod("p", cpu="1500m"), world([node("n1", cpu="4")], there))
    (fact,) = answer.objections[0].facts
    assert fact.sentence == "1500m of cpu is asked for and 500m of 4 is free"
    assert fact.holders == (
        Holder("default", "large", 0, "2"),
        Holder("default", "small", 0, "500m"),
        Holder("default", "mid", 5, "1"),
    )


def test_a_node_that_is_too_small_is_told_apart_from_a_full_one() -> None:
    answer = only(pod("p", memory="16Gi"), world([node("n1", memory="8Gi")]))
    assert sentences(answer) == ["16Gi of memory is asked for and the node has 8Gi altogether"]


def test_who_has_a_host_port_is_told() -> None:
    answer = only(pod("p", port=9100), world([node("n1")], [pod("exporter", on="n1", port=9100, priority=3)]))
    (fact,) = answer.objections[0].facts
    assert fact.sentence == "host port *:9100/TCP is taken by default/exporter"
    assert fact.holders == (Holder("default", "exporter", 3, "host port *:9100/TCP"),)


def test_a_full_node_tells_how_many_pods_it_runs() -> None:
    answer = only(pod("p"), world([node("n1", pods="1")], [pod("there", on="n1")]))
    assert sentences(answer) == ["1 pods are there and the node runs at most 1"]


def test_neighbours_are_named() -> None:
    hermit = pod("hermit", on="n1", labels={"app": "h"}, affinity=must("podAntiAffinity", near(ZONE, app="loud")))
    landscape = world([node("n1", labels={ZONE: "a"})], [hermit])
    loud = pod("p", labels={"app": "loud"}, affinity=must("podAntiAffinity", near(HOSTNAME, app="h")))
    assert sentences(only(loud, landscape)) == [
        f"its anti-affinity keeps it away from default/hermit, which is where {HOSTNAME}=n1",
        f"the anti-affinity of default/hermit keeps it away from where {ZONE}=a",
    ]
    lonely = pod("q", affinity=must("podAffinity", near(ZONE, app="nobody"), near("rack", app="h")))
    assert sentences(only(lonely, landscape)) == [
        f"no pod that the affinity asks for is where {ZONE}=a",
        "the node has no label rack, which the pod's affinity needs",
    ]


def test_an_uneven_spread_is_told_with_its_counts() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]
    landscape = world(nodes, [pod("w", on="n1", labels={"app": "w"})])
    subject = pod("p", labels={"app": "w"}, topologySpreadConstraints=[spread(ZONE, app="w"), spread("rack", app="w")])
    answer = explain(subject, landscape, ["n1"])[0]
    assert sentences(answer)[-1] == "the node has no label rack, over which the pod is spread"
    without_rack = pod("p", labels={"app": "w"}, topologySpreadConstraints=[spread(ZONE, app="w")])
    assert sentences(explain(without_rack, landscape, ["n1"])[0]) == [
        f"1 matching pods are where {ZONE}=a, 0 where there are fewest; they may differ by 1"
    ]


def test_a_pinned_pod_is_explained_on_its_node_only() -> None:
    landscape = world([node("n1"), node("n2")])
    assert explain(pod("p", pinned_to=["n2"]), landscape) == (Answer("n2"),)


def test_a_pod_is_not_in_its_own_way() -> None:
    there = pod("p", on="n1", cpu="3", port=80)
    assert explain(there, world([node("n1")], [there])) == (Answer("n1"),)
    assert not explain(pod("q", cpu="3", port=80), world([node("n1")], [there]))[0].fits


def test_room_that_is_being_cleared_for_a_more_important_pod_is_told_to_be_taken() -> None:
    vip = pod("vip", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
    landscape = world([node("n1", cpu="1")], [vip])
    (fact,) = only(pod("p", cpu="1"), landscape).objections[0].facts
    assert fact.holders == (Holder("default", "vip", 9, "1"),)
    assert only(vip, landscape).fits
