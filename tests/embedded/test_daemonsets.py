"""DaemonSets in a whole cluster on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count

import pytest

from eachnode.controllers.daemonset import carry_out
from eachnode.objects.resources import DAEMON_SETS
from tests.worlds import daemon_set, world


async def test_a_pod_name_drawn_twice_costs_another_draw_and_no_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    draws: Iterator[str] = chain(["aaaaa", "aaaaa", "bbbbb", "aaaaa"], (f"c{number:04d}" for number in count()))
    monkeypatch.setattr(carry_out, "name_suffix", lambda _: next(draws))
    async with world(nodes=5) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set("d"))
        await cluster.until_available("d", 5, within=30)
        assert len({pod["spec"]["nodeName"] for pod in await cluster.pods()}) == 5


async def test_nodes_that_join_at_once_get_their_pods_in_order() -> None:
    async with world(nodes=0) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set("d"))
        for number in range(50):
            await cluster.node(f"n{number:02d}")
        await cluster.until_available("d", 50, within=60)
        pods = await cluster.pods()
        assert sorted(pod["spec"]["nodeName"] for pod in pods) == [f"n{number:02d}" for number in range(50)]
