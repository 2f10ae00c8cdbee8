"""Writes the figures of the README and of docs/performance.md from the results that `make bench` keeps.

    python -m scripts.figures

Nobody types a number. The README tells the median in the newest results that have it; what was not measured has no row.
docs/performance.md tells everything that was measured, by its newest results.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
README = TOP / "README.md"
PERFORMANCE = TOP / "docs" / "performance.md"
RESULTS = TOP / "benchmarks" / "results"
README_HEADING, PERFORMANCE_HEADING = "## Figures\n", "## Measured\n"
NOTHING_KEPT = "\nNo results are kept yet; `make bench` measures everything on your machine.\n\n"
OURS, THEIRS = "eachnode controller", "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class Row:
    """What is told, and the measures that tell it: ours, and the reference's if it was measured beside."""

    words: str
    benchmark: str
    name: str
    beside: str = ""


def _side_by_side(words: str, name: str) -> Row:
    return Row(words, "reference", f"{OURS}: {name}", f"{THEIRS}: {name}")


ROWS = (
    Row("`eachnode up`, until three nodes are ready", "start", "eachnode up to ready, 3 nodes"),
    Row("its memory", "start", "memory when ready, 3 nodes"),
    Row("a DaemonSet on 1,000 simulated nodes, until every pod is available", "cluster", "create, 1,000 nodes, wall"),
    Row("pods created per second, over HTTP, on disk", "creations", "pod creations per second, 50 in flight"),
    _side_by_side("controller: CPU per pod, created on 1,000 nodes", "CPU per pod, create, 1,000 nodes"),
    _side_by_side("controller: CPU per pod, 10 % update of 1,000 nodes", "CPU per pod, 10 % rollout, 1,000 nodes"),
    _side_by_side("controller: memory, 1,000 pods", "memory, 1,000 pods"),
)


def kept(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """All results, the newest first."""
    found: list[dict[str, Any]] = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda each: str(each["when"]), reverse=True)


def figure(results: Sequence[dict[str, Any]], benchmark: str, name: str) -> str:
    """A median with its unit, from the newest results that have it; empty if none has."""
    for measure in (measure for each in results for measure in each["measures"]):
        if (measure["benchmark"], measure["name"]) == (benchmark, name) and measure.get("median") is not None:
            return f"{short(measure['median'])} {measure['unit']}"
    return ""


def short(value: float) -> str:
    """A number as people tell it."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def section(results: Sequence[dict[str, Any]]) -> str:
    """What stands below the heading."""
    rows = [(row.words, figure(results, row.benchmark, row.name), _beside(results, row)) for row in ROWS]
    measured = [row for row in rows if row[1]]
    if not measured:
        return NOTHING_KEPT
    return "".join(f"{line}\n" for line in _lines(measured, results[0]))


def _beside(results: Sequence[dict[str, Any]], row: Row) -> str:
    return figure(results, row.benchmark, row.beside) if row.beside else ""


def _lines(rows: Sequence[tuple[str, str, str]], newest: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "| | eachnode | Kubernetes' own |"
    yield "|---|---|---|"
    for words, ours, theirs in rows:
        yield f"| {words} | {ours} | {theirs} |"
    yield ""
    yield from _origin(newest)
    yield "`make bench` measures them on your machine; `eachnode bench reference --binaries DIR` measures side by side"
    yield "with Kubernetes' own programs."
    yield "[Performance](docs/performance.md) tells what they mean and where the limits are."
    yield ""


def _origin(newest: dict[str, Any]) -> Iterator[str]:
    machine, versions = newest["machine"], newest["versions"]
    yield f"Medians on {machine['cores']} cores ({machine['cpu']}), Python {versions['python']}."


def everything(results: Sequence[dict[str, Any]]) -> str:
    """All measures in one table, each benchmark from the newest results that have it."""
    newest: dict[str, dict[str, Any]] = {}
    for each in results:
        for name in dict.fromkeys(measure["benchmark"] for measure in each["measures"]):
            newest.setdefault(name, each)
    if not newest:
        return NOTHING_KEPT
    lines = ["", "| `eachnode bench` | | median | least … most | goal |", "|---|---|---|---|---|"]
    for name, run in newest.items():
        lines += [_row(measure) for measure in run["measures"] if measure["benchmark"] == name]
    return "".join(f"{line}\n" for line in (*lines, "", *_origin(results[0]), ""))


def _row(measure: dict[str, Any]) -> str:
    if measure.get("median") is None:
        return f"| {measure['benchmark']} | {measure['name']} | – | {measure['why_not']} | |"
    spread = f"{short(measure['least'])} … {short(measure['most'])}" if len(measure["samples"]) > 1 else ""
    goal = f"{measure['goal']}: {measure['verdict']}" if "goal" in measure else ""
    number = f"{short(measure['median'])} {measure['unit']}".strip()
    return f"| {measure['benchmark']} | {measure['name']} | {number} | {spread} | {goal} |"


def renewed(page: str, heading: str, told: str) -> str:
    """The page with this below its heading."""
    text, times = re.subn(rf"(?ms)^{heading}.*?(?=^## )", lambda _: heading + told, page, count=1)
    assert times == 1, f"the page has no {heading.strip()!r}"
    return text


if __name__ == "__main__":
    results = kept()
    README.write_text(renewed(README.read_text(), README_HEADING, section(results)))
    PERFORMANCE.write_text(renewed(PERFORMANCE.read_text(), PERFORMANCE_HEADING, everything(results)))
    print(f"README.md and docs/performance.md tell the figures of {RESULTS.relative_to(TOP)}", file=sys.stderr)
