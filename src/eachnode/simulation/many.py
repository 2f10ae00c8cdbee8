"""Many seeds of many scenarios, in as many processes as there are cores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from eachnode.simulation.run import Outcome, simulate
from eachnode.simulation.scenario import read_scenario


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is told of a run in another process."""

    path: Path
    seed: int
    lasted: float
    violations: tuple[str, ...]
    happened: dict[str, int]


def run_one(path: Path, seed: int, until: float = 0.0) -> Verdict:
    """One run, and what to tell of it."""
    outcome: Outcome = simulate(read_scenario(path), seed, until=until)
    return Verdict(path, seed, outcome.lasted, tuple(outcome.violations), dict(outcome.happened))


def run_many(
    paths: Sequence[Path], seeds: Iterable[int], until: float = 0.0, processes: int | None = None
) -> Iterator[Verdict]:
    """Every seed of every scenario, told in order."""
    work = ((path, seed) for seed in seeds for path in paths)
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        while some := list(islice(work, 256)):  # Not all at once: ten thousand seeds are a long list of promises.
            yield from pool.map(run_one, *zip(*some, strict=True), [until] * len(some))
