"""Whatever goes wrong between the scheduler and the server, no node is overbooked and nobody is forgotten."""

from __future__ import annotations

import asyncio
import random

import pytest

from eachnode.client.faulty import NONE, Faults, Faulty
from eachnode.controllers.scheduler import Scheduler
from eachnode.decisions.scheduling.node_affinity import named_nodes
from eachnode.objects.document import Document
from eachnode.objects.resources import PODS
from eachnode.objects.status import ApiError, Unreachable
from eachnode.objects.workload import WorkloadPod
from eachnode.runtime.virtual_time import VirtualTimeLoop
from eachnode.server.api_server import ApiServer

from .houses import House, at_work, condition_of, new_server, node_of

NODES, CPU = 3, 4  # so much of each node
EVERYTHING = Faults(
    conflict=0.1,
    too_many=0.1,
    internal=0.1,
    unavailable=0.1,
    lost_request=0.1,
    lost_answer=0.1,
    slow=0.2,
    too_old=0.2,
    watch_lost=0.05,
    watch_ends=0.05,
    watch_late=0.2,
    watch_repeats=0.2,
)


async def booked(server: ApiServer) -> dict[str, int]:
    """The cpu that the pods on each node ask for."""
    total: dict[str, int] = {}
    page = await server.list(PODS)
    for document in page.documents:
        pod = document.read(WorkloadPod)
        if pod.spec.node_name and not pod.is_over:
            total[pod.spec.node_name] = total.get(pod.spec.node_name, 0) + pod.requests.get("cpu", 0)
    return total


async def live(home: House, server: ApiServer, chance: random.Random) -> None:
    """Pods come and go, pinned and not, small and large, humble and important."""
    names: list[str] = []
    for step in range(40):
        await asyncio.sleep(chance.random() * 3)
        if names and chance.random() < 0.4:
            name = names.pop(chance.randrange(len(names)))
            if not await home.is_gone(name):
                await home.remove(name)
        else:
            pinned_to = f"n{chance.randrange(NODES)}" if chance.random() < 0.5 else ""
            await home.pod(
                f"p{step}", cpu=str(1 + chance.randrange(2)), pinned_to=pinned_to, priority=chance.randrange(3)
            )
            names.append(f"p{step}")
        assert is_within(await booked(server))
    await home.pod("last", cpu="1")  # Chance may have taken all the others away.


def is_within(total: dict[str, int]) -> bool:
    """Whether no node is overbooked."""
    return all(value <= CPU * 1000 for value in total.values())


async def end_what_is_to_end(home: House, server: ApiServer) -> None:
    """What a kubelet does with pods that are being deleted."""
    while True:
        await asyncio.sleep(1)
        for document in (await server.list(PODS)).documents:
            metadata = document.read(WorkloadPod).metadata
            if metadata.deletion_timestamp is not None:
                await home.remove(metadata.name)


async def world(seed: int) -> dict[str, str]:
    """Lives through a seed's troubles; answers with each pod's node, once everything has settled."""
    chance = random.Random(seed)
    server = await new_server()
    home = House(server)
    for each in range(NODES):
        await home.node(f"n{each}", cpu=str(CPU))
    door = Faulty(server, EVERYTHING, chance=chance)
    async with at_work(door) as scheduler, asyncio.TaskGroup() as tasks:
        kubelet = tasks.create_task(end_what_is_to_end(home, server))
        await live(home, server, chance)
        door.faults = NONE
        await asyncio.sleep(1000)
        await check_settled(server, scheduler)
        kubelet.cancel()
    return {document.read(WorkloadPod).metadata.name: node_of(document.tree()) for document in await pods_of(server)}


async def pods_of(server: ApiServer) -> tuple[Document, ...]:
    return (await server.list(PODS)).documents


async def check_settled(server: ApiServer, scheduler: Scheduler) -> None:
    """Every pod has a node, or is told why it has none, and there is none for it; the books are right."""
    total = await booked(server)
    assert is_within(total)
    for document in await pods_of(server):
        tree = document.tree()
        if not node_of(tree):
            condition = condition_of(tree)
            assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
            pod = document.read(WorkloadPod)
            nodes = named_nodes(pod) or [f"n{each}" for each in range(NODES)]
            assert all(total.get(node, 0) + pod.requests["cpu"] > CPU * 1000 for node in nodes)
    rooms = scheduler.landscape.rooms
    assert {name: room.requested["cpu"] for name, room in rooms.items() if room.requested} == total


@pytest.mark.parametrize("seed", range(12))
async def test_no_node_is_overbooked_and_nobody_is_forgotten(seed: int) -> None:
    assert await world(seed)


def test_the_same_troubles_come_to_the_same_end() -> None:
    ends = []
    for _ in range(2):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            ends.append(runner.run(world(7)))
    assert ends[0] == ends[1]
    assert any(ends[0].values())


async def test_a_binding_without_an_answer_is_not_given_away_and_asked_for_again() -> None:
    server = await new_server()
    home = House(server)
    await home.node("n1", cpu="1")
    await home.node("n2", cpu="1")
    door = Faulty(server, Faults(lost_request=1.0), chance=random.Random(1))
    async with at_work(server) as scheduler:
        scheduler._writes._door = door  # Only what is written is lost; what happens is still seen.
        await home.pod("p", cpu="1")
        await asyncio.sleep(3)
        assert sum(len(room.tenants) for room in scheduler.landscape.rooms.values()) == 1
        door.faults = NONE
        assert await home.placed("p") in ("n1", "n2")


async def test_a_pod_that_goes_while_its_binding_is_unanswered_leaves_nothing_behind() -> None:
    server = await new_server()
    home = House(server)
    await home.node("n1", cpu="1")
    door = Faulty(server, Faults(lost_request=1.0), chance=random.Random(1))
    async with at_work(server) as scheduler:
        scheduler._writes._door = door
        await home.pod("p", cpu="1")
        await asyncio.sleep(3)
        await home.remove("p")
        await asyncio.sleep(60)
        assert not scheduler.landscape.rooms["n1"].tenants
        assert not scheduler._bound
        assert len(scheduler._line) == 0
        with pytest.raises((ApiError, Unreachable)):
            await door.get(PODS, "p", "default")
