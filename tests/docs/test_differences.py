"""The differences from the reference: each has a reason, and a test that there is."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import TOP

PAGE = (TOP / "docs" / "differences.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| # ", "| A real"))
]
TESTS = "".join(path.read_text() for path in (TOP / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[-1])[:60])
def test_it_has_a_reason_and_is_shown_by_a_test_that_there_is(row: list[str]) -> None:
    *_, reason, shown = row
    assert reason.endswith(".")
    named = re.findall(r"`([^`]+)`", shown)
    assert named
    for name in named:
        assert (TOP / name).exists() if "/" in name else re.search(rf"def {re.escape(name)}\(", TESTS), name


def test_both_tables_are_read() -> None:
    assert len(ROWS) > 20
    assert {len(row) for row in ROWS} == {4, 5}
