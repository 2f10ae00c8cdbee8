"""Service accounts, leases and priority classes as kinds."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.leases import LEASE
from eachnode.server.kinds.priority_classes import PRIORITY_CLASS
from eachnode.server.kinds.service_accounts import SERVICE_ACCOUNT

from .judging import cells, created, faults, update_faults, updated

MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
RESERVED = "Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "


def test_of_the_secrets_of_a_service_account_only_names_are_kept() -> None:
    tree = created(SERVICE_ACCOUNT, secrets=[{"name": "s", "namespace": "other", "kind": "Secret"}])
    assert tree["secrets"] == [{"name": "s"}]
    assert updated(SERVICE_ACCOUNT, tree, secrets=[{"name": "t", "uid": "u"}])["secrets"] == [{"name": "t"}]


def test_the_retired_annotation_is_warned_of_once() -> None:
    new = created(SERVICE_ACCOUNT, metadata={"annotations": {MOUNTABLE: "true"}})
    warnings = list(SERVICE_ACCOUNT.warn(new, None))
    assert warnings == [
        f"metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    ]
    assert list(SERVICE_ACCOUNT.warn(new, new)) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, [("spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0")]),
        (
            {"leaseDurationSeconds": -1, "leaseTransitions": -2},
            [
                ("spec.leaseDurationSeconds", "Invalid value: -1: must be greater than 0"),
                ("spec.leaseTransitions", "Invalid value: -2: must be greater than or equal to 0"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_lease(spec: Tree, expected: Any) -> None:
    assert faults(LEASE, spec=spec) == expected


def test_fields_of_coordinated_election_are_dropped_as_where_it_is_off() -> None:
    tree = created(LEASE, spec={"holderIdentity": "me", "strategy": "OldestEmulationVersion", "preferredHolder": "you"})
    assert tree["spec"] == {"holderIdentity": "me"}


def test_a_lease_may_be_made_by_a_put_but_never_overwritten_blindly() -> None:
    assert LEASE.create_on_update
    assert not LEASE.unconditional_update


def test_a_lease_row_names_the_holder() -> None:
    assert cells(LEASE, created(LEASE, spec={"holderIdentity": "me"})) == {
        "Name": "x",
        "Holder": "me",
        "Age": "<unknown>",
    }


def test_a_priority_class_is_completed() -> None:
    tree = created(PRIORITY_CLASS, value=1000)
    assert tree["preemptionPolicy"] == "PreemptLowerPriority"
    assert tree["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"value": 1_000_000_000}, []),
        (
            {"value": 2_000_000_000},
            [("value", "Forbidden: maximum allowed value of a user defined priority is 1000000000")],
        ),
        ({"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}, []),
        (
            {"metadata": {"name": "system-node-critical"}, "value": 7},
            [("metadata.name", RESERVED + "value of system-node-critical PriorityClass must be 2000001000")],
        ),
        (
            {"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000, "globalDefault": True},
            [("metadata.name", RESERVED + "globalDefault of system-node-critical PriorityClass must be false")],
        ),
        (
            {"metadata": {"name": "system-mine"}, "value": 7},
            [("metadata.name", RESERVED + "system-mine is not a known system priority class")],
        ),
        (
            {"value": 1, "preemptionPolicy": "Sometimes"},
            [
                (
                    "preemptionPolicy",
                    'Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_priority_class(fields: Tree, expected: Any) -> None:
    assert faults(PRIORITY_CLASS, **fields) == expected


def test_value_and_policy_of_a_priority_class_stay() -> None:
    found = update_faults(PRIORITY_CLASS, created(PRIORITY_CLASS, value=1), value=2, preemptionPolicy="Never")
    assert found == [
        ("value", "Forbidden: may not be changed in an update."),
        ("preemptionPolicy", 'Invalid value: "Never": field is immutable'),
    ]


def test_an_update_of_a_priority_class_is_asked_only_what_must_stay() -> None:
    old = created(PRIORITY_CLASS, value=5)
    sentence = 'Invalid value: "Sometimes": field is immutable'
    assert update_faults(PRIORITY_CLASS, old, value=5, preemptionPolicy="Sometimes") == [("preemptionPolicy", sentence)]


def test_a_priority_class_may_become_the_default() -> None:
    assert update_faults(PRIORITY_CLASS, created(PRIORITY_CLASS, value=1), value=1, globalDefault=True) == []


def test_a_priority_class_row() -> None:
    assert cells(PRIORITY_CLASS, created(PRIORITY_CLASS, value=5)) == {
        "Name": "x",
        "Value": 5,
        "Global-Default": False,
        "Age": "<unknown>",
        "PreemptionPolicy": "PreemptLowerPriority",
    }
