"""Each rule refuses what it should, in kube-scheduler's words, and nothing else."""

from __future__ import annotations

import pytest

from eachnode.decisions.scheduling import Diagnosis, Landscape, Placement, place
from eachnode.objects.workload import WorkloadPod

from .worlds import Json, must, near, node, pod, spread, tolerating, world

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NO_PREEMPTION = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def reasons(subject: WorkloadPod, landscape: Landscape) -> str:
    """What the message says before any preemption; empty when the pod has a place."""
    outcome = place(subject, landscape)
    if isinstance(outcome, Placement):
        return ""
    return outcome.message().removeprefix(f"0/{len(landscape)} nodes are available: ").removesuffix(".")


@pytest.mark.parametrize(
    ("taint", "tolerations", "refused"),
    [
        ("a=b:NoSchedule", [], True),
        ("a=b:NoExecute", [], True),
        ("a=b:PreferNoSchedule", [], False),
        ("a=b:NoSchedule", tolerating("a=b:NoSchedule"), False),
        ("a=b:NoSchedule", tolerating("a=c:NoSchedule"), True),
        ("a=b:NoSchedule", tolerating("a:NoSchedule"), False),
        ("a=b:NoSchedule", tolerating("a:NoExecute"), True),
        ("a=b:NoExecute", [{"operator": "Exists"}], False),
    ],
)
def test_a_taint_that_is_not_tolerated_repels(taint: str, tolerations: list[Json], refused: bool) -> None:
    landscape = world([node("n1", taints=[taint])])
    answer = reasons(pod("p", tolerations=tolerations), landscape)
    assert answer == ("1 node(s) had untolerated taint(s)" if refused else "")


@pytest.mark.parametrize(
    ("tolerations", "refused"),
    [
        ([], True),
        (tolerating("node.kubernetes.io/unschedulable:NoSchedule"), False),
        (tolerating("x:NoSchedule"), True),
    ],
)
def test_a_cordoned_node_takes_only_pods_that_tolerate_its_taint(tolerations: list[Json], refused: bool) -> None:
    landscape = world([node("n1", cordoned=True)])
    answer = reasons(pod("p", tolerations=tolerations), landscape)
    assert answer == ("1 node(s) were unschedulable" if refused else "")


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, False),
        ({"nodeSelector": {"disk": "hdd"}}, True),
        ({"nodeSelector": {"disk": "ssd", "gpu": "yes"}}, True),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}]
        }}}}, True),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
            ]
        }}}}, False),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]
        }}}}, True),
    ],
)  # fmt: skip
def test_a_pod_goes_only_where_its_selector_and_affinity_allow(spec: Json, refused: bool) -> None:
    landscape = world([node("n1", labels={"disk": "ssd"})])
    assert reasons(pod("p", **spec), landscape) == (
        "1 node(s) didn't match Pod's node affinity/selector" if refused else ""
    )


def test_a_pod_that_names_a_node_is_refused_by_the_others() -> None:
    landscape = world([node("n1"), node("n2")])
    assert reasons(pod("p", on="elsewhere"), landscape) == "2 node(s) didn't match the requested node name"


@pytest.mark.parametrize(
    ("have", "want", "refused"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
    ],
)
def test_a_host_port_is_had_by_one_pod_at_a_time(have: Json, want: Json, refused: bool) -> None:
    def with_port(name: str, port: Json, on: str = "") -> WorkloadPod:
        return pod(name, on=on, containers=[{"name": "c", "ports": [{"containerPort": 1, **port}]}])

    landscape = world([node("n1")], [with_port("holder", have, "n1")])
    answer = reasons(with_port("p", want), landscape)
    assert answer == ("1 node(s) didn't have free ports for the requested pod ports" if refused else "")


