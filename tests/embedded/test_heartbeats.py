"""Signs of life of many nodes, where every answer of the server takes its time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions, Component
from eachnode.objects.resources import NODES
from eachnode.runtime.virtual_time import LoopClock

Answer = TypeVar("Answer")

NODES_THERE = 300
EACH_ANSWER = 0.5  # Seconds; one after another, the beats of all nodes would take 150 of them.


class Slow(Intercepting):
    """A door whose every answer takes its time."""

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        await asyncio.sleep(EACH_ANSWER)
        return await send()


async def test_nodes_of_a_large_fleet_stay_alive_though_the_server_is_slow() -> None:
    def door_for(component: Component, door: Door) -> Door:
        return Slow(door) if component == "kubelet" else door

    options = ClusterOptions(nodes=NODES_THERE)
    async with EmbeddedCluster(options, clock=LoopClock(), chance=random.Random(1), door_for=door_for) as cluster:
        await asyncio.sleep(300)
        page = await cluster.server.list(NODES)
        ready = 0
        for node in page.documents:
            conditions = node.tree()["status"]["conditions"]
            (status,) = (each["status"] for each in conditions if each["type"] == "Ready")
            ready += status == "True"
        assert ready == NODES_THERE
