"""A world is the same each time, tells what happened, and never hangs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from eachnode.embedded.options import COMPONENTS
from eachnode.simulation.run import Outcome, simulate, troubles_of
from eachnode.simulation.scenario import InvalidScenario, read_scenario, scenario_from
from eachnode.simulation.schedule import FAULT_NAMES, KINDS, Episode, Strike
from eachnode.simulation.shrink import shrunk
from eachnode.simulation.steps import Performer
from eachnode.simulation.time_of_day import parse_duration
from tests.simulation.scenes import FOLDER, PATHS, scenario, scene, told

AMOUNTS = ("slowest", "latest")  # Of other faults.
DAEMON = {"apply": [{"daemonSet": "d", "image": "agent:1"}]}
TELL = """
import sys
from pathlib import Path
from eachnode.simulation.run import simulate
from eachnode.simulation.scenario import read_scenario
for line in simulate(read_scenario(Path(sys.argv[1])), int(sys.argv[2])).lines:
    print(line)
"""


def story(name: str, seed: int, hash_seed: str) -> str:
    """The whole story of a run in another process."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    arguments = [sys.executable, "-c", TELL, str(FOLDER / f"{name}.yaml"), str(seed)]
    return subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("name", ["drain-a-zone", "server-restarted", "two-leaders"])
def test_the_same_seed_tells_the_same_story_in_every_process(name: str) -> None:
    first = story(name, 5, "1")
    assert len(first.splitlines()) > 50
    assert first == story(name, 5, "2")


def test_another_seed_tells_another_story() -> None:
    first, second = (simulate(scenario("rollout"), seed) for seed in (1, 2))
    assert list(map(str, first.lines)) != list(map(str, second.lines))


def test_the_story_says_because_of_what() -> None:
    outcome = simulate(scene(DAEMON, {"expect": {"complete": True}}, rests=False), 1)
    assert any(
        "created pod" in line.what and "because no pod of it is on the node" in line.what for line in outcome.lines
    )


def test_a_day_passes_in_seconds() -> None:
    outcome = simulate(scene(DAEMON, nodes=1, rests=False, heartbeat="40s"), 1, until=86_400.0)
    assert outcome.ok, told(outcome)
    assert outcome.lasted >= 86_400


def test_in_a_longer_run_life_goes_on() -> None:
    again = scene({"setImage": {"d": "agent:2"}}, {"apply": DAEMON["apply"]}, nodes=1, rests=False, every="10m")
    outcome = simulate(again, 1, until=3600.0)
    assert outcome.ok, told(outcome)
    assert sum("sets the image" in line.what for line in outcome.lines) == 6


def test_a_killed_server_forgets_nothing_and_a_killed_controller_does_nothing_twice() -> None:
    calm = scene(DAEMON, {"expect": {"complete": True}, "within": "3m"}, restarts=True)
    blows = (Strike(0.02, "restart-server", "server", 2.0), Strike(0.03, "kill", "controller", 1.0))
    outcome = simulate(calm, 1, troubles=blows)
    assert outcome.ok, told(outcome)
    assert sum("is killed" in line.what for line in outcome.lines) == 2


def test_what_is_expected_and_does_not_come_is_told() -> None:
    outcome = simulate(scene(DAEMON, {"expect": {"daemonSet": "d", "pods": 99}, "within": "30s"}), 1)
    assert outcome.violations == ["expected within 30 s: default/d: 6 pods, not 99"]


def test_what_must_never_be_and_is_is_told() -> None:
    outcome = simulate(scene(DAEMON, {"never": {"daemonSet": "d", "pods": 6}, "within": "30s"}), 1)
    assert not outcome.ok
    assert outcome.violations[0].startswith("must never be")


