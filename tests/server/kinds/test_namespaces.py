"""Namespaces as a kind."""

from __future__ import annotations

import pytest

from eachnode.objects.status import Forbidden
from eachnode.server.kind import Tree
from eachnode.server.kinds.namespaces import NAMESPACE

from .judging import CALL, cells, created, faults, listed, read, status_faults, updated


def test_a_new_namespace_is_active_and_has_its_finalizer_and_its_name_as_label() -> None:
    tree = created(NAMESPACE, metadata={"name": "a"}, status={"phase": "Terminating"})
    assert tree["status"] == {"phase": "Active"}
    assert tree["spec"] == {"finalizers": ["kubernetes"]}
    assert tree["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}


def test_the_name_label_cannot_be_given_another_value() -> None:
    tree = created(NAMESPACE, metadata={"name": "a", "labels": {"kubernetes.io/metadata.name": "b"}})
    assert tree["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}


def test_further_finalizers_stay_beside_the_own_one() -> None:
    tree = created(NAMESPACE, spec={"finalizers": ["example.com/x"]})
    assert tree["spec"]["finalizers"] == ["example.com/x", "kubernetes"]


def test_an_update_changes_neither_status_nor_finalizers() -> None:
    old = created(NAMESPACE)
    new = updated(NAMESPACE, old, spec={"finalizers": ["example.com/x"]}, status={"phase": "Terminating"})
    assert new["spec"] == old["spec"]
    assert new["status"] == old["status"]


@pytest.mark.parametrize(
    ("finalizer", "messages"),
    [
        ("kubernetes", []),
        ("orphan", []),
        ("example.com/x", []),
        (
            "mine",
            ['Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'],
        ),
    ],
)
def test_finalizers_are_standard_or_qualified(finalizer: str, messages: list[str]) -> None:
    assert [message for _, message in faults(NAMESPACE, spec={"finalizers": [finalizer]})] == messages


def test_finalize_takes_the_finalizer_off_and_leaves_the_status() -> None:
    old = {**created(NAMESPACE), "status": {"phase": "Terminating"}}
    new = read(NAMESPACE, spec={}, status={"phase": "Active"})
    rules = NAMESPACE.subresources["finalize"]
    rules.prepare(new, old, CALL)
    assert new["status"] == {"phase": "Terminating"}
    assert not listed(rules.validate(new, old))
    assert NAMESPACE.held is not None
    assert NAMESPACE.held(old)
    assert not NAMESPACE.held(new)


def test_finalize_judges_each_finalizer_by_its_place() -> None:
    new = read(NAMESPACE, spec={"finalizers": ["kubernetes", "mine"]})
    found = listed(NAMESPACE.subresources["finalize"].validate(new, new))
    assert [field for field, _ in found] == ["spec.finalizers[1]"]


@pytest.mark.parametrize(
    ("deleted", "phase", "message"),
    [
        (False, "Active", None),
        (True, "Terminating", None),
        (False, "Terminating", "may only be 'Active' if `deletionTimestamp` is empty"),
        (True, "Active", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    ],
)
def test_the_phase_follows_the_deletion(deleted: bool, phase: str, message: str | None) -> None:
    about = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    found = status_faults(NAMESPACE, created(NAMESPACE), metadata=about, status={"phase": phase})
    assert found == ([("status.Phase", f'Invalid value: "{phase}": {message}')] if message else [])


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_namespaces_that_every_cluster_needs_cannot_be_deleted(name: str) -> None:
    with pytest.raises(Forbidden) as refused:
        NAMESPACE.prepare_delete(created(NAMESPACE, metadata={"name": name}))
    assert refused.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_a_deletion_that_begins_makes_the_namespace_terminating() -> None:
    tree = created(NAMESPACE, metadata={"name": "kube-node-lease"})
    NAMESPACE.prepare_delete(tree)
    assert tree["status"] == {"phase": "Terminating"}


LABEL_SENTENCE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("name", "is_prefix", "problem"),
    [
        ("a-b", False, None),
        ("a-", True, None),
        ("a-", False, LABEL_SENTENCE),
        ("Bad_Name", False, LABEL_SENTENCE),
        ("a.b", False, "must not contain dots"),
        ("a" * 64, False, "must be no more than 63 characters"),
    ],
)
def test_names_are_dns_labels(name: str, is_prefix: bool, problem: str | None) -> None:
    assert NAMESPACE.validate_name is not None
    assert NAMESPACE.validate_name(name, is_prefix) == ((problem,) if problem else ())


def test_a_row_shows_name_status_and_age() -> None:
    tree: Tree = created(NAMESPACE)
    tree["metadata"]["creationTimestamp"] = "2023-11-14T22:10:00Z"
    assert cells(NAMESPACE, tree) == {"Name": "x", "Status": "Active", "Age": "3m20s"}


def test_the_phase_can_be_selected() -> None:
    assert NAMESPACE.fields["status.phase"](created(NAMESPACE)) == "Active"


def test_a_namespace_without_a_phase_is_active() -> None:
    assert read(NAMESPACE, status={})["status"] == {"phase": "Active"}
    assert read(NAMESPACE, status={"phase": "Terminating"})["status"] == {"phase": "Terminating"}
