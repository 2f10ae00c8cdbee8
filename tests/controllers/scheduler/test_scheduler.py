"""The scheduler at work on a server: what becomes of pods."""

from __future__ import annotations

import asyncio

import pytest

from eachnode.controllers.scheduler import SchedulerOptions
from eachnode.decisions.scheduling.refusals import Refusals
from eachnode.decisions.scheduling.rooms import Room
from eachnode.decisions.scheduling.rules import Questions
from eachnode.objects.status import Conflict

from .houses import House, at_work, condition_of, house, message_of, new_server, node_of


async def test_a_pod_is_placed_and_it_is_told() -> None:
    async with house() as home:
        await home.node("n1")
        await home.pod("p", cpu="1")
        assert await home.placed("p") == "n1"
        await asyncio.sleep(1)
        assert await home.events("Scheduled") == ["Successfully assigned default/p to n1"]
        assert condition_of(await home.get("p"))["status"] == "True"


async def test_placements_need_not_be_told() -> None:
    async with house(SchedulerOptions(tell_placements=False)) as home:
        await home.node("n1")
        await home.pod("p")
        await home.placed("p")
        await asyncio.sleep(1)
        assert await home.events("Scheduled") == []


async def test_pods_that_are_there_already_are_placed() -> None:
    server = await new_server()
    home = House(server)
    await home.node("n1")
    await home.pod("p")
    async with at_work(server):
        assert await home.placed("p") == "n1"


async def test_a_pod_for_another_scheduler_is_left_alone() -> None:
    async with house() as home:
        await home.node("n1")
        await home.pod("foreign", schedulerName="somebody-else")
        await home.pod("ours")
        await home.placed("ours")
        await asyncio.sleep(600)
        assert node_of(await home.get("foreign")) == ""
        assert message_of(await home.get("foreign")) == ""


async def test_a_pod_without_a_place_is_told_why_and_once() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        await home.node("n2", cordoned=True)
        await home.pod("p", cpu="2")
        told = (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. preemption: 0/2 nodes are"
            " available: 2 Preemption is not helpful for scheduling."
        )
        assert await home.told("p") == told
        condition = condition_of(await home.get("p"))
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        version = (await home.get("p"))["metadata"]["resourceVersion"]
        await asyncio.sleep(3000)  # It is looked at again, and the answer is the same.
        assert (await home.get("p"))["metadata"]["resourceVersion"] == version
        assert await home.events("FailedScheduling") == [told]


async def test_without_nodes_a_pod_waits_for_one() -> None:
    async with house() as home:
        await home.pod("p")
        assert await home.told("p") == "no nodes available to schedule pods"
        await home.node("n1", cordoned=True)
        assert await home.told("p", "1 node(s) were unschedulable")
        await home.node("n2")
        assert await home.placed("p") == "n2"


async def test_a_pinned_pod_waits_for_its_node_to_appear() -> None:
    async with house() as home:
        await home.node("n1")
        await home.pod("p", pinned_to="n2")
        assert "1 node(s) didn't satisfy plugin(s) [NodeAffinity]" in await home.told("p")
        await home.node("n3")
        await home.node("n2")
        assert await home.placed("p") == "n2"


async def test_a_pod_is_placed_as_soon_as_the_taint_is_gone() -> None:
    async with house() as home:
        await home.node("n1", taints=[{"key": "a", "effect": "NoSchedule"}])
        await home.pod("p")
        await home.told("p", "untolerated taint")
        before = asyncio.get_running_loop().time()
        await home.change_node("n1", {"spec": {"taints": None}})
        assert await home.placed("p") == "n1"
        assert asyncio.get_running_loop().time() - before < 0.1


async def test_a_pod_is_placed_when_the_node_is_uncordoned() -> None:
    async with house() as home:
        await home.node("n1", cordoned=True)
        await home.pod("p")
        await home.told("p", "unschedulable")
        await home.change_node("n1", {"spec": {"unschedulable": None}})
        assert await home.placed("p") == "n1"


async def test_a_pod_is_placed_when_the_node_gets_the_label() -> None:
    async with house() as home:
        await home.node("n1")
        await home.pod("p", nodeSelector={"disk": "ssd"})
        await home.told("p", "didn't match Pod's node affinity/selector")
        await home.change_node("n1", {"metadata": {"labels": {"disk": "ssd"}}})
        assert await home.placed("p") == "n1"


async def test_a_pod_is_placed_when_the_node_has_more_room() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        await home.pod("p", cpu="2")
        await home.told("p", "Insufficient cpu")
        await home.change_node("n1", {"status": {"allocatable": {"cpu": "2"}}}, subresource="status")
        assert await home.placed("p") == "n1"


async def test_a_pod_gets_the_room_that_another_one_leaves() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        await home.pod("first", cpu="1")
        await home.placed("first")
        await home.pod("second", cpu="1", pinned_to="n1")
        await home.told("second", "Insufficient cpu")
        await home.remove("first")
        assert await home.placed("second") == "n1"


