"""Pods are created and deleted: slowly at first, accounted for, and told of."""

from __future__ import annotations

import asyncio

import pytest

from eachnode.client.intercepting import Call
from eachnode.objects.resources import DAEMON_SETS, EVENTS, NODES, PODS
from eachnode.objects.status import Cause, Details, Forbidden, InternalError, NotFound, Unreachable
from tests.controllers.daemonset.stage import stage


async def lose_creates(call: Call) -> None:
    """No create of a pod reaches the server, and nobody answers."""
    if call.verb == "create" and call.resource is PODS:
        raise Unreachable("no answer")


def many(count: int) -> list[str]:
    return [f"n{number:03}" for number in range(count)]


@pytest.mark.behaviour(72)
async def test_creates_start_slowly_and_each_batch_runs_together() -> None:
    async with stage(*many(20), hands=False) as play:
        flying = most = 0
        batches: list[int] = []

        async def fly(call: Call) -> None:
            nonlocal flying, most
            if call.verb == "create" and call.resource is PODS:
                flying += 1
                await asyncio.sleep(1)
                if flying:
                    batches.append(flying)
                    flying = 0

        play.door.interfere = fly
        await play.controller()
        await play.daemonset()
        await play.settle(30)
        assert batches == [1, 2, 4, 8, 5]


@pytest.mark.behaviour(70)
async def test_what_is_beyond_250_waits_for_the_next_pass() -> None:
    async with stage(*many(260), hands=False) as play:
        started: list[float] = []

        async def note(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                started.append(play.clock.now())
                if len(started) == 250:
                    await asyncio.sleep(10)

        play.door.interfere = note
        await play.controller()
        await play.daemonset()
        await play.settle(5)
        assert len(started) == 250
        await play.settle(30)
        assert len(started) == 260
        assert len(await play.pods_by_node()) == 260


@pytest.mark.behaviour(73, 74, 170)
async def test_after_a_failed_batch_the_rest_is_not_tried_and_nothing_is_waited_for() -> None:
    async with stage(*many(20), hands=False) as play:
        tried: list[float] = []

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                tried.append(play.clock.now())
                if len(tried) > 2:
                    raise Forbidden("exceeded quota: pods")
            if call.subresource == "status":
                await asyncio.sleep(1)  # So that the next pass does not begin at once.

        play.door.interfere = refuse
        controller = await play.controller()
        await play.daemonset()
        await play.settle(0.5)
        assert len(tried) == 3  # One, then two of which one failed.
        (charge,) = controller.charges.values()
        assert not charge.expectations.creates
        await play.settle(1)
        assert ("Warning", "FailedCreate", "Error creating: exceeded quota: pods") in await play.events()
        play.door.interfere = None
        await play.settle(60)
        assert len(await play.pods_by_node()) == 20


@pytest.mark.behaviour(75)
async def test_in_a_namespace_that_is_going_creates_fail_silently_and_are_not_repeated_soon() -> None:
    async with stage("n1") as play:

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                cause = Cause(reason="NamespaceTerminating", field="metadata.namespace")
                raise Forbidden("is being terminated", details=Details(causes=(cause,)))

        play.door.interfere = refuse
        controller = await play.controller()
        await play.daemonset()
        await play.settle(290)
        assert len(play.door.writes(PODS)) == 1
        assert await play.events() == []
        assert controller.queue.retried == 0
        await play.settle(20)
        assert len(play.door.writes(PODS)) == 2


@pytest.mark.behaviour(76, 77, 171, 172)
async def test_deletes_run_together_and_each_failure_is_told() -> None:
    async with stage("n1", "n2", "n3") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(3)
        victim = (await play.pods_by_node())["n2"][0]
        together: list[float] = []

        async def refuse(call: Call) -> None:
            if call.verb == "delete" and call.resource is PODS:
                together.append(play.clock.now())
                await asyncio.sleep(1)
                if call.key.name == victim:
                    raise InternalError("the disk is full")

        play.door.interfere = refuse
        change = {"spec": {"template": {"spec": {"nodeSelector": {"nowhere": "there"}}}}}
        await play.patch(DAEMON_SETS, "d", change)
        await play.settle(0.9)
        assert len(together) == 3
        assert max(together) - min(together) < 0.01
        await play.settle(0.5)
        assert ("Warning", "FailedDelete", "Error deleting: the disk is full") in await play.events()
        assert sum(reason == "SuccessfulDelete" for _, reason, _ in await play.events()) == 2
        play.door.interfere = None

        async def gone() -> bool:
            return not await play.pods()

        await play.until(gone)
        assert ("Normal", "SuccessfulDelete", f"Deleted pod: {victim}") in await play.events()


@pytest.mark.behaviour(76)
async def test_deletes_are_tried_though_creates_failed() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(template={"nodeSelector": None})
        await play.until_serving(1)

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                raise Forbidden("exceeded quota")

        play.door.interfere = refuse
        # In one pass: a pod for the new node, none for the old one.
        await play.stop_controller()
        taint = {"key": "away", "effect": "NoExecute"}
        await play.patch(NODES, "n1", {"spec": {"taints": [taint]}})
        await play.nodes("n2")
        await play.controller()
        await play.settle(1)
        assert await play.pods() == []


@pytest.mark.behaviour(77)
async def test_a_pod_that_is_gone_already_is_no_failure() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)

        async def gone(call: Call) -> None:
            if call.verb == "delete" and call.resource is PODS:
                play.door.interfere = None
                raise NotFound("gone")

        play.door.interfere = gone
        await play.patch(NODES, "n1", {"spec": {"taints": [{"key": "away", "effect": "NoExecute"}]}})
        await play.settle(0.003)
        assert controller.queue.retried == 0
        (charge,) = controller.charges.values()
        assert charge.expectations.satisfied(play.clock.now())
        assert not any(reason == "FailedDelete" for _, reason, _ in await play.events())


