"""Taints, node affinity, and the views of nodes, pods, DaemonSets and revisions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.objects.affinity import NodeAffinity, RequiredNodes
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.taints import Taint, Toleration, untolerated


@pytest.mark.behaviour(15)
@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration(key="a", value="1", effect="NoSchedule"), True),
        (Toleration(key="a", operator="Equal", value="1"), True),
        (Toleration(key="a", value="2"), False),
        (Toleration(key="a", operator="Exists", value="2"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(key="b", operator="Exists"), False),
        (Toleration(key="a", operator="Gt", value="0"), False),
        (Toleration(key="a", operator="Lt", value="5"), False),
        (Toleration(key="a", operator="Exists", toleration_seconds=1), True),
    ],
)
def test_a_toleration_covers_a_taint_by_key_value_and_effect(toleration: Toleration, tolerates: bool) -> None:
    taint = Taint(key="a", value="1", effect="NoSchedule")
    assert toleration.tolerates(taint) is tolerates
    assert list(untolerated([taint], [toleration])) == ([] if tolerates else [taint])


def required(*terms: dict[str, Any], node_selector: dict[str, str] | None = None) -> RequiredNodes:
    tree = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return RequiredNodes.of(node_selector, msgspec.convert(tree, NodeAffinity))


def term(
    *expressions: tuple[str, str, list[str]], fields: list[tuple[str, str, list[str]]] | None = None
) -> dict[str, Any]:
    def requirement(key: str, operator: str, values: list[str]) -> dict[str, Any]:
        return {"key": key, "operator": operator, "values": values}

    return {
        "matchExpressions": [requirement(*each) for each in expressions],
        "matchFields": [requirement(*each) for each in fields or []],
    }


NODE_LABELS = {"zone": "a", "disk": "ssd", "rank": "7"}


@pytest.mark.behaviour(5, 6)
@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (("zone", "In", ["a", "b"]), True),
        (("zone", "In", ["b"]), False),
        (("zone", "NotIn", ["b"]), True),
        (("rack", "NotIn", ["b"]), True),
        (("zone", "NotIn", ["a"]), False),
        (("zone", "Exists", []), True),
        (("rack", "Exists", []), False),
        (("rack", "DoesNotExist", []), True),
        (("zone", "DoesNotExist", []), False),
        (("rank", "Gt", ["6"]), True),
        (("rank", "Gt", ["7"]), False),
        (("rank", "Lt", ["8"]), True),
        (("zone", "Lt", ["8"]), False),
        (("rack", "Gt", ["0"]), False),
        # Malformed: nothing matches.
        (("zone", "In", []), False),
        (("zone", "Exists", ["a"]), False),
        (("rank", "Gt", ["x"]), False),
        (("rank", "Gt", ["1", "2"]), False),
        (("zone", "Near", ["a"]), False),
        (("zone", "NotIn", ["not a label value"]), False),
        (("bad key", "DoesNotExist", []), False),
    ],
)
def test_an_expression_asks_for_labels(requirement: tuple[str, str, list[str]], holds: bool) -> None:
    assert required(term(requirement)).match("n", NODE_LABELS) is holds


@pytest.mark.behaviour(5)
def test_terms_are_alternatives_and_requirements_add_up() -> None:
    in_a, in_b, hdd = ("zone", "In", ["a"]), ("zone", "In", ["b"]), ("disk", "In", ["hdd"])
    assert required(term(in_b), term(in_a)).match("n", NODE_LABELS)
    assert not required(term(in_a, hdd)).match("n", NODE_LABELS)
    assert not required(term()).match("n", NODE_LABELS)
    assert not required().match("n", NODE_LABELS)
    assert required(term(), term(in_a)).match("n", NODE_LABELS)


@pytest.mark.behaviour(6)
def test_fields_know_the_name_only_and_malformed_terms_are_skipped() -> None:
    def field(operator: str, values: list[str], key: str = "metadata.name") -> dict[str, Any]:
        return term(fields=[(key, operator, values)])

    assert required(field("In", ["n"])).match("n", {})
    assert not required(field("In", ["m"])).match("n", {})
    assert required(field("NotIn", ["m"])).match("n", {})
    assert not required(field("In", ["n", "m"])).match("n", {})
    assert not required(field("Exists", [])).match("n", {})
    assert not required(field("In", ["n"], key="metadata.uid")).match("n", {})
    # metadata.name among the expressions is a label that no node has.
    assert not required(term(("metadata.name", "In", ["n"]))).match("n", {})
    assert required(field("Gt", ["1"]), field("In", ["n"])).match("n", {})
    assert required(term(("zone", "Near", ["a"])), term(("zone", "In", ["a"]))).match("n", NODE_LABELS)


@pytest.mark.behaviour(4)
def test_selector_and_affinity_must_both_hold() -> None:
    zone = term(("zone", "In", ["a"]))
    assert required(zone, node_selector={"disk": "ssd", "rank": "7"}).match("n", NODE_LABELS)
    assert not required(zone, node_selector={"disk": "ssd", "rank": "8"}).match("n", NODE_LABELS)
    assert not required(term(("zone", "In", ["b"])), node_selector={"disk": "ssd"}).match("n", NODE_LABELS)


def test_what_does_not_match_is_explained() -> None:
    asked = required(term(("zone", "In", ["b", "c"])), term(fields=[("metadata.name", "In", ["m"])]), term())
    explained = asked.explain("n", NODE_LABELS)
    assert "zone In [b c] (zone is a)" in explained
    assert "metadata.name In [m] (the node is n)" in explained
    assert "a term without requirements matches nothing" in explained
    assert "has no terms" in required().explain("n", {})


def pod(spec: dict[str, Any] | None = None, **rest: Any) -> Pod:
    return msgspec.json.decode(msgspec.json.encode({"metadata": {"name": "p"}, "spec": spec or {}, **rest}), type=Pod)


def pinned(*values: str, key: str = "metadata.name", operator: str = "In") -> dict[str, Any]:
    terms = [term(), term(("a", "Exists", [])), term(fields=[(key, operator, list(values))])]
    required_terms = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required_terms}}


@pytest.mark.behaviour(28)
def test_a_pod_s_target_is_its_node_or_else_its_pin() -> None:
    assert pod({"nodeName": "a", "affinity": pinned("b")}).target == "a"
    assert pod({"affinity": pinned("b")}).target == "b"
    assert pod({"affinity": pinned("b", "c")}).target == ""
    assert pod({"affinity": pinned()}).target == ""
    assert pod({"affinity": pinned("b", operator="NotIn")}).target == ""
    assert pod({"affinity": pinned("b", key="metadata.uid")}).target == ""
    assert pod({"affinity": {"podAffinity": {}}}).target == ""
    assert pod({}).target == ""


def ready(since: str | None = "2026-01-01T00:00:10Z", status: str = "True") -> dict[str, Any]:
    other = {"type": "PodScheduled", "status": "True"}
    return {"phase": "Running", "conditions": [other, {"type": "Ready", "status": status, "lastTransitionTime": since}]}


@pytest.mark.behaviour(166)
def test_a_pod_is_available_once_it_has_been_ready_long_enough() -> None:
    start = 1767225600.0
    assert pod(status=ready()).is_ready
    assert pod(status=ready()).available_since(0) == 0.0
    assert pod(status=ready(since=None)).available_since(0) == 0.0
    assert pod(status=ready()).available_since(30) == start + 40
    assert pod(status=ready(since=None)).available_since(30) is None
    assert not pod(status=ready(status="False")).is_ready
    assert pod(status=ready(status="False")).available_since(0) is None
    assert pod(status={"phase": "Running"}).available_since(0) is None


def test_only_what_decisions_read_is_kept_of_a_pod() -> None:
    read = pod({"affinity": pinned("b"), "containers": [{"name": "c"}]}, status=ready())
    assert read.spec.affinity is None
    assert [condition.type for condition in read.status.conditions or ()] == ["Ready"]


@pytest.mark.behaviour(51)
def test_of_several_pods_the_bound_then_the_oldest_then_the_first_by_name_is_kept() -> None:
    def made(name: str, at: int, node: str = "n") -> Pod:
        metadata = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{at:02}Z"}
        return msgspec.convert({"metadata": metadata, "spec": {"nodeName": node}}, Pod)

    pods = [made("a", 1, node=""), made("d", 5), made("c", 3), made("b", 3)]
    assert [each.name for each in sorted(pods, key=lambda each: each.keep_order)] == ["b", "c", "d", "a"]


@pytest.mark.behaviour(30)
def test_the_template_generation_is_a_number_or_nothing() -> None:
    def generation(text: str) -> str | None:
        annotations = {"deprecated.daemonset.template.generation": text}
        return msgspec.convert({"metadata": {"name": "d", "annotations": annotations}}, DaemonSet).template_generation

    assert generation("3") == "3"
    assert generation("007") == "7"
    assert generation("+4") == "4"
    assert generation("-4") == "-4"
    for text in ("", "x", "1.5", " 1", "9223372036854775808", "٣", "--1"):
        assert generation(text) is None, text


def test_one_unreadable_spec_is_found_when_it_is_read() -> None:
    text = b'{"metadata":{"name":"d"},"spec":{"selector":5,"template":{"spec":{"tolerations":7}}}}'
    daemonset = msgspec.json.decode(text, type=DaemonSet)
    with pytest.raises(msgspec.ValidationError):
        _ = daemonset.spec
    readable = msgspec.json.decode(text.replace(b'"selector":5,', b""), type=DaemonSet)
    assert readable.spec.selector is None
    with pytest.raises(msgspec.ValidationError):
        _ = readable.template


def test_heartbeats_do_not_change_how_a_node_is_placed() -> None:
    def node(**status: Any) -> Node:
        tree = {"metadata": {"name": "n", "labels": {"a": "b"}, "resourceVersion": "1"}, "status": status}
        return msgspec.json.decode(msgspec.json.encode(tree), type=Node)

    assert node(a=1).is_placed_like(node(a=2))
    assert not node().is_placed_like(msgspec.convert({"metadata": {"name": "n"}}, Node))