async def test_a_pod_gets_the_room_of_one_that_has_ended() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        await home.pod("first", cpu="1")
        await home.placed("first")
        await home.pod("second", cpu="1")
        await home.told("second", "Insufficient cpu")
        await home.change_pod("first", {"status": {"phase": "Succeeded"}}, subresource="status")
        assert await home.placed("second") == "n1"


async def test_a_pod_is_placed_when_the_neighbour_it_needs_is() -> None:
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
            ]
        }
    }
    async with house() as home:
        await home.node("n1")
        await home.node("n2")
        await home.pod("web", affinity=near)
        await home.told("web", "didn't match pod affinity rules")
        await home.pod("db", labels={"app": "db"}, pinned_to="n2")
        assert await home.placed("web") == "n2"


async def test_a_gated_pod_is_not_tried_before_the_gate_is_gone() -> None:
    async with house() as home:
        await home.node("n1")
        await home.pod("p", schedulingGates=[{"name": "example.com/wait"}])
        gated = await home.until("p", lambda tree: condition_of(tree).get("reason") == "SchedulingGated")
        assert condition_of(gated)["message"] == "Scheduling is blocked due to non-empty scheduling gates"
        await asyncio.sleep(600)
        assert node_of(await home.get("p")) == ""
        await home.change_pod("p", {"spec": {"schedulingGates": None}})
        assert await home.placed("p") == "n1"


async def test_a_thousand_pinned_pods_are_placed_at_once() -> None:
    async with house(SchedulerOptions(tell_placements=False)) as home:
        await asyncio.gather(*(home.node(f"n{each}") for each in range(200)))
        await asyncio.gather(
            *(home.pod(f"p{each}-{turn}", cpu="100m", pinned_to=f"n{each}") for each in range(200) for turn in range(5))
        )
        found = await asyncio.gather(*(home.placed(f"p{each}-{turn}") for each in range(200) for turn in range(5)))
        assert found == [f"n{each}" for each in range(200) for _ in range(5)]


async def test_no_node_is_promised_twice() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        await home.node("n2", cpu="1")
        await asyncio.gather(*(home.pod(f"p{each}", cpu="1") for each in range(3)))
        await asyncio.sleep(60)
        trees = [await home.get(f"p{each}") for each in range(3)]
        assert sorted(map(node_of, trees)) == ["", "n1", "n2"]
        (left,) = [tree for tree in trees if not node_of(tree)]
        assert "2 Insufficient cpu" in message_of(left)


async def test_the_more_important_of_those_that_wait_goes_first() -> None:
    server = await new_server()
    home = House(server)
    await home.node("n1", cpu="1")
    await home.pod("low", cpu="1", priority=1)
    await home.pod("high", cpu="1", priority=2)
    async with at_work(server):
        assert await home.placed("high") == "n1"
        await home.told("low", "Insufficient cpu")


async def test_a_binding_that_is_refused_frees_the_room_and_is_tried_again() -> None:
    async with house() as home:
        await home.node("n1", cpu="1")
        refused = 0
        create = home.door.create

        async def refuse_once(*arguments: object, **named: object) -> object:
            nonlocal refused
            if named.get("subresource") == "binding" and not refused:
                refused += 1
                raise Conflict("not now")
            return await create(*arguments, **named)  # type: ignore[arg-type] # passed on as they came

        home.door.create = refuse_once  # type: ignore[assignment, method-assign] # a server that fails once
        await home.pod("p", cpu="1")
        assert await home.placed("p") == "n1"
        assert refused == 1


@pytest.mark.parametrize("size", [10, 100])
async def test_a_pinned_pod_costs_one_check_whatever_the_size(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    asked: list[str] = []
    ask = Questions.refusals_as_is

    def noted(questions: Questions, room: Room) -> Refusals:
        asked.append(room.name)
        return ask(questions, room)

    monkeypatch.setattr(Questions, "refusals_as_is", noted)
    async with house() as home:
        await asyncio.gather(*(home.node(f"n{each}", cpu="1") for each in range(size)))
        await home.pod("waits", cpu="2", pinned_to="n0")
        await home.told("waits")
        asked.clear()
        for each in range(1, 10):
            await home.pod(f"p{each}", cpu="1", pinned_to=f"n{each}")
            await home.placed(f"p{each}")
        for each in range(1, 10):  # Heartbeats, and what happens on other nodes, cost no check at all.
            await home.change_node(f"n{each}", {"metadata": {"annotations": {"beat": "1"}}})
            await home.change_node(f"n{each}", {"metadata": {"labels": {"zone": "a"}}})
            await home.remove(f"p{each}")
        await asyncio.sleep(1)
        assert sorted(asked) == [f"n{each}" for each in range(1, 10)]
