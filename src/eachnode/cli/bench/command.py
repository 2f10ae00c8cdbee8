"""`eachnode bench`: runs benchmarks, repeats them, prints a table and writes the numbers down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eachnode.cli.bench.measures import Sample

SIZES = (1_000, 5_000)
LARGE = (15_000, 100_000)


def _benchmarks(
    sizes: tuple[int, ...], binaries: Path | None
) -> dict[str, tuple[tuple[int, ...], Callable[[int], Iterable[Sample]]]]:
    """Name → the sizes it runs at, and what runs it."""
    from eachnode.cli.bench import clusters, events, outlook, reference, serving

    return {
        "reference": (sizes, lambda nodes: reference.side_by_side(reference.binaries_in(binaries), nodes)),
        "start": ((0,), clusters.start),
        "events": ((0,), events.cost_of_events),
        "outlook": (LARGE, outlook.outlook),
        "controller": (sizes, clusters.controller_alone),
        "cluster": (sizes, clusters.whole_cluster),
        "creations": ((10_000,), serving.creations),
        "watchers": ((serving.WATCHERS,), serving.watchers),
        "steady": ((2_000,), clusters.steady_state),
    }


ONCE = ("steady",)  # Minutes long, and a mean over half a minute in itself.
NAMES = ("start", "events", "outlook", "controller", "cluster", "creations", "watchers", "steady")
WITH_BINARIES = "reference"


@click.command("bench", short_help="Measure speed and memory on this machine.")
@click.argument("names", nargs=-1, type=click.Choice((*NAMES, WITH_BINARIES)))
@click.option(
    "--nodes", "sizes", type=click.IntRange(1), multiple=True, help="Sizes for 'controller', 'cluster' and 'reference'."
)
@click.option(
    "--binaries",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where Kubernetes' own programs are, for 'reference': etcd, kube-apiserver, kube-controller-manager, "
    "kube-scheduler.",
)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Runs of each; medians count.")
@click.option("--json", "results", type=click.Path(path_type=Path), help="Write the numbers here, too.")
def command(
    names: tuple[str, ...], sizes: tuple[int, ...], binaries: Path | None, repeat: int, results: Path | None
) -> None:
    """Measure speed and memory on this machine, each several times, beside the goals that were set.

    \b
    eachnode bench                            # everything; some twenty minutes
    eachnode bench events start               # these only
    eachnode bench controller --nodes 500 --repeat 1
    eachnode bench reference --binaries ./bin # side by side with Kubernetes' own controller
    """
    from eachnode.cli.bench.measures import gathered, table
    from eachnode.cli.bench.records import load, record

    benchmarks = _benchmarks(sizes or SIZES, binaries)
    busy_before = load()
    runs: list[tuple[str, Sample]] = []
    failures: list[str] = []
    for name in names or (*NAMES, *((WITH_BINARIES,) if binaries is not None else ())):
        its_sizes, measure = benchmarks[name]
        for size in its_sizes:
            turns = 1 if name in ONCE else repeat
            for turn in range(turns):
                click.echo(f"{name} {size or ''} ({turn + 1} of {turns}) …", err=True)
                try:
                    runs += [(name, sample) for sample in measure(size)]
                except click.ClickException as error:
                    failures.append(f"{name} {size or ''}: {error.message}")
                    click.echo(f"failed: {failures[-1]}", err=True)
    measures = gathered(runs)
    click.echo(table(measures))
    if results is not None:
        record(results, measures, failures, (busy_before, load()))
        click.echo(f"\nwritten to {results}")
    if failures:
        raise click.ClickException("; ".join(failures))
