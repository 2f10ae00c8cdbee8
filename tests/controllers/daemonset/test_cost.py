"""What an event costs: it is counted, not timed, and must not grow with the number of nodes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eachnode.controllers.daemonset import DaemonSetController
from eachnode.decisions import fleet as fleet_module
from eachnode.decisions import placement
from eachnode.decisions import plan as plan_module
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.runtime.metrics import Metrics
from tests.controllers.daemonset.stage import Stage, stage


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts how often the decisions are asked while the block runs."""
    asked: Counter[str] = Counter()

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*arguments: Any, **named: Any) -> Any:
            asked[name] += 1
            return original(*arguments, **named)

        return ask

    with monkeypatch.context() as patch:
        for name in ("judge", "settle", "classify"):
            patch.setattr(fleet_module, name, counted(name, getattr(fleet_module, name)))
        patch.setattr(plan_module, "settle", counted("settle again", placement.settle))
        yield asked


Happening = Callable[[Stage], Any]


async def a_pod_fails_and_is_replaced(play: Stage) -> None:
    await play.delete(PODS, (await play.pods_by_node())["n003"][0])
    await play.settle()


async def a_node_gets_a_label(play: Stage) -> None:
    await play.patch(NODES, "n004", {"metadata": {"labels": {"zone": "z"}}})
    await play.settle()


async def a_heartbeat(play: Stage) -> None:
    await play.patch(NODES, "n005", {"metadata": {"annotations": {"beat": "1"}}})
    await play.settle()


async def the_strategy_changes(play: Stage) -> None:
    await play.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}}})
    await play.settle()


async def the_placement_changes(play: Stage) -> None:
    await play.patch(DAEMON_SETS, "d", {"spec": {"template": {"spec": {"tolerations": [{"key": "a"}]}}}})
    await play.settle(0.001)


@pytest.mark.parametrize(
    "happening", [a_pod_fails_and_is_replaced, a_node_gets_a_label, a_heartbeat, the_strategy_changes]
)
async def test_an_event_costs_the_same_whatever_the_number_of_nodes(
    happening: Happening, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for size in (10, 120):
        async with stage(*(f"n{number:03}" for number in range(size))) as play:
            await play.controller()
            await play.daemonset()
            await play.until_serving(size)
            await play.settle()
            before = len(play.door.writes())
            with counting(monkeypatch) as asked:
                await happening(play)
            costs.append((dict(asked), len(play.door.writes()) - before))
    assert costs[0] == costs[1]


async def test_the_count_would_show_a_walk_over_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for size in (10, 40):
        async with stage(*(f"n{number:03}" for number in range(size))) as play:
            await play.controller()
            await play.daemonset()
            await play.until_serving(size)
            with counting(monkeypatch) as asked:
                await the_placement_changes(play)  # All nodes are judged again, once.
            costs.append(asked["judge"])
    assert costs == [10, 40]


async def test_operators_see_what_the_controller_counts() -> None:
    async with stage("n1", "n2") as play:
        metrics = Metrics()
        controller = DaemonSetController(play.door, clock=play.clock, chance=random.Random(1), metrics=metrics)
        play.start(controller.run)
        await play.daemonset()
        await play.until_serving(2)
        text = metrics.text().decode()
        assert "eachnode_daemonset_pods_created 2.0" in text
        assert 'eachnode_daemonset_nodes{name="d",namespace="default",state="serving"} 2.0' in text
        assert 'eachnode_daemonset_updated_ratio{name="d",namespace="default"} 1.0' in text
        assert 'eachnode_workqueue_depth{queue="daemonset"} 0.0' in text
