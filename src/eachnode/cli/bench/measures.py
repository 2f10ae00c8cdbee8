"""What was measured: named numbers, several samples of each, and the goal they are held against."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Goal:
    """What a number should be: at most (or at least) so much."""

    limit: float
    at_least: bool = False

    def met_by(self, value: float) -> bool:
        """Whether the number is good enough."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Sample:
    """One number that one run has measured; `None` where this system cannot tell, with the reason."""

    name: str
    value: float | None
    unit: str
    goal: Goal | None = None
    why_not: str = ""


@dataclass(slots=True)
class Measure:
    """All samples of one number."""

    benchmark: str
    first: Sample
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """The middle one."""
        return statistics.median(self.values) if self.values else None

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty when there is none, or nothing was measured."""
        goal, median = self.first.goal, self.median
        if goal is None or median is None:
            return ""
        return "met" if goal.met_by(median) else "missed"

    def tree(self) -> Mapping[str, object]:
        """As it is written to the results file."""
        first = self.first
        known = {
            "benchmark": self.benchmark,
            "name": first.name,
            "unit": first.unit,
            "median": self.median,
            "least": min(self.values, default=None),
            "most": max(self.values, default=None),
            "samples": self.values,
            "goal": None if first.goal is None else str(first.goal),
            "verdict": self.verdict or None,
            "why_not": first.why_not or None,
        }
        return {key: value for key, value in known.items() if value is not None}


def gathered(runs: Iterable[tuple[str, Sample]]) -> list[Measure]:
    """The samples of all runs by what they measure, in the order in which they first came."""
    found: dict[tuple[str, str], Measure] = {}
    for benchmark, sample in runs:
        measure = found.setdefault((benchmark, sample.name), Measure(benchmark, sample))
        if sample.value is not None:
            measure.values.append(round(sample.value, 6))
    return list(found.values())


def table(measures: Iterable[Measure]) -> str:
    """For the terminal: median, spread, goal."""
    lines: list[str] = []
    benchmark = ""
    for measure in measures:
        if measure.benchmark != benchmark:
            benchmark = measure.benchmark
            lines += ["", benchmark]
        lines.append("  " + _line(measure))
    return "\n".join(lines)


def _line(measure: Measure) -> str:
    first, median = measure.first, measure.median
    if median is None:
        return f"{first.name:<58} -  ({first.why_not})"
    spread = f"{_short(min(measure.values))} … {_short(max(measure.values))}" if len(measure.values) > 1 else ""
    goal = "" if first.goal is None else f"{first.goal!s:>8}  {measure.verdict}"
    return f"{first.name:<58}{_short(median):>9} {first.unit:<6} {spread:<19}{goal}".rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
