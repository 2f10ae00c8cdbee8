"""What is made from a template: pods, revision data, hashes; and what a template means."""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec
import pytest

from eachnode.decisions.hashing import fnv1a, revision_hash, safe_encoded
from eachnode.decisions.history import first_record, same_meaning
from eachnode.decisions.template import meaning, name_prefix, pod_body, pod_name, revision_data
from eachnode.objects.daemonset import DaemonSet
from tests.decisions.world import NEW, UID, daemonset

GENERATION = "deprecated.daemonset.template.generation"


def made(owner: DaemonSet, node: str = "n1", **options: Any) -> dict[str, Any]:
    return msgspec.json.decode(pod_body(owner, NEW, **options).on(node, "d-x"), type=dict[str, Any])


PIN = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}


@pytest.mark.behaviour(25)
def test_a_pod_is_pinned_by_affinity_and_bound_by_the_scheduler() -> None:
    spec = made(daemonset())["spec"]
    assert "nodeName" not in spec
    assert spec["affinity"] == {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": PIN}}


@pytest.mark.behaviour(26)
def test_required_terms_are_replaced_and_all_else_is_kept() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}]
    anti: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": []}
    expressions = [{"key": "a", "operator": "Exists"}]
    terms = [
        {"matchExpressions": expressions},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]},
    ]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        },
        "podAffinity": anti,
        "podAntiAffinity": anti,
    }
    spec = made(daemonset(template={"affinity": affinity, "nodeSelector": {"a": "b"}}))["spec"]
    node_affinity = spec["affinity"]["nodeAffinity"]
    assert node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] == PIN
    assert node_affinity["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert spec["affinity"]["podAffinity"] == spec["affinity"]["podAntiAffinity"] == anti
    assert spec["nodeSelector"] == {"a": "b"}


@pytest.mark.behaviour(27)
def test_a_template_that_names_its_node_bypasses_the_scheduler_and_is_pinned_all_the_same() -> None:
    spec = made(daemonset(template={"nodeName": "n1"}))["spec"]
    assert spec["nodeName"] == "n1"
    assert spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == PIN


@pytest.mark.behaviour(18, 29, 30)
def test_a_pod_inherits_labels_annotations_and_finalizers_and_nothing_else() -> None:
    owner = daemonset(annotations={GENERATION: "07"})
    owner.template_tree["metadata"] |= {
        "annotations": {"note": "a<b"},
        "finalizers": ["example.com/hold"],
        "name": "ignored",
        "creationTimestamp": None,
    }
    before = copy.deepcopy(owner.template_tree)
    metadata = made(owner)["metadata"]
    assert metadata["labels"] == {"app": "d", "controller-revision-hash": NEW, "pod-template-generation": "7"}
    assert metadata["annotations"] == {"note": "a<b"}
    assert metadata["finalizers"] == ["example.com/hold"]
    assert set(metadata) == {"name", "generateName", "labels", "annotations", "finalizers", "ownerReferences"}
    assert owner.template_tree == before
    assert "pod-template-generation" not in made(daemonset(annotations={GENERATION: "x"}))["metadata"]["labels"]


@pytest.mark.behaviour(31)
def test_names_begin_with_the_daemonset_s_unless_that_is_too_long() -> None:
    assert made(daemonset("agent"))["metadata"]["generateName"] == "agent-"
    assert made(daemonset("agent"))["metadata"]["name"] == "d-x"
    assert pod_name("agent", "bcdfg") == "agent-bcdfg"
    assert pod_name("x" * 70, "bcdfg") == "x" * 58 + "bcdfg"
    assert name_prefix("x" * 252) == "x" * 252 + "-"
    assert name_prefix("x" * 253) == "x" * 253


@pytest.mark.behaviour(32)
def test_a_pod_has_exactly_one_owner() -> None:
    assert made(daemonset())["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": "d",
            "uid": UID,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.behaviour(33)
def test_a_pod_that_could_not_be_told_whose_it_is_is_not_made() -> None:
    unlabelled = daemonset()
    unlabelled.template_tree["metadata"].clear()
    with pytest.raises(ValueError, match="no labels"):
        pod_body(unlabelled, "")
    with pytest.raises(ValueError, match="has no uid"):
        pod_body(daemonset(metadata={"uid": ""}), NEW)


@pytest.mark.behaviour(16, 19)
def test_the_pod_gets_the_daemon_tolerations() -> None:
    key = "node.kubernetes.io/not-ready"
    given = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "a", "tolerationSeconds": 3},
    ]
    tolerations = made(daemonset(template={"tolerations": given}))["spec"]["tolerations"]
    assert tolerations[:2] == [
        {"key": key, "operator": "Exists", "effect": "NoExecute"},
        {"key": "a", "tolerationSeconds": 3},
    ]
    assert len(tolerations) == 7


