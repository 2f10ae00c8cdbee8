"""Every scenario holds, with many seeds: what must always hold does, whatever goes wrong meanwhile.

More of them: `make simulate SEEDS=10000`. A failing one again: `eachnode simulate scenarios/X.yaml --seed N --log`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from eachnode.simulation.run import simulate
from eachnode.simulation.scenario import read_scenario
from tests.simulation.scenes import PATHS, told

SEEDS = 15  # For each scenario; the large one gets a few.
LARGE = "many-nodes-join"
CHUNK = 5


def runs() -> list[tuple[Path, range]]:
    """What is run together: a scenario and some seeds."""
    found = []
    for path in PATHS:
        last = 3 if path.stem == LARGE else SEEDS
        found += [(path, range(first, min(first + CHUNK, last))) for first in range(0, last, CHUNK)]
    return found


@pytest.mark.parametrize(("path", "seeds"), runs(), ids=lambda each: each.stem if isinstance(each, Path) else f"{each}")
def test_what_must_hold_holds(path: Path, seeds: range) -> None:
    scenario = read_scenario(path)
    for seed in seeds:
        outcome = simulate(scenario, seed)
        assert outcome.ok, told(outcome)


def test_at_least_two_hundred_seeds_are_run() -> None:
    assert sum(len(seeds) for _, seeds in runs()) >= 200
