"""Definitions of kinds in the community's groups."""

from __future__ import annotations

import pytest

from eachnode.server.kinds.api_approval import validate_approval

URL = "https://example.com/why"
NAME = "api-approved.kubernetes.io"


def definition(group: str, said: str = "") -> dict[str, object]:
    return {"metadata": {"annotations": {NAME: said} if said else {}}, "spec": {"group": group}}


@pytest.mark.parametrize(
    ("group", "said", "problem"),
    [
        ("example.com", "", None),
        ("notk8s.io", "", None),
        ("a.k8s.io", "", f'protected groups must have approval annotation "{NAME}", see '),
        ("kubernetes.io", "maybe", "with either a URL or a reason starting with"),
        ("k8s.io", URL, None),
        ("k8s.io", "unapproved, for a test", None),
    ],
)
def test_a_protected_group_needs_an_approval(group: str, said: str, problem: str | None) -> None:
    errors = [*validate_approval(definition(group, said))]
    assert len(errors) == (problem is not None)
    for error in errors:
        assert problem is not None
        assert problem in error.message


def test_what_was_let_in_stays_in() -> None:
    assert [*validate_approval(definition("k8s.io"), definition("k8s.io"))] == []
    assert [*validate_approval(definition("k8s.io"), definition("k8s.io", URL))] != []
