"""The reference's known faults, reproduced as scenes and survived. Each says how the reference comes to grief."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from eachnode.client.intercepting import Call
from eachnode.runtime import leader
from eachnode.simulation.run import Outcome, simulate
from eachnode.simulation.scenario import Scenario
from tests.simulation.scenes import rules, scenario, scene, told

COMPLETE = {"expect": {"complete": True}, "within": "5m"}


def test_a_rollout_with_surge_and_min_ready_seconds_needs_no_event_to_go_on() -> None:
    """The reference drops the wake-up when another is pending, and stands still until something else happens.

    Here nothing else happens: no faults, and nothing about nodes or pods but what the rollout itself brings about.
    """
    quiet = scene(
        {"apply": [{"daemonSet": "d", "maxUnavailable": 0, "maxSurge": 1, "minReadySeconds": 30}]},
        {"after": "90s", "setImage": {"d": "agent:2"}},
        {"expect": {"complete": True, "daemonSet": "d", "images": {"agent:2": 4}}, "within": "200s"},
        nodes=4,
    )
    outcome = simulate(quiet, 1)
    assert outcome.ok, told(outcome)


def test_the_other_nodes_go_on_when_pods_are_stuck_terminating_on_a_dead_node() -> None:
    outcome = held(scenario("stuck-terminating"), seeds=3)
    deleted = deletions_after(outcome, "sets the image of d to agent:2")
    assert any("on node node-2," in each for each in deleted)  # And it never went, as long as the node was there.
    assert {each.partition(" on node ")[2].partition(",")[0] for each in deleted} == {f"node-{n}" for n in range(1, 7)}


def test_a_second_change_in_mid_rollout_replaces_first_what_is_not_ready_yet() -> None:
    """A pod of the second template that is not ready serves nobody, so it goes before any that serves does."""
    second = scene(
        {
            "apply": [
                {
                    "daemonSet": "d",
                    "image": "agent:1",
                    "maxUnavailable": 1,
                    "container": {"readinessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 20}},
                }
            ]
        },
        COMPLETE,
        {"setImage": {"d": "agent:2"}},
        {"after": "35s", "setImage": {"d": "agent:3"}},
        {"expect": {"complete": True, "daemonSet": "d", "images": {"agent:3": 4}}, "within": "10m"},
        nodes=4,
    )
    outcome = simulate(second, 1)
    assert outcome.ok, told(outcome)
    deleted = deletions_after(outcome, "sets the image of d to agent:3")
    assert deleted[0].endswith("because it is outdated and not available")
    assert all("of 1 are out of service now" in each for each in deleted[1:])


def test_a_create_storm_against_a_quota_is_not_a_storm() -> None:
    """Thirty pods are wanted and four allowed: each attempt begins with one create, and the pauses grow."""
    outcome = held(scenario("create-storm"), seeds=2)
    attempts = [line.at for line in outcome.lines if "could not create a pod" in line.what]
    last_minute = [at for at in attempts if attempts[-1] - 60 <= at]
    assert len(last_minute) < 20


def test_failing_pods_are_replaced_with_growing_pauses() -> None:
    """In half an hour of failures each node's pod is replaced a few times, not thousands of times."""
    outcome = held(scenario("failing-pods"), seeds=2)
    replaced = Counter(
        line.what.partition(" on node ")[2].partition(",")[0] for line in outcome.lines if "it has failed" in line.what
    )
    assert replaced
    assert max(replaced.values()) < 20


def held(scene_: Scenario, seeds: int) -> Outcome:
    """The last of some runs, all of which held."""
    for seed in range(1, seeds + 1):
        outcome = simulate(scene_, seed)
        assert outcome.ok, told(outcome)
    return outcome


def deletions_after(outcome: Outcome, moment: str) -> list[str]:
    """What the controller deleted after something was told, in order, with the reasons."""
    start = next(place for place, line in enumerate(outcome.lines) if moment in line.what)
    return [line.what for line in outcome.lines[start:] if line.who == "daemonset" and "deleted pod" in line.what]


def doubles(outcome: Outcome) -> list[str]:
    """Pods that were created beside another of the same revision, and removed again."""
    return [line.what for line in outcome.lines if "is on the node already" in line.what]


def test_of_two_that_believe_to_lead_one_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader whose lease is not renewed stops before another begins. Unfenced, both would create each pod."""
    two = msgspec.structs.replace(scenario("two-leaders"), chaos=False)
    outcome = simulate(two, 1)
    assert outcome.ok, told(outcome)
    assert sum("leads, because the lease" in line.what for line in outcome.lines) >= 3
    assert not doubles(outcome)

    async def never_ends(self: leader.LeaderElection) -> None:
        await asyncio.Event().wait()

    async def passes(self: Any, call: Call, send: Callable[[], Awaitable[object]]) -> object:
        return await send()

    monkeypatch.setattr(leader.LeaderElection, "_keep_renewing", never_ends)
    monkeypatch.setattr(leader._Fenced, "request", passes)
    assert "NoSecondPod" in rules(simulate(two, 1))