def test_each_short_resource_is_named_and_every_pod_needs_a_place() -> None:
    landscape = world([node("n1", cpu="1", memory="1Gi", pods="1")], [pod("there", on="n1", cpu="600m")])
    wanting = pod("p", cpu="500m", memory="2Gi", containers=[
        {"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "2Gi", "example.com/gpu": "1"}}}
    ])  # fmt: skip
    assert reasons(wanting, landscape) == (
        "1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Insufficient memory, 1 Too many pods"
    )


def test_a_pod_that_asks_for_nothing_needs_a_place_only() -> None:
    assert reasons(pod("p"), world([node("n1", cpu="0", memory="0")])) == ""


@pytest.mark.parametrize(
    ("kind", "term", "answer"),
    [
        ("podAffinity", near(ZONE, app="db"), ""),
        ("podAffinity", near(ZONE, app="web"), "2 node(s) didn't match pod affinity rules"),
        ("podAffinity", near("rack", app="db"), "2 node(s) didn't match pod affinity rules"),
        ("podAffinity", near(ZONE, app="db", namespaces=["other"]), "2 node(s) didn't match pod affinity rules"),
        ("podAffinity", near(ZONE, app="db", selector={}), ""),
        ("podAffinity", near(HOSTNAME, app="new"), ""),  # the first of its kind finds itself
        ("podAntiAffinity", near(HOSTNAME, app="db"), ""),
        ("podAntiAffinity", near(ZONE, app="db"), "2 node(s) didn't match pod anti-affinity rules"),
        ("podAntiAffinity", near(ZONE, app="db", namespaces=["other"]), ""),
    ],
)
def test_pods_are_kept_near_and_far_as_they_ask(kind: str, term: Json, answer: str) -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a"})]
    landscape = world(nodes, [pod("db", on="n1", labels={"app": "db"})])
    assert reasons(pod("p", labels={"app": "new"}, affinity=must(kind, term)), landscape) == answer


def test_a_namespace_selector_asks_for_the_labels_of_the_namespace() -> None:
    landscape = world([node("n1")], [pod("db", on="n1", namespace="shop", labels={"app": "db"})])
    wanting = pod("p", affinity=must("podAffinity", near(HOSTNAME, app="db", selector={"matchLabels": {"team": "x"}})))
    assert reasons(wanting, landscape) == "1 node(s) didn't match pod affinity rules"
    landscape.namespaces["shop"] = {"team": "x"}
    assert reasons(wanting, landscape) == ""


def test_a_pod_is_kept_from_neighbours_that_refuse_it() -> None:
    hermit = pod("hermit", on="n1", labels={"app": "h"}, affinity=must("podAntiAffinity", near(ZONE, app="loud")))
    landscape = world([node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a"})], [hermit])
    assert (
        reasons(pod("p", labels={"app": "loud"}), landscape)
        == "2 node(s) didn't satisfy existing pods anti-affinity rules"
    )
    assert reasons(pod("p", labels={"app": "quiet"}), landscape) == ""


def test_a_hard_spread_refuses_the_fuller_places_and_nodes_without_one() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}), node("n3")]
    there = [pod(f"w{each}", on="n1", labels={"app": "w"}) for each in range(2)]
    landscape = world(nodes, [*there, pod("w9", on="n2", labels={"app": "w"})])
    wanting = pod("p", labels={"app": "w"}, topologySpreadConstraints=[spread(ZONE, app="w")])
    outcome = place(wanting, landscape)
    assert isinstance(outcome, Placement)
    assert outcome.node == "n2"
    landscape.set_node(node("n2", labels={ZONE: "b"}, cordoned=True))
    assert reasons(wanting, landscape) == (
        "1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), 1 node(s) were unschedulable"
    )


@pytest.mark.parametrize(
    ("more", "node_of_choice"),
    [
        ({}, None),  # the tainted node's place counts, and holds the emptiest place
        ({"nodeTaintsPolicy": "Honor"}, "n1"),  # a place that cannot be used does not count
        ({"nodeTaintsPolicy": "Honor", "minDomains": 2}, None),  # too few places: the emptiest counts as empty
    ],
)
def test_which_places_count_follows_the_policies(more: Json, node_of_choice: str | None) -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}, taints=["x:NoSchedule"])]
    landscape = world(nodes, [pod("w", on="n1", labels={"app": "w"})])
    wanting = pod("p", labels={"app": "w"}, topologySpreadConstraints=[spread(ZONE, app="w", more=more)])
    outcome = place(wanting, landscape)
    assert (outcome.node if isinstance(outcome, Placement) else None) == node_of_choice


def test_pods_on_their_way_out_do_not_count_as_spread() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}, cordoned=True)]
    wanting = pod("p", labels={"app": "w"}, topologySpreadConstraints=[spread(ZONE, app="w")])
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert reasons(wanting, world(nodes, [pod("w", on="n1", labels={"app": "w"})]))
    assert reasons(wanting, world(nodes, [pod("w", on="n1", labels={"app": "w"}, metadata=leaving)])) == ""


def test_match_label_keys_narrow_the_spread_to_pods_of_the_same_value() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}, cordoned=True)]
    landscape = world(nodes, [pod("old", on="n1", labels={"app": "w", "rev": "1"})])
    constraint = spread(ZONE, app="w", more={"matchLabelKeys": ["rev"]})
    assert reasons(pod("p", labels={"app": "w", "rev": "2"}, topologySpreadConstraints=[constraint]), landscape) == ""
    assert reasons(pod("p", labels={"app": "w", "rev": "1"}, topologySpreadConstraints=[constraint]), landscape)


def test_the_first_rule_that_objects_gives_the_reason() -> None:
    landscape = world([node("n1", cordoned=True, taints=["a:NoSchedule"], cpu="0")])
    assert reasons(pod("p", cpu="1", nodeSelector={"no": "where"}), landscape) == "1 node(s) were unschedulable"


def test_no_nodes_at_all_is_said_so() -> None:
    outcome = place(pod("p"), Landscape())
    assert isinstance(outcome, Diagnosis)
    assert outcome.message() == "no nodes available to schedule pods"


def test_reasons_are_sorted_as_texts() -> None:
    nodes = [node(f"t{each}", taints=["a:NoSchedule"]) for each in range(10)]
    landscape = world([*nodes, node("c1", cordoned=True), node("c2", cordoned=True)])
    assert reasons(pod("p"), landscape) == "10 node(s) had untolerated taint(s), 2 node(s) were unschedulable"
