"""Nodes as a kind."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.nodes import NODE

from .judging import cells, created, faults, status_faults, update_faults, updated

KEY_SENTENCE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def test_allocatable_is_the_capacity_unless_given() -> None:
    assert created(NODE, status={"capacity": {"cpu": "4"}})["status"]["allocatable"] == {"cpu": "4"}
    given = created(NODE, status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}})
    assert given["status"]["allocatable"] == {"cpu": "3"}


def test_a_new_node_keeps_the_status_it_reports() -> None:
    tree = created(NODE, status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert tree["status"]["conditions"][0]["status"] == "True"


def test_an_update_keeps_the_status_and_a_status_update_the_spec() -> None:
    old = created(NODE, spec={"unschedulable": True}, status={"capacity": {"cpu": "4"}})
    new = updated(NODE, old, spec={}, status={"capacity": {"cpu": "9"}})
    assert new["status"] == old["status"]
    assert not new["spec"]
    assert status_faults(NODE, old, spec={"providerID": "other"}) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"podCIDR": "10.0.0.0/24"}, ("10.0.0.0/24", ["10.0.0.0/24"])),
        ({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, ("10.0.0.0/24", ["10.0.0.0/24", "fd00::/64"])),
        ({"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.0.0.0/24"]}, ("10.1.0.0/24", ["10.1.0.0/24"])),
    ],
)
def test_both_fields_for_pod_ranges_agree(spec: Tree, expected: Any) -> None:
    tree = created(NODE, spec=spec)
    assert (tree["spec"]["podCIDR"], tree["spec"]["podCIDRs"]) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"spec": {"taints": [{"key": "bad key!", "effect": "Sometimes"}]}},
            [
                ("metadata.taints[0].key", f'Invalid value: "bad key!": {KEY_SENTENCE}'),
                (
                    "metadata.taints[0].effect",
                    'Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
                ),
            ],
        ),
        ({"spec": {"taints": [{"key": "k", "effect": ""}]}}, [("metadata.taints[0].effect", "Required value")]),
        (
            {
                "spec": {
                    "taints": [{"key": "k", "value": "a", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"}]
                }
            },
            [
                (
                    "metadata.taints[1]",
                    'Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}: '
                    "taints must be unique by key and effect pair",
                )
            ],
        ),
        (
            {"status": {"capacity": {"cpu": "-1"}, "allocatable": {"example.com/gpu": "1500m"}}},
            [
                ("status.capacity.cpu", 'Invalid value: "-1": must be greater than or equal to 0'),
                ("status.allocatable.example.com/gpu", 'Invalid value: "1500m": must be an integer'),
            ],
        ),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
            [
                (
                    "spec.podCIDRs",
                    'Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: '
                    "may specify no more than one CIDR for each IP family",
                )
            ],
        ),
        (
            {"spec": {"podCIDRs": ["10.0.0.0"]}},
            [
                (
                    "spec.podCIDRs[0]",
                    'Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
                )
            ],
        ),
        (
            {"spec": {"podCIDRs": ["10.0.0.7/24"]}},
            [("spec.podCIDRs[0]", 'Invalid value: "10.0.0.7/24": must not have bits set beyond the prefix length')],
        ),
        (
            {"status": {"declaredFeatures": ["B", "A", "A"]}},
            [
                ("status.declaredFeatures[1]", 'Invalid value: "A": list must be sorted alphabetically'),
                ("status.declaredFeatures[2]", 'Duplicate value: "A"'),
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_node_is_said_as_the_reference_says_it(fields: Tree, expected: Any) -> None:
    assert faults(NODE, **fields) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"podCIDR": "10.0.0.0/24"}, {}, 'node updates may not change podCIDR except from "" to valid'),
        ({}, {"podCIDR": "10.0.0.0/24"}, None),
    ],
)
def test_a_pod_range_is_given_once(old: Tree, new: Tree, expected: str | None) -> None:
    found = update_faults(NODE, created(NODE, spec=old), spec=new)
    assert found == ([("spec.podCIDRs", f"Forbidden: {expected}")] if expected else [])


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"providerID": "a"}, []),
        ({"providerID": "b"}, [("spec.providerID", "Invalid value: null: field cannot be modified once set")]),
        ({}, [("spec.providerID", "Invalid value: null: field cannot be cleared once set")]),
    ],
)
def test_a_provider_id_stays(new: Tree, expected: Any) -> None:
    assert update_faults(NODE, created(NODE, spec={"providerID": "a"}), spec=new) == expected


def test_an_address_is_listed_once() -> None:
    twice = [{"type": "InternalIP", "address": "1.2.3.4"}] * 2
    found = status_faults(NODE, created(NODE), status={"addresses": twice})
    assert found == [("status.addresses[1]", 'Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}')]


@pytest.mark.parametrize(
    ("ready", "unschedulable", "state"),
    [
        ("True", False, "Ready"),
        ("False", False, "NotReady"),
        ("Unknown", True, "NotReady,SchedulingDisabled"),
        (None, False, "Unknown"),
    ],
)
def test_a_row_tells_the_state(ready: str | None, unschedulable: bool, state: str) -> None:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    tree = created(NODE, spec={"unschedulable": unschedulable}, status={"conditions": conditions})
    assert cells(NODE, tree)["Status"] == state


def test_a_row_tells_roles_addresses_and_software() -> None:
    tree = created(
        NODE,
        metadata={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
        status={
            "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
            "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "arm64"},
        },
    )
    assert cells(NODE, tree) == {
        "Name": "x",
        "Status": "Unknown",
        "Roles": "edge,worker",
        "Age": "<unknown>",
        "Version": "v1.37.0",
        "Internal-IP": "10.1.1.1",
        "External-IP": "<none>",
        "OS-Image": "<unknown>",
        "Kernel-Version": "6.1 (arm64)",
        "Container-Runtime": "<unknown>",
    }


def test_nodes_can_be_selected_by_being_schedulable() -> None:
    assert NODE.fields["spec.unschedulable"](created(NODE)) == "false"
    assert NODE.fields["spec.unschedulable"](created(NODE, spec={"unschedulable": True})) == "true"


def test_only_the_five_wide_columns_are_hidden_at_first() -> None:
    assert [column.priority for column in NODE.columns] == [0] * 5 + [1] * 5
