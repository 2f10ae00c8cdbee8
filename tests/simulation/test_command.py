"""`eachnode simulate`: what it prints and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click.testing
import pytest

from eachnode.cli.simulate import command
from eachnode.embedded.options import ClusterOptions
from eachnode.embedded.serving import ServingOptions, serve
from eachnode.objects.resources import DAEMON_SETS
from tests.simulation.scenes import FOLDER
from tests.worlds import World, daemon_set

BROKEN = """
name: broken
about: It expects what never comes, and two troubles have nothing to do with it.
nodes: 2
chaos: false
faults:
  - {start: 1s, until: 3s, of: [scheduler, kubelet], faults: {slow: 0.5}}
steps:
  - apply: [{daemonSet: d}]
  - {expect: {daemonSet: d, pods: 9}, within: 20s}
"""


def run(*arguments: str) -> click.testing.Result:
    """The command, as it is called."""
    return click.testing.CliRunner().invoke(command, list(arguments), standalone_mode=False)


def test_a_run_that_holds_ends_with_zero() -> None:
    result = run(str(FOLDER / "rollout.yaml"), "--seed", "3")
    assert (result.return_value, result.exit_code) == (0, 0)
    assert "a rollout: seed 3 held for" in result.output


def test_the_whole_story_is_told_on_request() -> None:
    result = run(str(FOLDER / "rollout.yaml"), "--seed", "3", "--log")
    assert "sets the image of d to agent:2" in result.output
    assert "because it is outdated" in result.output


def test_a_failing_run_is_shortened_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    result = run(str(path), "--seed", "4")
    assert result.return_value == 1
    assert "BROKEN  expected within 20 s: default/d: 2 pods, not 9" in result.output
    assert "with these 0 of 2 troubles" in result.output
    again = next(line for line in result.output.splitlines() if line.startswith("Again: "))
    assert again == f"Again: eachnode simulate {path} --seed 4 --keep '' --log"
    repeated = run(str(path), "--seed", "4", "--keep", "", "--log")
    assert repeated.return_value == 1


def test_many_seeds_run_in_processes_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    result = run(str(path), str(FOLDER / "rollout.yaml"), "--seeds", "2", "--processes", "2")
    assert result.return_value == 1
    assert f"FAILED {path} --seed 1" in result.output
    assert "4 runs" in result.output
    assert "2 failed" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name a scenario file"),
        (("nowhere.yaml",), "nowhere.yaml: cannot be read"),
    ],
)
def test_what_cannot_be_simulated_is_said(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert sentence in str(result.exception)


@pytest.mark.sockets
async def test_a_forecast_is_made_from_a_cluster_over_http(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with serve(ClusterOptions(nodes=2), ServingOptions(kubeconfig=kubeconfig)) as served:
        here = World(served.cluster)
        await here.create(DAEMON_SETS, daemon_set("d"))
        await here.until_available("d", 2)
        result = await asyncio.to_thread(
            run, "--from-cluster", "ds/d", "--image", "c=i:2", "--seeds", "2", "--kubeconfig", str(kubeconfig)
        )
        changed = await here.get(DAEMON_SETS, "d")
    assert result.exception is None, result.exception
    assert "duration" in result.output
    assert "out of service  at most 1 at once" in result.output
    assert changed is not None
    assert changed["metadata"]["generation"] == 1
