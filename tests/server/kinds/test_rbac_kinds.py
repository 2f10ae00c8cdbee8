"""Roles and their bindings as kinds."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.role_bindings import CLUSTER_ROLE_BINDING, ROLE_BINDING
from eachnode.server.kinds.roles import CLUSTER_ROLE, ROLE

from .judging import cells, created, faults, update_faults

GROUP = "rbac.authorization.k8s.io"
READ_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
TO_ROLE = {"kind": "Role", "name": "r"}


@pytest.mark.parametrize(
    ("rule", "of_role", "of_cluster_role"),
    [
        (READ_PODS, [], []),
        ({**READ_PODS, "verbs": []}, [("rules[0].verbs", "Required value")], [("rules[0].verbs", "Required value")]),
        (
            {"verbs": ["get"]},
            [
                ("rules[0].apiGroups", "Required value: resource rules must supply at least one api group"),
                ("rules[0].resources", "Required value: resource rules must supply at least one resource"),
            ],
            [
                ("rules[0].apiGroups", "Required value: resource rules must supply at least one api group"),
                ("rules[0].resources", "Required value: resource rules must supply at least one resource"),
            ],
        ),
        (
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            [
                (
                    "rules[0].nonResourceURLs",
                    'Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
                )
            ],
            [],
        ),
    ],
)
def test_what_is_wrong_with_a_rule(rule: Tree, of_role: Any, of_cluster_role: Any) -> None:
    assert faults(ROLE, rules=[rule]) == of_role
    assert faults(CLUSTER_ROLE, rules=[rule]) == of_cluster_role


def test_a_rule_is_about_resources_or_about_pages() -> None:
    found = faults(CLUSTER_ROLE, rules=[{**READ_PODS, "nonResourceURLs": ["/x"]}])
    sentence = "rules cannot apply to both regular resources and non-resource URLs"
    assert found == [("rules[0].nonResourceURLs", f'Invalid value: ["/x"]: {sentence}')]


def test_a_gathering_role_says_whom_it_gathers() -> None:
    found = faults(CLUSTER_ROLE, aggregationRule={})
    sentence = "at least one clusterRoleSelector required if aggregationRule is non-nil"
    assert found == [("aggregationRule.clusterRoleSelectors", f"Required value: {sentence}")]


def test_a_selector_that_selects_nothing_sensible_is_told_as_a_whole_too() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Sometimes"}]}
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert faults(CLUSTER_ROLE, aggregationRule={"clusterRoleSelectors": [selector]}) == [
        (f"{path}.matchExpressions[0].operator", 'Invalid value: "Sometimes": not a valid selector operator'),
        (path, "Invalid value: null: invalid label selector."),
    ]


def test_a_role_without_rules_is_fine() -> None:
    assert faults(ROLE) == []


def test_bindings_complete_the_groups_of_roles_and_subjects() -> None:
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]
    tree = created(ROLE_BINDING, roleRef=TO_ROLE, subjects=subjects)
    assert tree["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in tree["subjects"]] == [GROUP, None]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"roleRef": TO_ROLE}, []),
        ({"roleRef": {"kind": "Role", "name": ""}}, [("roleRef.name", "Required value")]),
        (
            {"roleRef": {"kind": "Role", "name": "a/b"}},
            [("roleRef.name", "Invalid value: \"a/b\": may not contain '/'")],
        ),
        (
            {"roleRef": {"kind": "Roll", "name": "r", "apiGroup": "apps"}},
            [
                ("roleRef.apiGroup", f'Unsupported value: "apps": supported values: "{GROUP}"'),
                ("roleRef.kind", 'Unsupported value: "Roll": supported values: "Role", "ClusterRole"'),
            ],
        ),
        (
            {"roleRef": TO_ROLE, "subjects": [{"kind": "Robot", "name": "r"}, {"kind": "User", "name": ""}]},
            [
                (
                    "subjects[0].kind",
                    'Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
                ),
                ("subjects[1].name", "Required value"),
            ],
        ),
        (
            {"roleRef": TO_ROLE, "subjects": [{"kind": "ServiceAccount", "name": "s", "apiGroup": "apps"}]},
            [("subjects[0].apiGroup", 'Unsupported value: "apps": supported values: ""')],
        ),
    ],
)
def test_what_is_wrong_with_a_binding(fields: Tree, expected: Any) -> None:
    assert faults(ROLE_BINDING, **fields) == expected


def test_a_cluster_wide_binding_gives_cluster_roles_to_accounts_of_a_namespace() -> None:
    found = faults(CLUSTER_ROLE_BINDING, roleRef=TO_ROLE, subjects=[{"kind": "ServiceAccount", "name": "s"}])
    assert found == [
        ("roleRef.kind", 'Unsupported value: "Role": supported values: "ClusterRole"'),
        ("subjects[0].namespace", "Required value"),
    ]


def test_the_role_of_a_binding_stays() -> None:
    old = created(ROLE_BINDING, roleRef=TO_ROLE)
    found = update_faults(ROLE_BINDING, old, roleRef={"kind": "Role", "name": "s"})
    internal = f'{{"APIGroup":"{GROUP}","Kind":"Role","Name":"s"}}'
    assert found == [("roleRef", f"Invalid value: {internal}: field is immutable")]
    assert update_faults(ROLE_BINDING, old, roleRef=TO_ROLE, subjects=[{"kind": "Group", "name": "g"}]) == []


def test_a_row_lists_the_subjects_by_their_kind() -> None:
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    assert cells(ROLE_BINDING, created(ROLE_BINDING, roleRef=TO_ROLE, subjects=subjects)) == {
        "Name": "x",
        "Role": "Role/r",
        "Age": "<unknown>",
        "Users": "u, v",
        "Groups": "g",
        "ServiceAccounts": "n/s",
    }
