"""`eachnode bench`: what is measured is told with its spread and its goal, and written down without names or paths."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from eachnode.cli.bench import command, events
from eachnode.cli.bench.measures import Goal, Sample, gathered, table
from eachnode.cli.bench.records import record
from eachnode.objects.resources import NODES, PODS
from eachnode.objects.watching import WatchEvent


def test_the_middle_of_all_runs_counts_and_their_spread_is_told() -> None:
    (measure,) = gathered(("start", Sample("until ready", value, "s", Goal(0.7))) for value in (0.9, 0.5, 0.6))
    assert measure.median == 0.6
    assert measure.verdict == "met"
    (_, heading, line) = table([measure]).splitlines()
    assert heading == "start"
    assert line.split() == ["until", "ready", "0.6", "s", "0.5", "…", "0.9", "≤", "0.7", "met"]


def test_a_goal_may_be_a_least_number() -> None:
    (measure,) = gathered([("creations", Sample("per second", 1400.0, "/s", Goal(1500, at_least=True)))])
    assert measure.verdict == "missed"
    assert table([measure]).endswith("≥ 1500  missed")


def test_what_a_system_cannot_tell_is_said_and_not_guessed() -> None:
    (measure,) = gathered([("start", Sample("memory", None, "MB", Goal(110), "there is no /proc"))])
    assert measure.median is None
    assert measure.verdict == ""
    assert "-  (there is no /proc)" in table([measure])


def test_results_name_the_machine_by_its_kind_and_nobody_by_name(tmp_path: Path) -> None:
    measures = gathered([("start", Sample("until ready", 0.5, "s", Goal(0.7)))])
    record(tmp_path / "new" / "results.json", measures, ["cluster 5: not done"], (0.1, None))
    text = (tmp_path / "new" / "results.json").read_text()
    assert socket.gethostname() not in text
    assert str(Path.cwd()) not in text
    tree = msgspec.json.decode(text)
    assert tree["measures"] == [
        {"benchmark": "start", "name": "until ready", "unit": "s", "median": 0.5, "least": 0.5, "most": 0.5,
         "samples": [0.5], "goal": "≤ 0.7", "verdict": "met"},
    ]  # fmt: skip
    assert tree["failures"] == ["cluster 5: not done"]
    assert {"cpu", "cores", "memory_gb", "system"} == set(tree["machine"])
    assert {"eachnode", "python", "sqlite", "msgspec", "aiohttp", "uvloop"} == set(tree["versions"])


@pytest.mark.sockets
async def test_events_are_measured_on_the_real_informer_and_decisions() -> None:
    bench = events.Bench(20)
    await bench.begin()
    try:
        passes = bench.passes
        changed = [WatchEvent("MODIFIED", bench.pod(name)) for name in bench.names]
        assert await bench.seconds_per_event(PODS, changed) > 0
        assert bench.passes == passes + 20
        beats = [WatchEvent("MODIFIED", bench.node(name)) for name in bench.names]
        assert await bench.seconds_per_event(NODES, beats) > 0
        assert bench.passes == passes + 20
    finally:
        await bench.end()


@pytest.mark.sockets
def test_the_controller_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    arguments = ["controller", "cluster", "--nodes", "3", "--repeat", "1", "--json", str(results)]
    run = CliRunner().invoke(command, arguments)
    assert run.exit_code == 0, run.output
    found = {each["name"]: each for each in msgspec.json.decode(results.read_bytes())["measures"]}
    assert found["status writes per pod, create, 3 nodes"]["median"] > 0
    assert found["API calls of the controller per pod, create, 3 nodes"]["median"] >= 1
    assert found["10 % rollout, 3 nodes, wall"]["median"] > 0
    assert "wall, 10 % rollout, 3 nodes" in run.output