async def test_a_create_without_an_answer_makes_no_second_pod() -> None:
    async with stage("n1") as play:

        async def lose_answer(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                play.door.afterwards = None
                raise Unreachable("no answer, but it was done")

        play.door.afterwards = lose_answer
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        await play.settle()
        assert len(await play.pods()) == 1
        assert not any(call.verb == "delete" for call in play.door.writes())


async def test_a_late_create_makes_no_second_pod_either() -> None:
    async with stage("n1", hands=False) as play:
        play.door.interfere = lose_creates
        controller = await play.controller()
        await play.daemonset()
        await play.settle(1)
        (charge,) = controller.charges.values()
        # The first request arrives at last, and with it the pod under the name that was sent.
        name = charge.unanswered["n1"]
        assert charge.body is not None
        await play.server.create(PODS, charge.body[1].on("n1", name), "default")
        play.door.interfere = None
        await play.settle()
        assert await play.pods_by_node() == {"n1": [name]}
        assert not charge.unanswered
        assert charge.expectations.satisfied(play.clock.now())


async def test_a_pod_that_comes_while_its_create_waits_for_its_turn_stays_the_only_one() -> None:
    """Creates start slowly: between the decision and the request a late answer to an earlier one may be seen."""
    async with stage("n1", "n2", hands=False) as play:
        play.door.interfere = lose_creates
        controller = await play.controller()
        await play.daemonset()
        await play.settle(1)
        (charge,) = controller.charges.values()
        name = charge.unanswered["n2"] = "d-late1"  # As if it had been tried too.

        async def arrive_late(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                play.door.interfere = None
                assert charge.body is not None
                await play.server.create(PODS, charge.body[1].on("n2", name), "default")
                while "n2" in charge.unanswered:
                    await asyncio.sleep(0.001)

        play.door.interfere = arrive_late
        await play.settle()
        pods = await play.pods_by_node()
        assert pods["n2"] == [name]
        assert len(pods["n1"]) == 1
        assert not any(call.verb == "delete" for call in play.door.writes())
        assert charge.expectations.satisfied(play.clock.now())


async def test_a_name_that_somebody_else_has_taken_is_not_tried_for_ever() -> None:
    async with stage("n1") as play:
        play.door.interfere = lose_creates
        controller = await play.controller()
        await play.daemonset()
        await play.settle(1)
        (charge,) = controller.charges.values()
        await play.pod(charge.unanswered["n1"], "n1")
        play.door.interfere = None
        await play.until_serving(1)
        assert len(await play.pods()) == 2


@pytest.mark.behaviour(176)
async def test_nothing_else_is_told() -> None:
    async with stage("n1", "n2") as play:
        await play.pod("orphan", "n1", labels={"app": "d"})
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        await play.set_image("i:2")
        await play.until_serving(2)
        assert {reason for _, reason, _ in await play.events()} == {"SuccessfulCreate", "SuccessfulDelete"}
        assert all(call.key.name or call.verb == "create" for call in play.door.calls if call.resource is EVENTS)


@pytest.mark.behaviour(69)
async def test_one_clock_serves_patience_and_availability() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(minReadySeconds=30)
        await play.until_status(numberReady=1)
        began = play.clock.now()
        await play.until_status(numberAvailable=1)
        assert 29 <= play.clock.now() - began <= 31.5
        name = (await play.pods_by_node())["n1"][0]
        await play.hands.set_status(name, {"phase": "Failed"})

        async def replaced() -> bool:
            return (await play.pods_by_node()).get("n1", [name]) != [name]

        await play.until(replaced, 1)
        second = (await play.pods_by_node())["n1"][0]
        failed_at = play.clock.now()
        await play.hands.set_status(second, {"phase": "Failed"})

        async def replaced_again() -> bool:
            return (await play.pods_by_node()).get("n1", [second]) != [second]

        await play.until(replaced_again)
        assert 0.5 < play.clock.now() - failed_at < 1.1
