"""Guards growth, not time: what the whole cluster does for one event, counted at two sizes of the fleet."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import msgspec
import pytest

from eachnode.client.door import Door
from eachnode.client.intercepting import Call
from eachnode.client.metered import Metered
from eachnode.controllers.kubelet import KubeletOptions
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions, Component
from eachnode.objects import document
from eachnode.objects.document import decoder_for
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.runtime.virtual_time import LoopClock
from tests.worlds import World, daemon_set

FEW, MANY = 40, 160  # Nodes.
WHOLE_TEST = 40.0  # Seconds without signs of life: they come with time, not with events.
STATUS_WRITES_PER_POD = 0.05


@dataclass(slots=True)
class Work:
    """What was done."""

    calls: Counter[str] = field(default_factory=Counter)  # By component, verb and resource.
    decoded: int = 0  # Bytes of pods that loops decoded.
    steps: int = 0  # Python functions of ours that were called, whoever called them.

    @property
    def status_writes(self) -> int:
        """Writes of a DaemonSet's status."""
        return self.calls["controller update daemonsets.apps/status"]


class CountingDecoder:
    """Counts the bytes of pods that it decodes."""

    def __init__(self, decoder: msgspec.json.Decoder[Any], work: Work) -> None:
        self._decoder, self._work = decoder, work

    def decode(self, raw: bytes | memoryview) -> Any:
        if b'"kind":"Pod"' in bytes(raw[:40]):
            self._work.decoded += len(raw)
        return self._decoder.decode(raw)


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch, work: Work) -> Iterator[None]:
    """Counts from now on, while the block runs."""
    work.calls.clear()

    def see(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and "eachnode" in frame.f_code.co_filename:
            work.steps += 1

    with monkeypatch.context() as patch:
        patch.setattr(document, "decoder_for", lambda view: CountingDecoder(decoder_for(view), work))
        sys.setprofile(see)
        try:
            yield
        finally:
            sys.setprofile(None)


@asynccontextmanager
async def fleet(nodes: int, work: Work) -> AsyncIterator[World]:
    """A cluster with one DaemonSet, available on every node; from then on the calls of all loops are counted."""

    def door_for(component: Component, door: Door) -> Door:
        def tally(call: Call, code: str, _: float) -> None:
            if call.verb != "watch":
                subresource = f"/{call.subresource}" if call.subresource else ""
                work.calls[f"{component} {call.verb} {call.resource.qualified}{subresource}"] += 1

        return Metered(door, tally)

    clock, chance = LoopClock(), random.Random(1)
    options = ClusterOptions(nodes=nodes, kubelet=KubeletOptions(lease_every=WHOLE_TEST, status_every=WHOLE_TEST))
    async with EmbeddedCluster(options, clock=clock, chance=chance, door_for=door_for) as cluster:
        world = World(cluster)
        update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
        await world.create(DAEMON_SETS, daemon_set(updateStrategy=update))
        await world.until_available("d", nodes)
        yield world


async def a_pod_is_deleted(world: World, pod: str, nodes: int) -> None:
    await world.delete(PODS, pod)

    async def gone() -> bool:
        return await world.get(PODS, pod) is None

    await world.until(gone)
    await world.until_available("d", nodes)


async def a_pod_is_annotated(world: World, pod: str, nodes: int) -> None:
    await world.patch(PODS, pod, {"metadata": {"annotations": {"a": "b"}}})


async def a_node_is_annotated(world: World, pod: str, nodes: int) -> None:
    await world.patch(NODES, "node-1", {"metadata": {"annotations": {"a": "b"}}})


async def settled(world: World) -> None:
    """Returns when everything that was begun has had its time: events are written, caches have caught up."""

    async def idle() -> bool:
        before = world.cluster.store.committed
        for _ in range(20):
            await world.door.get(DAEMON_SETS, "d", "default")
        return world.cluster.store.committed == before

    await world.until(idle)


Happening = Callable[[World, str, int], Awaitable[None]]


@pytest.mark.parametrize("happening", [a_pod_is_deleted, a_pod_is_annotated, a_node_is_annotated])
async def test_an_event_costs_the_whole_cluster_the_same_whatever_the_number_of_nodes(
    happening: Happening, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for nodes in (FEW, MANY):
        work = Work()
        async with fleet(nodes, work) as world:
            await settled(world)
            pod = (await world.pods(labels="app=d"))[0]["metadata"]["name"]
            with counting(monkeypatch, work):
                await happening(world, pod, nodes)
                await settled(world)
        costs.append(work)
    few, many = costs
    assert many.calls == few.calls
    assert many.steps == pytest.approx(few.steps, rel=0.02)
    assert many.decoded == pytest.approx(few.decoded, rel=0.01)  # Names of nodes are longer where there are more.


async def test_a_rollout_costs_no_more_per_pod_in_a_larger_fleet_and_few_status_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    per_pod = []
    for nodes in (FEW, MANY):
        work = Work()
        async with fleet(nodes, work) as world:
            await settled(world)
            with counting(monkeypatch, work):
                await world.patch(DAEMON_SETS, "d", {"spec": {"template": {"spec": {"hostNetwork": True}}}})
                await world.until_available("d", nodes)
                await settled(world)
        per_pod.append((sum(work.calls.values()) / nodes, work.decoded / nodes, work.steps / nodes))
        if nodes == MANY:
            assert work.status_writes / nodes <= STATUS_WRITES_PER_POD
    few, many = per_pod
    assert all(large <= small * 1.1 for small, large in zip(few, many, strict=True))