def test_only_the_node_differs_between_pods_and_direct_placement_binds() -> None:
    body = pod_body(daemonset(), NEW, bind=True)
    one, other = (msgspec.json.decode(body.on(name, "d-x"), type=dict[str, Any]) for name in ("n1", 'n"2'))
    assert one["spec"]["nodeName"] == "n1"
    assert other["spec"]["nodeName"] == 'n"2'
    terms = other["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ['n"2']


# Revisions


@pytest.mark.behaviour(101)
def test_revision_data_is_what_go_writes() -> None:
    template = {
        "spec": {"b": 1, "a": '<é&>\u2028\u2029\n"\\', "n": None, "runAsUser": 10000000000, "emptyDir": {}},
        "metadata": {"labels": {"z": "1", "a": "2"}, "creationTimestamp": None},
    }
    assert (
        revision_data(template)
        == (
            '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"2","z":"1"}},'
            '"spec":{"a":"\\u003cé\\u0026\\u003e\\u2028\\u2029\\n\\"\\\\","b":1,"emptyDir":{},"runAsUser":10000000000}}}}'
        ).encode()
    )


@pytest.mark.behaviour(105)
def test_a_hash_has_the_reference_s_shape() -> None:
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"a") == 0xE40C292C
    assert fnv1a(b"foobar") == 0xBF9CF968
    assert safe_encoded("0123456789") == "456789bcdf"
    assert re.fullmatch("[4-9bcdf]{1,10}", revision_hash(b"template", None))


@pytest.mark.behaviour(107)
def test_every_collision_makes_another_hash_and_none_is_not_zero() -> None:
    hashes = [revision_hash(b"template", collisions) for collisions in (None, 0, 1, 2)]
    assert len(set(hashes)) == 4


@pytest.mark.behaviour(18)
def test_tolerations_of_pods_are_in_neither_revision_nor_hash() -> None:
    record = first_record(daemonset(), 1)
    assert b"not-ready" not in record.data


FULL: dict[str, Any] = {
    "metadata": {"labels": {"app": "d"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {"requests": {"cpu": "500m"}},
                "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
                "livenessProbe": {"httpGet": {"port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "serviceAccount": "s",
        "serviceAccountName": "s",
        "volumes": [
            {"name": "v", "hostPath": {"path": "/v", "type": ""}},
            {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
        ],
    },
}
SHORT: dict[str, Any] = {
    "spec": {
        "volumes": [{"hostPath": {"path": "/v"}, "name": "v"}, {"name": "s", "secret": {"secretName": "s"}}],
        "tolerations": [],
        "serviceAccountName": "s",
        "hostNetwork": True,
        "containers": [
            {
                "resources": {"requests": {"cpu": "0.5"}, "limits": {}},
                "image": "i:1",
                "name": "c",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }
        ],
    },
    "metadata": {"creationTimestamp": None, "labels": {"app": "d"}, "annotations": {}},
}


@pytest.mark.behaviour(102)
def test_order_absence_and_spelled_out_defaults_make_no_difference() -> None:
    assert meaning(FULL) == meaning(SHORT)
    assert same_meaning(msgspec.json.encode(SHORT), revision_data(FULL))
    metadata = b'{"creationTimestamp":null,"labels":{"app":"d"}}'
    old = b'{"spec":{"template":{"metadata":%b,"spec":{},"$patch":"replace"}}}' % metadata
    assert same_meaning(b'{"metadata":{"labels":{"app":"d"}},"spec":{}}', old)


def without(*path: Any) -> dict[str, Any]:
    tree: Any = copy.deepcopy(FULL)
    place = tree
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return tree  # type: ignore[no-any-return] # the copy of a tree


@pytest.mark.parametrize(
    "other",
    [
        without("metadata", "labels", "app"),
        without("spec", "hostNetwork"),
        without("spec", "serviceAccountName"),
        without("spec", "volumes", 1),
        without("spec", "containers", 0, "resources", "requests"),
        without("spec", "containers", 0, "ports"),
        {**FULL, "spec": {**FULL["spec"], "terminationGracePeriodSeconds": 0}},
        {**FULL, "spec": {**FULL["spec"], "dnsPolicy": "Default"}},
    ],
)
@pytest.mark.behaviour(102)
def test_every_real_difference_makes_another_template(other: dict[str, Any]) -> None:
    assert meaning(other) != meaning(FULL)
    assert not same_meaning(msgspec.json.encode(FULL), revision_data(other))


@pytest.mark.parametrize(
    "data", [b"null", b"{}", b'{"spec":{"template":[]}}', b'{"spec":7}', b'{"spec":{"template":{"spec":3}}}']
)
def test_data_that_records_no_template_matches_nothing(data: bytes) -> None:
    assert not same_meaning(msgspec.json.encode(FULL), data)


def test_the_pull_policy_follows_the_tag() -> None:
    def with_policy(image: str, policy: str | None) -> bytes:
        container = {"name": "c", "image": image, **({"imagePullPolicy": policy} if policy else {})}
        return meaning({"spec": {"containers": [container]}})

    for image, usual in (
        ("i", "Always"),
        ("r:5000/i", "Always"),
        ("i:latest", "Always"),
        ("i:1", "IfNotPresent"),
        ("i@sha256:0", "IfNotPresent"),
        ("r:5000/i:1", "IfNotPresent"),
    ):
        assert with_policy(image, usual) == with_policy(image, None), image
        assert with_policy(image, "Never") != with_policy(image, None)
