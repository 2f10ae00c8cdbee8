"""Resource quotas and limit ranges as kinds."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.limit_ranges import LIMIT_RANGE
from eachnode.server.kinds.resource_quotas import RESOURCE_QUOTA

from .judging import CALL, cells, created, faults, status_faults, update_faults, updated

EXISTS_ONLY = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def test_a_new_quota_has_an_empty_status() -> None:
    assert created(RESOURCE_QUOTA, status={"hard": {"pods": "1"}})["status"] == {}
    old = {**created(RESOURCE_QUOTA), "status": {"hard": {"pods": "1"}}}
    assert updated(RESOURCE_QUOTA, old, status={})["status"] == {"hard": {"pods": "1"}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"hard": {"pods": "2", "requests.cpu": "1", "count/daemonsets.apps": "3", "requests.example.com/gpu": "1"}},
            [],
        ),
        (
            {"hard": {"horses": "1"}},
            [
                (
                    "spec.hard[horses]",
                    'Invalid value: "horses": must be a standard resource type or fully qualified',
                ),
                ("spec.hard[horses]", 'Invalid value: "horses": must be a standard resource for quota'),
            ],
        ),
        (
            {"hard": {"storage": "1"}},
            [("spec.hard[storage]", 'Invalid value: "storage": must be a standard resource for quota')],
        ),
        (
            {"hard": {"pods": "1500m", "cpu": "-1"}},
            [
                ("spec.hard[cpu]", 'Invalid value: "-1": must be greater than or equal to 0'),
                ("spec.hard[pods]", 'Invalid value: "1500m": must be an integer'),
            ],
        ),
        ({"scopes": ["Sometimes"]}, [("spec.scopes", 'Invalid value: ["Sometimes"]: unsupported scope')]),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            [("spec.scopes", 'Invalid value: ["BestEffort"]: unsupported scope applied to resource')],
        ),
        (
            {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]},
            [("spec.scopes", 'Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes')],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "In"}]}},
            [
                ("spec.scopeSelector.matchExpressions.operator", f'Invalid value: "In": {EXISTS_ONLY}'),
                (
                    "spec.scopeSelector.matchExpressions.values",
                    "Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
                ),
            ],
        ),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}]
                }
            },
            [
                (
                    "spec.scopeSelector.matchExpressions.values",
                    "Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' "
                    "for scope selector",
                )
            ],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Near"}]}},
            [
                (
                    "spec.scopeSelector.matchExpressions.operator",
                    'Invalid value: "Near": not a valid selector operator',
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_quota(spec: Tree, expected: Any) -> None:
    assert faults(RESOURCE_QUOTA, spec=spec) == expected


def test_the_scopes_of_a_quota_stay() -> None:
    old = created(RESOURCE_QUOTA, spec={"scopes": ["BestEffort"]})
    assert update_faults(RESOURCE_QUOTA, old, spec={"scopes": ["Terminating"]}) == [
        ("spec.scopes", 'Invalid value: ["Terminating"]: field is immutable')
    ]
    assert update_faults(RESOURCE_QUOTA, old, spec={"scopes": ["BestEffort"], "hard": {"pods": "1"}}) == []


def test_the_status_of_a_quota_holds_quantities_of_quota_resources() -> None:
    found = status_faults(RESOURCE_QUOTA, created(RESOURCE_QUOTA), status={"used": {"pods": "500m"}})
    assert found == [("status.used[pods]", 'Invalid value: "500m": must be an integer')]


def test_requests_above_the_limits_are_warned_of() -> None:
    tree = created(RESOURCE_QUOTA, spec={"hard": {"cpu": "2", "limits.cpu": "1"}})
    assert list(RESOURCE_QUOTA.warn(tree, None)) == ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]
    assert list(RESOURCE_QUOTA.warn(tree, tree)) == []


def test_a_quota_row_shows_used_of_allowed() -> None:
    hard = {"pods": "2", "requests.cpu": "1", "limits.cpu": "2"}
    tree = {**created(RESOURCE_QUOTA), "status": {"hard": hard, "used": {"pods": "1", "limits.cpu": "500m"}}}
    assert cells(RESOURCE_QUOTA, tree) == {
        "Name": "x",
        "Request": "pods: 1/2, requests.cpu: 0/1",
        "Limit": "limits.cpu: 500m/2",
        "Age": "<unknown>",
    }


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"max": {"cpu": "2"}}, {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}}),
        ({"min": {"cpu": "1"}}, {"defaultRequest": {"cpu": "1"}}),
        ({"default": {"cpu": "1"}, "max": {"cpu": "2"}}, {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}),
    ],
)
def test_defaults_of_containers_follow_from_the_bounds(limit: Tree, expected: Tree) -> None:
    tree = created(LIMIT_RANGE, spec={"limits": [{"type": "Container", **limit}]})
    assert tree["spec"]["limits"] == [{"type": "Container", **limit, **expected}]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ([{"type": "Pod", "max": {"cpu": "2"}}], []),
        (
            [{"type": "Pod"}, {"type": "Pod"}],
            [("spec.limits[1].type", 'Duplicate value: "Pod"')],
        ),
        (
            [{"type": "Herd"}],
            [("spec.limits[0].type", 'Invalid value: "Herd": must be a standard limit type or fully qualified')],
        ),
        (
            [{"type": "Pod", "default": {"cpu": "1"}}],
            [("spec.limits[0].default", "Forbidden: may not be specified when `type` is 'Pod'")],
        ),
        (
            [{"type": "PersistentVolumeClaim"}],
            [
                (
                    "spec.limits[0].limits",
                    "Required value: either minimum or maximum storage value is required, but neither was provided",
                )
            ],
        ),
        (
            [{"type": "Pod", "max": {"pods": "1"}}],
            [("spec.limits[0].max[pods]", 'Invalid value: "pods": must be a standard resource for containers')],
        ),
        (
            [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}],
            [("spec.limits[0].min[cpu]", 'Invalid value: "2": min value 2 is greater than max value 1')],
        ),
        (
            [{"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}],
            [
                (
                    "spec.limits[0].maxLimitRequestRatio[cpu]",
                    'Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
                )
            ],
        ),
        (
            [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}}],
            [("spec.limits[0].maxLimitRequestRatio[cpu]", 'Invalid value: "500m": ratio 500m is less than 1')],
        ),
        (
            [{"type": "Container", "default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}}],
            [
                (
                    "spec.limits[0].defaultRequest[example.com/gpu]",
                    'Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/gpu',
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_limit_range(limits: Any, expected: Any) -> None:
    assert faults(LIMIT_RANGE, spec={"limits": limits}) == expected


def test_a_limit_range_without_a_name_gets_one_of_its_own() -> None:
    names = set()
    for uid in ("33333333-3333-3333-3333-333333333333", "44444444-4444-4444-4444-444444444444"):
        tree: Tree = {"metadata": {"uid": uid}}
        LIMIT_RANGE.prepare_create(tree, CALL)
        names.add(tree["metadata"]["name"])
    assert len(names) == 2
    assert {len(name) for name in names} == {36}


def test_a_resource_that_is_none_is_told_twice() -> None:
    assert faults(LIMIT_RANGE, spec={"limits": [{"type": "Container", "max": {"x": "1"}, "default": {"x": "1"}}]})[
        :2
    ] == [
        ("spec.limits[0].max[x]", 'Invalid value: "x": must be a standard resource type or fully qualified'),
        ("spec.limits[0].max[x]", 'Invalid value: "x": must be a standard resource for containers'),
    ]
