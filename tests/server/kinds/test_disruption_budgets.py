"""Pod disruption budgets as a kind."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.disruption_budgets import POD_DISRUPTION_BUDGET

from .judging import cells, created, faults, status_faults, update_faults, updated

ZERO = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
SOUND = {"type": "Fine", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def test_a_new_budget_has_seen_nothing_yet() -> None:
    tree = created(POD_DISRUPTION_BUDGET, spec={"minAvailable": 1}, status={"expectedPods": 7})
    assert tree["status"] == ZERO
    assert tree["metadata"]["generation"] == 1


@pytest.mark.parametrize(("spec", "generation"), [({"minAvailable": 1}, 1), ({"minAvailable": 2}, 2)])
def test_the_generation_grows_with_the_spec(spec: Tree, generation: int) -> None:
    old = created(POD_DISRUPTION_BUDGET, spec={"minAvailable": 1})
    new = updated(POD_DISRUPTION_BUDGET, old, metadata={"generation": 1}, spec=spec, status={"expectedPods": 7})
    assert new["metadata"]["generation"] == generation
    assert new["status"] == ZERO


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}, []),
        (
            {"minAvailable": 1, "maxUnavailable": 1},
            [
                (
                    "spec",
                    'Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,'
                    '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
                )
            ],
        ),
        ({"minAvailable": -1}, [("spec.minAvailable", "Invalid value: -1: must be greater than or equal to 0")]),
        ({"maxUnavailable": "half"}, [("spec.maxUnavailable", f'Invalid value: "half": {PERCENT}')]),
        ({"maxUnavailable": "101%"}, [("spec.maxUnavailable", 'Invalid value: "101%": must not be greater than 100%')]),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Near"}]}},
            [
                (
                    "spec.selector.matchExpressions[0].values",
                    "Required value: must be specified when `operator` is 'In' or 'NotIn'",
                ),
                (
                    "spec.selector.matchExpressions[1].operator",
                    'Invalid value: "Near": not a valid selector operator',
                ),
            ],
        ),
        (
            {"unhealthyPodEvictionPolicy": "Sometimes"},
            [
                (
                    "spec.unhealthyPodEvictionPolicy",
                    'Unsupported value: "Sometimes": supported values: "AlwaysAllow", "IfHealthyBudget"',
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_budget(spec: Tree, expected: Any) -> None:
    assert faults(POD_DISRUPTION_BUDGET, spec=spec) == expected
    assert update_faults(POD_DISRUPTION_BUDGET, created(POD_DISRUPTION_BUDGET), spec=spec) == expected


def test_a_bad_selector_value_that_was_there_before_is_borne_with() -> None:
    spec = {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["no good!"]}]}}
    assert faults(POD_DISRUPTION_BUDGET, spec=spec)
    assert update_faults(POD_DISRUPTION_BUDGET, created(POD_DISRUPTION_BUDGET, spec=spec), spec=spec) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [SOUND]}, []),
        ({"expectedPods": -1}, [("status.expectedPods", "Invalid value: -1: must be greater than or equal to 0")]),
        ({"conditions": [SOUND, SOUND]}, [("status.conditions[1]", 'Duplicate value: "Fine"')]),
        (
            {"conditions": [{**SOUND, "status": "Perhaps", "reason": ""}]},
            [
                (
                    "status.conditions[0].status",
                    'Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"',
                ),
                ("status.conditions[0].reason", "Required value"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_the_status_of_a_budget(status: Tree, expected: Any) -> None:
    assert status_faults(POD_DISRUPTION_BUDGET, created(POD_DISRUPTION_BUDGET), status=status) == expected


@pytest.mark.parametrize(
    ("name", "problem"), [("Any_Name", None), ("a/b", "may not contain '/'"), ("..", "may not be '..'")]
)
def test_a_budget_may_be_called_whatever_fits_in_a_path(name: str, problem: str | None) -> None:
    assert POD_DISRUPTION_BUDGET.validate_name is not None
    assert POD_DISRUPTION_BUDGET.validate_name(name, False) == ((problem,) if problem else ())


def test_a_row_shows_what_is_set_and_what_is_left() -> None:
    assert cells(POD_DISRUPTION_BUDGET, created(POD_DISRUPTION_BUDGET, spec={"maxUnavailable": "20%"})) == {
        "Name": "x",
        "Min Available": "N/A",
        "Max Unavailable": "20%",
        "Allowed Disruptions": 0,
        "Age": "<unknown>",
    }
