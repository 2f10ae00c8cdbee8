"""The history of a DaemonSet: current revision, duplicates, numbers, labels, and what is forgotten."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.decisions.history import (
    DeleteRevision,
    History,
    LabelRevision,
    RelabelPod,
    RenumberRevision,
    WriteRevision,
    prune,
    review,
)
from eachnode.decisions.template import revision_data
from eachnode.objects.pod import Pod
from eachnode.objects.revision import ControllerRevision
from tests.decisions.world import UID, daemonset, fleet_of, nodes_named, plan_of, pod, revision

OWNER = daemonset(annotations={"kubernetes.io/change-cause": "why", "deprecated.daemonset.template.generation": "4"})
DATA = revision_data(OWNER.template_tree)


def other(image: str) -> bytes:
    tree = OWNER.template_tree
    return revision_data({**tree, "spec": {"containers": [{"name": "c", "image": image}]}})


def body(write: Any) -> dict[str, Any]:
    return msgspec.json.decode(write.body, type=dict[str, Any])


def labelled(name: str, number: int, data: bytes = DATA) -> ControllerRevision:
    return revision(name, number, data, label=f"hash-{name}")


@pytest.mark.behaviour(44, 103)
def test_a_template_that_is_in_no_revision_is_recorded_as_the_newest() -> None:
    first = review(OWNER, [])
    assert first.current is None
    (write,) = first.writes
    assert isinstance(write, WriteRevision)
    assert body(write)["revision"] == 1
    later = review(OWNER, [labelled("a", 3, other("x")), labelled("b", 7, other("y"))])
    assert body(later.writes[0])["revision"] == 8


@pytest.mark.behaviour(101, 104)
def test_a_revision_carries_template_labels_the_hash_all_annotations_and_its_owner() -> None:
    (write,) = review(OWNER, []).writes
    assert isinstance(write, WriteRevision)
    tree = body(write)
    assert write.name == f"d-{write.hash}"
    assert tree["metadata"] == {
        "name": write.name,
        "namespace": "ns",
        "labels": {"app": "d", "controller-revision-hash": write.hash},
        "annotations": {"kubernetes.io/change-cause": "why", "deprecated.daemonset.template.generation": "4"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "name": "d",
                "uid": UID,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert b'"data":' + DATA in write.body
    assert review(OWNER, []).hash == write.hash


@pytest.mark.behaviour(102, 106)
def test_a_revision_with_the_same_content_is_current_and_its_label_is_the_hash() -> None:
    history = review(OWNER, [labelled("a", 3, other("x")), labelled("b", 7)])
    assert history.current is not None
    assert (history.current.name, history.hash, history.writes) == ("b", "hash-b", ())
    assert [each.name for each in history.old] == ["a"]


@pytest.mark.behaviour(102)
def test_a_revision_that_only_looks_different_is_current_too() -> None:
    old_release = DATA.replace(b'"metadata":{', b'"metadata":{"creationTimestamp":null,')
    assert old_release != DATA
    assert review(OWNER, [labelled("a", 1, old_release)]).writes == ()


@pytest.mark.behaviour(108)
def test_a_revision_without_its_label_gets_its_own_name() -> None:
    history = review(OWNER, [revision("mine", 1, DATA)])
    (write,) = history.writes
    assert isinstance(write, LabelRevision)
    assert body(write)["metadata"]["labels"] == {"controller-revision-hash": "mine"}
    assert body(write)["metadata"]["resourceVersion"] == "3"
    assert b'"data":' + DATA in write.body
    assert history.hash == "mine"


@pytest.mark.behaviour(111)
def test_of_twins_the_newest_stays_and_every_pod_follows_it() -> None:
    pods = [pod("p2", revision="hash-b"), pod("p1", revision="hash-a"), pod("p3", on="", revision="hash-c")]
    history = review(OWNER, [labelled("b", 5), labelled("a", 2), labelled("c", 5)], pods)
    assert history.hash == "hash-c"
    relabels = [write for write in history.writes if isinstance(write, RelabelPod)]
    assert [(write.pod.name, write.hash) for write in relabels] == [("p1", "hash-c"), ("p2", "hash-c")]
    assert body(relabels[0]) == {"metadata": {"labels": {"controller-revision-hash": "hash-c"}}}
    deletes = [write.revision.name for write in history.writes if isinstance(write, DeleteRevision)]
    assert deletes == ["a", "b"]
    assert isinstance(history.writes[-1], DeleteRevision)  # Pods are relabelled first.


@pytest.mark.behaviour(112)
def test_without_twins_no_pod_is_relabelled() -> None:
    pods = [pod("p", revision="lost")]
    assert review(OWNER, [labelled("a", 1)], pods).writes == ()


@pytest.mark.behaviour(113)
def test_an_older_revision_that_is_current_again_becomes_the_newest() -> None:
    history = review(OWNER, [labelled("a", 1), labelled("b", 4, other("x"))])
    (write,) = history.writes
    assert isinstance(write, RenumberRevision)
    tree = body(write)
    assert (write.number, tree["revision"], tree["metadata"]["name"]) == (5, 5, "a")
    assert tree["metadata"]["labels"]["controller-revision-hash"] == "hash-a"
    assert b'"data":' + DATA in write.body


@pytest.mark.behaviour(114)
def test_the_newest_is_left_alone() -> None:
    assert review(OWNER, [labelled("a", 9), labelled("b", 4, other("x"))]).writes == ()


def old_ones(*numbers: int) -> History:
    revisions = [labelled("now", 99), *(labelled(f"r{number}", number, other(f"old:{number}")) for number in numbers)]
    return review(OWNER, revisions)


@pytest.mark.behaviour(115)
def test_the_oldest_unused_revisions_go_and_those_in_use_spend_none_of_the_surplus() -> None:
    history = old_ones(3, 1, 2, 4)
    assert [gone.revision.name for gone in prune(history, 2, {})] == ["r1", "r2"]
    assert [gone.revision.name for gone in prune(history, 2, {"hash-r1": 1, "hash-r3": 2})] == ["r2", "r4"]
    assert prune(history, 4, {}) == ()
    assert prune(history, 9, {}) == ()


@pytest.mark.behaviour(116)
def test_the_current_revision_is_never_forgotten() -> None:
    assert [gone.revision.name for gone in prune(old_ones(1, 2), 0, {})] == ["r1", "r2"]


@pytest.mark.behaviour(119)
def test_an_unset_limit_is_what_the_api_fills_in() -> None:
    assert prune(old_ones(*range(1, 11)), None, {}) == ()
    assert len(prune(old_ones(*range(1, 13)), None, {})) == 2


@pytest.mark.behaviour(46, 115)
def test_pods_that_ended_and_are_going_still_hold_their_revision() -> None:
    def pruned(*pods: Pod) -> list[str]:
        owner = daemonset(revisionHistoryLimit=0)
        plan = plan_of(owner, nodes_named("n1"), pods, history=old_ones(1))
        return [gone.revision.name for gone in plan.prunes]

    assert pruned() == ["r1"]
    assert pruned(pod("p", revision="hash-r1", phase="Failed", going=True)) == []
    assert pruned(pod("p", on="", revision="hash-r1")) == ["r1"]
    assert pruned(pod("p", on="gone", revision="hash-r1")) == []


@pytest.mark.behaviour(118)
def test_revisions_are_forgotten_in_the_same_plan_that_creates_pods() -> None:
    owner = daemonset(revisionHistoryLimit=0, strategy={"type": "OnDelete"})
    plan = plan_of(owner, nodes_named("n1"), [], history=old_ones(1))
    assert plan.creates
    assert plan.prunes


@pytest.mark.behaviour(120)
def test_a_successor_with_the_same_template_reuses_the_revision_and_restarts_nothing() -> None:
    successor = daemonset(metadata={"uid": "another"})
    history = review(successor, [labelled("a", 1)])
    assert (history.hash, history.writes) == ("hash-a", ())
    fleet = fleet_of(successor, nodes_named("n1"), [pod("p", revision="hash-a")], revision=history.hash)
    assert fleet.tally.updated == 1


def test_one_revision_is_written_at_most_once_in_a_pass() -> None:
    history = review(OWNER, [revision("mine", 1, DATA), labelled("b", 4, other("x"))])
    assert [type(write) for write in history.writes] == [LabelRevision]
