"""The scheduler at work when room has to be made."""

from __future__ import annotations

import asyncio

from eachnode.objects.status import Unavailable

from .houses import House, Json, condition_of, house, node_of

PATIENT: Json = {"terminationGracePeriodSeconds": 30}


async def _full_node(home: House, *names: str, cpu: str = "1") -> None:
    """A node that these pods of priority 1 fill."""
    await home.node("n1", cpu=str(len(names)))
    for name in names:
        await home.pod(name, cpu=cpu, priority=1, labels={"app": name}, **PATIENT)
        await home.placed(name)


async def test_a_more_important_pod_gets_the_room_when_the_victim_has_left_in_its_own_time() -> None:
    async with house() as home:
        await _full_node(home, "low")
        await home.pod("vip", cpu="1", priority=10)
        leaving = await home.until("low", lambda tree: "deletionTimestamp" in tree["metadata"])
        target = condition_of(leaving, "DisruptionTarget")
        assert (target["status"], target["reason"], target["message"]) == (
            "True",
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        )
        assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
        vip = await home.until("vip", lambda tree: tree["status"].get("nominatedNodeName"))
        assert vip["status"]["nominatedNodeName"] == "n1"
        assert condition_of(vip)["message"].endswith(
            "preemption: found a potential placement for pod on node n1, preempting 1 victims"
        )
        assert node_of(vip) == ""
        await home.remove("low")  # The kubelet has ended it.
        assert await home.placed("vip") == "n1"
        assert await home.events("Preempted") == [f"Preempted by pod {vip['metadata']['uid']} on node n1"]


async def test_nobody_is_sacrificed_twice_for_one_pod() -> None:
    async with house() as home:
        await _full_node(home, "a", "b", "c")
        await home.pod("vip", cpu="1", priority=10)
        await home.until("vip", lambda tree: tree["status"].get("nominatedNodeName"))
        await home.node("n2", cpu="0")  # Changes come and go; they help nobody.
        await home.change_node("n1", {"metadata": {"labels": {"x": "y"}}})
        await home.pod("vip2", cpu="5", priority=10)
        await asyncio.sleep(1000)
        leaving = [name for name in "abc" if "deletionTimestamp" in (await home.get(name))["metadata"]]
        assert len(leaving) == 1


async def test_the_room_is_kept_for_the_pod_it_was_made_for() -> None:
    async with house() as home:
        await _full_node(home, "low")
        await home.pod("vip", cpu="1", priority=10)
        await home.until("low", lambda tree: "deletionTimestamp" in tree["metadata"])
        await home.pod("opportunist", cpu="1", priority=5)
        await home.told("opportunist", "Insufficient cpu")
        await home.remove("low")
        assert await home.placed("vip") == "n1"
        await asyncio.sleep(60)
        assert node_of(await home.get("opportunist")) == ""


async def test_an_even_more_important_pod_takes_the_room_and_the_nomination_is_withdrawn() -> None:
    async with house() as home:
        await _full_node(home, "low")
        await home.pod("vip", cpu="1", priority=10)
        await home.until("vip", lambda tree: tree["status"].get("nominatedNodeName"))
        await home.pod("king", cpu="1", priority=20)
        await home.remove("low")
        assert await home.placed("king") == "n1"
        vip = await home.until("vip", lambda tree: not tree["status"].get("nominatedNodeName"))
        assert node_of(vip) == ""


async def test_a_pod_that_must_not_preempt_waits() -> None:
    async with house() as home:
        await _full_node(home, "low")
        await home.pod("polite", cpu="1", priority=10, preemptionPolicy="Never")
        assert "not eligible due to preemptionPolicy=Never." in await home.told("polite")
        await asyncio.sleep(600)
        assert "deletionTimestamp" not in (await home.get("low"))["metadata"]


async def test_a_budget_decides_whose_room_is_taken() -> None:
    async with house() as home:
        await _full_node(home, "guarded", "free")
        await home.budget("b", 0, {"app": "guarded"})
        await home.pod("vip", cpu="1", priority=10)
        await home.until("free", lambda tree: "deletionTimestamp" in tree["metadata"])
        await asyncio.sleep(60)
        assert "deletionTimestamp" not in (await home.get("guarded"))["metadata"]


async def test_a_pinned_pod_of_a_node_agent_makes_room_on_its_node() -> None:
    async with house() as home:
        await _full_node(home, "low")
        await home.node("n2")
        await home.pod("agent", cpu="500m", priority=2000001000, pinned_to="n1")
        await home.until("low", lambda tree: "deletionTimestamp" in tree["metadata"])
        await home.remove("low")
        assert await home.placed("agent") == "n1"


async def test_victims_that_never_started_their_end_are_asked_again_after_a_failure() -> None:
    async with house() as home:
        await _full_node(home, "low")
        delete, refused = home.door.delete, 0

        async def refuse_once(*arguments: object, **named: object) -> object:
            nonlocal refused
            if not refused:
                refused += 1
                raise Unavailable("later")
            return await delete(*arguments, **named)  # type: ignore[arg-type] # passed on as they came

        home.door.delete = refuse_once  # type: ignore[assignment, method-assign] # a server that fails once
        await home.pod("vip", cpu="1", priority=10)
        await home.until("low", lambda tree: "deletionTimestamp" in tree["metadata"])
        assert refused == 1