def test_a_failing_run_is_shortened_to_the_trouble_that_matters() -> None:
    guilty = Episode(5.0, 9.0, "controller", {"internal": 1.0})
    others = [Episode(float(at), at + 1.0, "kubelet", {"slow": 0.1}) for at in range(8)]
    runs = []

    def again(troubles: object) -> Outcome:
        outcome = Outcome("made up", 1, tuple(troubles))  # type: ignore[arg-type]  # a sequence of troubles
        runs.append(outcome)
        outcome.violations += ["BudgetIsKept: broken"] if guilty in outcome.troubles else []
        return outcome

    least = shrunk(again([*others[:3], guilty, *others[3:]]), again)
    assert least.troubles == (guilty,)
    assert len(runs) < 30


def test_troubles_are_drawn_from_the_seed_alone() -> None:
    rollout = scenario("rollout")
    assert troubles_of(rollout, 7) == troubles_of(rollout, 7)
    assert troubles_of(rollout, 7) != troubles_of(rollout, 8)
    assert len(troubles_of(rollout, 7, until=86_400.0)) > 50


@pytest.mark.parametrize("name", ["rollout", "surge-min-ready"])
@pytest.mark.parametrize("faults", [faults for faults, _ in KINDS], ids=lambda faults: "+".join(faults))
def test_each_fault_really_happens_and_is_survived(faults: dict[str, float | bool], name: str) -> None:
    """For the whole of a rollout, to the controller: a fault that is drawn and never strikes would prove nothing."""
    outcome = simulate(scenario(name), 1, troubles=[Episode(0.0, 90.0, "controller", faults)])
    assert outcome.ok, told(outcome)
    assert all(outcome.happened[name] for name in faults if name not in AMOUNTS), outcome.happened


def test_every_fault_there_is_can_be_drawn() -> None:
    assert {name for faults, _ in KINDS for name in faults} == set(FAULT_NAMES)
    drawn = [trouble for seed in range(60) for trouble in troubles_of(scenario("server-restarted"), seed)]
    assert {each.what for each in drawn if isinstance(each, Strike)} == {"kill", "restart-server", "set-clock"}
    assert {each.request % 2 for each in drawn if isinstance(each, Strike) and each.request} == {0, 1}


def test_every_scenario_says_what_it_is_about() -> None:
    assert len(PATHS) >= 15
    assert all(len(read_scenario(path).about) > 20 for path in PATHS)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"name": "x", "about": "y"}, "steps"),
        ({"name": "x", "about": "y", "steps": [{"do": 1}]}, "do"),
        ({"name": "x", "about": "y", "steps": [{"after": "soon"}]}, "soon"),
        ({"name": "x", "about": "y", "steps": [], "without": ["kublet"]}, "kublet"),
        (
            {
                "name": "x",
                "about": "y",
                "steps": [],
                "faults": [{"start": 0, "until": 1, "of": ["kubelet"], "faults": {"fire": 1}}],
            },
            "fire",
        ),
        ("nothing", "object"),
    ],
)
def test_a_scenario_that_is_wrong_is_refused_with_a_sentence(tree: object, sentence: str) -> None:
    with pytest.raises(InvalidScenario, match=sentence):
        scenario_from(tree)


def test_durations_are_read() -> None:
    assert [parse_duration(each) for each in (5, "1m30s", "500ms", "-2s", "24h")] == [5.0, 90.0, 0.5, -2.0, 86_400.0]


def test_a_process_can_be_killed_between_any_two_requests() -> None:
    calm = scene(DAEMON, {"expect": {"complete": True}, "within": "3m"}, nodes=3, rests=False)
    for request in range(1, 12):
        outcome = simulate(calm, 1, troubles=[Strike(0.0, "kill", "controller", 1.0, request)])
        assert outcome.ok, told(outcome)
        assert any("controller is killed" in line.what for line in outcome.lines)


def test_when_everybody_waits_for_everybody_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def perform(self: Performer, until: float = 0.0) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Performer, "perform", perform)
    empty = scene(nodes=0, without=list(COMPONENTS))
    assert simulate(empty, 1).violations == ["NothingStandsStill: every task waits and no timer is set"]
