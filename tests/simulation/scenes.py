"""The scenarios of this repository, and small ones made for a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eachnode.simulation.run import Outcome
from eachnode.simulation.scenario import Scenario, read_scenario, scenario_from

FOLDER = Path(__file__).parents[2] / "scenarios"
PATHS = sorted(FOLDER.glob("*.yaml"))


def scenario(name: str) -> Scenario:
    """One of the repository's scenarios."""
    return read_scenario(FOLDER / f"{name}.yaml")


def scene(*steps: dict[str, Any], **fields: Any) -> Scenario:
    """A scenario made of these steps."""
    return scenario_from(
        {"name": "a scene", "about": "Made for a test.", "steps": list(steps), "chaos": False, **fields}
    )


def told(outcome: Outcome) -> str:
    """What a failed test shows: what was broken, by which troubles, and how it ended."""
    lines = [f"{outcome.scenario}, seed {outcome.seed}", *outcome.violations, *map(str, outcome.troubles)]
    return "\n".join([*lines, *map(str, outcome.lines[-30:])])


def rules(outcome: Outcome) -> set[str]:
    """The rules that a run broke."""
    return {sentence.partition(":")[0] for sentence in outcome.violations}
