"""The figures that pages tell are those of the newest results, and come from nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripts import figures


def results(when: str, *measures: tuple[str, str, float, str]) -> dict[str, Any]:
    """One run of `eachnode bench`, as it is kept."""
    told = [{"benchmark": one, "name": name, "median": median, "unit": unit} for one, name, median, unit in measures]
    machine, versions = {"cores": 2, "cpu": "A processor"}, {"python": "3.11.2"}
    return {"when": when, "machine": machine, "versions": versions, "measures": told}


START = ("start", "eachnode up to ready, 3 nodes")
OLD = results("2026-01-01", (*START, 0.91, "s"), ("start", "memory when ready, 3 nodes", 101.4, "MB"))
NEW = results("2026-02-01", (*START, 0.5149, "s"))


@pytest.mark.parametrize(
    ("page", "heading", "tell"),
    [
        (figures.README, figures.README_HEADING, figures.section),
        (figures.PERFORMANCE, figures.PERFORMANCE_HEADING, figures.everything),
    ],
    ids=["README", "performance"],
)
def test_the_page_tells_the_newest_results(page: Path, heading: str, tell: Callable[[Any], str]) -> None:
    text = page.read_text()
    assert figures.renewed(text, heading, tell(figures.kept())) == text, "run: .venv/bin/python -m scripts.figures"


def test_a_figure_is_the_newest_that_was_measured() -> None:
    assert figures.figure([NEW, OLD], *START) == "0.51 s"
    assert figures.figure([NEW, OLD], "start", "memory when ready, 3 nodes") == "101 MB"
    assert figures.figure([NEW, OLD], "start", "nobody measured this") == ""


def test_what_was_not_measured_has_no_row() -> None:
    text = figures.section([NEW])
    assert "until three nodes are ready | 0.51 s |" in text
    assert "its memory" not in text
    assert "2 cores (A processor), Python 3.11.2" in text


def test_both_sides_stand_beside_each_other() -> None:
    name = "CPU per pod, create, 1,000 nodes"
    sides = [
        ("reference", f"{who}: {name}", value, "ms") for who, value in ((figures.OURS, 0.3), (figures.THEIRS, 0.66))
    ]
    assert "created on 1,000 nodes | 0.3 ms | 0.66 ms |" in figures.section([results("2026-02-01", *sides)])


def test_without_results_it_says_so() -> None:
    assert "No results are kept yet" in figures.section([])


def test_nothing_but_the_figures_changes() -> None:
    assert figures.renewed("# A\n## Figures\nold\n## More\nx\n", "## Figures\n", "new\n\n") == (
        "# A\n## Figures\nnew\n\n## More\nx\n"
    )
    with pytest.raises(AssertionError, match="no '## Figures'"):
        figures.renewed("# A\n", "## Figures\n", "")


def test_everything_that_was_measured_is_told_with_its_spread_and_goal() -> None:
    new = dict(NEW, measures=[dict(NEW["measures"][0], samples=[0.4, 0.6], least=0.4, most=0.6, goal="≤ 0.7",
                                   verdict="met")])  # fmt: skip
    older = dict(OLD, measures=[dict(OLD["measures"][0], benchmark="watchers", median=None, why_not="no /proc")])
    rows = figures.everything([new, older]).splitlines()
    assert "| start | eachnode up to ready, 3 nodes | 0.51 s | 0.4 … 0.6 | ≤ 0.7: met |" in rows
    assert "| watchers | eachnode up to ready, 3 nodes | – | no /proc | |" in rows


def test_no_row_waits_for_a_measure_that_has_another_name_by_now() -> None:
    kept = figures.kept()
    measured = {measure["benchmark"] for each in kept for measure in each["measures"]}
    rows = [row for row in figures.ROWS if row.benchmark in measured]
    assert [row.words for row in rows if not figures.figure(kept, row.benchmark, row.name)] == []
