"""`eachnode simulate`: a world from a seed, with all that can go wrong; or what a change would do to a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eachnode.cli.failures import CONFIGURATION, FAILED, Failure
from eachnode.cli.options import cluster_options

if TYPE_CHECKING:
    from eachnode.simulation.run import Outcome
    from eachnode.simulation.scenario import Scenario

LAST_LINES = 40  # Of the story of a failed run.


@click.command("simulate", short_help="A day of cluster life in seconds, from one seed; or a forecast of a change.")
@click.argument("scenarios", nargs=-1, type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="How many seeds, from --seed on.")
@click.option("--until", default="0s", metavar="24h", help="Let life, and trouble, go on for so long at least.")
@click.option(
    "--keep", default=None, metavar="1,3", help="Of the troubles drawn keep only these, by number; '' for none."
)
@click.option("--log", is_flag=True, help="Tell the whole story of what happened.")
@click.option("--processes", type=click.IntRange(1), default=None, help="How many at once; else one for each core.")
@click.option("--from-cluster", default="", metavar="ds/NAME", help="Forecast a change of this DaemonSet instead.")
@click.option("--image", "images", multiple=True, metavar="CONTAINER=IMAGE", help="The change: a container's image.")
@click.option("-n", "--namespace", default=None, metavar="NAME", help="The DaemonSet's namespace.")
@cluster_options
def command(
    scenarios: tuple[Path, ...],
    seed: int,
    seeds: int,
    until: str,
    keep: str | None,
    log: bool,
    processes: int | None,
    from_cluster: str,
    images: tuple[str, ...],
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Live through a scenario on virtual time, with trouble drawn from a seed, and check what must always hold.

    \b
    eachnode simulate scenarios/drain-a-zone.yaml --seed 7 --log
    eachnode simulate scenarios/*.yaml --seeds 100
    eachnode simulate --from-cluster ds/fluentd --image fluentd=fluentd:1.19
    """
    if from_cluster:
        _forecast(from_cluster, images, namespace, kubeconfig, context, seeds if seeds > 1 else None)
        return 0
    if not scenarios:
        raise click.UsageError("name a scenario file (there are some under scenarios/), or --from-cluster ds/NAME")
    from eachnode.simulation.scenario import InvalidScenario, read_scenario
    from eachnode.simulation.time_of_day import parse_duration

    try:
        read = [read_scenario(path) for path in scenarios]
        horizon = parse_duration(until)
    except (InvalidScenario, ValueError) as error:
        raise Failure(str(error), CONFIGURATION) from error
    if len(scenarios) == 1 and seeds == 1:
        return _one(scenarios[0], read[0], seed, horizon, keep, until, log=log)
    return _many(scenarios, range(seed, seed + seeds), horizon, until, processes)


def _one(path: Path, scenario: Scenario, seed: int, horizon: float, keep: str | None, until: str, *, log: bool) -> int:
    from eachnode.simulation.run import simulate, troubles_of

    troubles = troubles_of(scenario, seed, horizon)
    if keep is not None:
        wanted = {int(number) for number in keep.split(",") if number.strip()}
        troubles = tuple(each for number, each in enumerate(troubles, 1) if number in wanted)
    outcome = simulate(scenario, seed, troubles=troubles, until=horizon)
    if log:
        for line in outcome.lines:
            click.echo(str(line))
    _tell_trouble(outcome.happened)
    if outcome.ok:
        click.echo(f"{scenario.name}: seed {seed} held for {outcome.lasted:.0f} s of its time")
        return 0
    _tell_failure(path, scenario, outcome, until, log=log, keep=keep)
    return FAILED


def _many(paths: tuple[Path, ...], seeds: range, horizon: float, until: str, processes: int | None) -> int:
    from eachnode.simulation.many import run_many
    from eachnode.simulation.run import simulate
    from eachnode.simulation.scenario import read_scenario

    runs, failed, lived = 0, [], 0.0
    happened: Counter[str] = Counter()
    for verdict in run_many(paths, seeds, horizon, processes):
        runs += 1
        lived += verdict.lasted
        happened.update(verdict.happened)
        if verdict.violations:
            failed.append(verdict)
            click.echo(f"FAILED {verdict.path} --seed {verdict.seed}: {verdict.violations[0]}")
    _tell_trouble(happened)
    click.echo(f"{runs} runs, {lived / 3600:.1f} hours of their time, {len(failed)} failed")
    if failed:
        scenario = read_scenario(failed[0].path)
        outcome = simulate(scenario, failed[0].seed, until=horizon)
        _tell_failure(failed[0].path, scenario, outcome, until, log=False, keep=None)
    return FAILED if failed else 0


def _tell_trouble(happened: Mapping[str, int]) -> None:
    """What went wrong, the most frequent first: a run in which nothing did shows little."""
    told = [
        f"{count} {fault.replace('_', ' ')}"
        for fault, count in sorted(happened.items(), key=lambda each: (-each[1], each[0]))
        if count
    ]
    click.echo(f"went wrong: {', '.join(told) or 'nothing'}")


def _tell_failure(path: Path, scenario: Scenario, outcome: Outcome, until: str, *, log: bool, keep: str | None) -> None:
    """What was broken, with how little trouble it still breaks, and the command that repeats it."""
    from eachnode.simulation.run import simulate, troubles_of
    from eachnode.simulation.shrink import shrunk
    from eachnode.simulation.time_of_day import parse_duration

    horizon = parse_duration(until)
    least = shrunk(
        outcome,
        lambda fewer: simulate(scenario, outcome.seed, troubles=fewer, until=horizon),
        0 if keep is not None else 60,
    )
    for sentence in least.violations:
        click.echo(f"BROKEN  {sentence}", err=True)
    click.echo(f"It still breaks with these {len(least.troubles)} of {len(outcome.troubles)} troubles:", err=True)
    for trouble in least.troubles:
        click.echo(f"  {trouble}", err=True)
    if not log:
        click.echo("What happened last:", err=True)
        for line in least.lines[-LAST_LINES:]:
            click.echo(f"  {line}", err=True)
    numbers = [
        number for number, each in enumerate(troubles_of(scenario, outcome.seed, horizon), 1) if each in least.troubles
    ]
    longer = f" --until {until}" if horizon else ""
    kept = f" --keep '{','.join(map(str, numbers))}'"
    click.echo(f"Again: eachnode simulate {path} --seed {outcome.seed}{longer}{kept} --log", err=True)


def _forecast(
    target: str,
    images: tuple[str, ...],
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
    seeds: int | None,
) -> None:
    """Look at the cluster, then leave it alone, and tell what a change would be like."""
    from eachnode.cli.errands import errand
    from eachnode.cli.targets import parse_daemonset
    from eachnode.simulation.forecast import SEEDS, forecast
    from eachnode.simulation.snapshot import take, with_images

    name = parse_daemonset(target)
    wanted = dict(each.partition("=")[::2] for each in images)
    if not wanted or not all(wanted.values()):
        raise click.UsageError("say what is to change: --image CONTAINER=IMAGE")
    snapshot = errand(kubeconfig, context, namespace, lambda door, where: take(door, name, where))
    try:
        changed = with_images(snapshot.daemonset, wanted)
    except ValueError as error:
        raise Failure(f"daemonset {name}: {error}") from error
    for line in forecast(snapshot, changed, seeds or SEEDS).lines():
        click.echo(line)
