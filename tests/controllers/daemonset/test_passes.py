"""One pass after the other: what is done in which order, what is skipped, and how failures are handled."""

from __future__ import annotations

import msgspec
import pytest

from eachnode.client.intercepting import Call
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from eachnode.objects.status import Conflict, Forbidden, InternalError, Unreachable
from tests.controllers.daemonset.stage import NS, Stage, stage


def verbs(play: Stage) -> list[str]:
    return [
        f"{call.verb} {call.resource.plural}{'/' + call.subresource if call.subresource else ''}"
        for call in play.door.writes()
    ]


@pytest.mark.behaviour(34, 39, 165, 169)
async def test_a_daemonset_gets_a_revision_then_pods_then_a_status() -> None:
    async with stage("n1", "n2") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        order = verbs(play)
        assert order[:4] == ["create controllerrevisions", "create pods", "create pods", "update daemonsets/status"]
        assert all(call.key.namespace == NS for call in play.door.writes())
        names = sorted(name for (name,) in (await play.pods_by_node()).values())
        assert sorted(await play.events()) == [("Normal", "SuccessfulCreate", f"Created pod: {name}") for name in names]


@pytest.mark.behaviour(44)
async def test_without_nodes_there_is_a_revision_and_a_status_of_zeros() -> None:
    async with stage() as play:
        await play.controller()
        await play.daemonset()
        await play.until_status(observedGeneration=1)
        assert len(await play.revisions()) == 1
        assert await play.status() == {
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
            "observedGeneration": 1,
        }


@pytest.mark.behaviour(36, 83)
async def test_a_daemonset_that_is_gone_is_forgotten_and_its_namesake_starts_clean() -> None:
    async with stage("n1", hands=False) as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_status(observedGeneration=1)
        play.hands.ends = lambda pod: False
        (charge,) = controller.charges.values()
        charge.expectations.creates.add(charge.key)  # A pod that was never seen.
        await play.delete(DAEMON_SETS, "d")
        await play.settle(1)
        assert not controller.charges
        await play.daemonset()
        await play.until_status(observedGeneration=1)
        (charge,) = controller.charges.values()
        assert charge.expectations.satisfied(play.clock.now())


@pytest.mark.behaviour(37, 175)
async def test_a_daemonset_that_selects_everything_is_told_so_and_left_alone() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        text = b'{"metadata":{"name":"all","namespace":"default","uid":"u"},"spec":{"selector":{}}}'
        # The API refuses such a selector, but an old object may have it.
        controller._world.daemonset_changed(None, msgspec.json.decode(text, type=DaemonSet))
        await play.settle(1)
        assert play.door.writes() == []
        message = "This daemon set is selecting all pods. A non-empty selector is required."
        assert await play.events() == [("Warning", "SelectingAll", message)]


@pytest.mark.behaviour(38)
async def test_a_daemonset_that_is_going_is_left_alone() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(metadata={"finalizers": ["example.com/hold"]})
        await play.until_serving(1)
        await play.delete(DAEMON_SETS, "d")
        before = len(play.door.writes())
        await play.pod("orphan", labels={"app": "d"})
        await play.delete(PODS, (await play.pods_by_node())["n1"][0])
        await play.nodes("n2")
        await play.settle()
        assert len(play.door.writes()) == before
        assert list(await play.pods_by_node()) == [""]


@pytest.mark.behaviour(40)
async def test_nothing_is_done_while_the_revision_cannot_be_written() -> None:
    async with stage("n1") as play:

        async def refuse(call: Call) -> None:
            if call.resource is CONTROLLER_REVISIONS:
                raise Forbidden("no revisions today")

        play.door.interfere = refuse
        await play.controller()
        await play.daemonset()
        await play.settle()
        assert {f"{call.verb} {call.resource.plural}" for call in play.door.writes()} == {"create controllerrevisions"}
        assert "observedGeneration" not in await play.status()
        play.door.interfere = None
        await play.until_serving(1)


@pytest.mark.behaviour(41, 43)
async def test_when_pods_cannot_be_created_the_status_is_written_all_the_same_and_the_pass_repeated() -> None:
    async with stage("n1") as play:

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                raise Forbidden("exceeded quota")

        play.door.interfere = refuse
        await play.controller()
        await play.daemonset(revisionHistoryLimit=0)
        await play.until_status(observedGeneration=1, desiredNumberScheduled=1)
        await play.settle(60)
        attempts = len(play.door.writes(PODS, "create"))
        assert 5 < attempts < 20  # The pauses double.
        play.door.interfere = None
        await play.until_serving(1)


@pytest.mark.behaviour(41)
async def test_a_failed_pod_write_puts_off_the_cleanup_of_revisions() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"})
        await play.until_serving(1)
        await play.set_image("i:2")
        await play.until_status(observedGeneration=2)
        assert len(await play.revisions()) == 2  # The pod still uses the first.

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                raise Forbidden("exceeded quota")

        play.door.interfere = refuse
        await play.delete(PODS, (await play.pods_by_node())["n1"][0])
        await play.settle(2)
        assert len(await play.revisions()) == 2
        play.door.interfere = None
        await play.until_serving(1)
        await play.settle(2)
        assert len(await play.revisions()) == 1


@pytest.mark.behaviour(42)
async def test_a_pass_reports_what_failed_first(caplog: pytest.LogCaptureFixture) -> None:
    async with stage("n1") as play:

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                raise Forbidden("exceeded quota")
            if call.subresource == "status":
                raise InternalError("no status today")

        play.door.interfere = refuse
        controller = await play.controller()
        await play.daemonset()
        await play.settle(0.2)
        repeated = [record.getMessage() for record in caplog.records if "again" in record.getMessage()]
        assert repeated
        assert all("exceeded quota" in line for line in repeated)
        assert any("could not write the status either" in record.getMessage() for record in caplog.records)
        assert controller.queue.failures(next(iter(controller.charges))) > 0
        play.door.interfere = None
        await play.until_serving(1)
        assert controller.queue.failures(next(iter(controller.charges))) == 0


@pytest.mark.behaviour(78, 164)
async def test_while_writes_are_unseen_only_the_counters_are_kept_up_to_date() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (charge,) = controller.charges.values()
        charge.expectations.begin(play.clock.now())
        charge.expectations.creates.add(charge.key)
        await play.set_image("i:2")
        await play.nodes("n2")
        await play.until_status(desiredNumberScheduled=2, seconds=5)
        assert (await play.status())["observedGeneration"] == 1
        assert len(play.door.writes(PODS)) == 1
        # Five minutes later it is no longer waited for.
        await play.until_serving(2)
        assert play.clock.now() - charge.expectations.since < 60


@pytest.mark.behaviour(163)
async def test_a_status_write_that_fails_is_tried_once_more_upon_the_live_object() -> None:
    async with stage("n1") as play:
        conflicts = 1

        async def conflict(call: Call) -> None:
            nonlocal conflicts
            if call.subresource == "status" and conflicts:
                conflicts -= 1
                condition = {"type": "Mine", "status": "True"}
                await play.patch(DAEMON_SETS, "d", {"status": {"conditions": [condition]}}, subresource="status")
                raise Conflict("changed meanwhile")

        play.door.interfere = conflict
        await play.controller()
        await play.daemonset()
        await play.until_status(observedGeneration=1, seconds=0.02)
        assert [call.verb for call in play.door.calls if call.resource is DAEMON_SETS] == ["update", "get", "update"]
        assert [each["type"] for each in (await play.status())["conditions"]] == ["Mine"]


@pytest.mark.behaviour(163)
async def test_when_the_live_object_cannot_be_had_the_pass_is_repeated() -> None:
    async with stage("n1") as play:

        async def refuse(call: Call) -> None:
            if call.resource is DAEMON_SETS:
                raise Unreachable("no answer")

        play.door.interfere = refuse
        await play.controller()
        await play.daemonset()
        await play.settle(1)
        attempts = [call.verb for call in play.door.calls if call.resource is DAEMON_SETS]
        assert attempts[:4] == ["update", "get", "update", "get"]
        play.door.interfere = None
        await play.until_serving(1)


@pytest.mark.behaviour(164)
async def test_the_generation_that_was_acted_upon_is_reported_not_a_newer_one() -> None:
    async with stage("n1") as play:
        changed = False

        async def change(call: Call) -> None:
            nonlocal changed
            if call.verb == "create" and call.resource is PODS and not changed:
                changed = True
                await play.set_image("i:2")
                await play.settle(0.5)  # The controller knows of generation 2 before it has finished with 1.

        observed: list[int] = []

        async def note(call: Call) -> None:
            if call.subresource == "status":
                observed.append((await play.status()).get("observedGeneration", 0))

        play.door.interfere = change
        play.door.afterwards = note
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        assert observed[:2] == [1, 2]


@pytest.mark.behaviour(45)
async def test_pods_are_adopted_even_while_only_the_status_is_kept() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (charge,) = controller.charges.values()
        charge.expectations.begin(play.clock.now())
        charge.expectations.creates.add(charge.key)
        await play.pod("orphan", "n1", labels={"app": "d"})
        await play.settle(1)
        (orphan,) = [pod for pod in await play.pods() if pod["metadata"]["name"] == "orphan"]
        assert orphan["metadata"]["ownerReferences"][0]["name"] == "d"


@pytest.mark.behaviour(189)
async def test_everything_present_is_looked_at_when_the_controller_starts() -> None:
    async with stage("n1", "n2") as play:
        await play.daemonset("a")
        await play.daemonset("b")
        controller = await play.controller()
        await play.until_serving(2, "a")
        await play.until_serving(2, "b")
        await play.settle(1)
        controller.wind_down()
        await play.settle(1)
        assert play.running.done()
        await play.nodes("n3")
        await play.settle(5)
        assert len(await play.pods()) == 4


@pytest.mark.behaviour(196)
async def test_patience_and_expectations_do_not_survive_a_restart() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (charge,) = controller.charges.values()
        charge.expectations.begin(play.clock.now())
        charge.expectations.creates.add(charge.key)
        charge.versions.wrote("pods", "999999")
        await play.nodes("n2")
        await play.settle(10)
        assert len(await play.pods()) == 1
        await play.stop_controller()
        await play.controller()
        await play.until_serving(2)


async def test_a_daemonset_that_cannot_be_read_is_told_so_and_blocks_no_other() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset("good")
        await play.daemonset("bad")
        await play.until_serving(1, "bad")
        bad = next(charge for key, charge in controller.charges.items() if key.name == "bad")
        text = b'{"metadata":{"name":"bad","namespace":"default","uid":"%s"},"spec":{"selector":5}}' % bad.uid.encode()
        controller._world.daemonset_changed(bad.daemonset, msgspec.json.decode(text, type=DaemonSet))
        await play.nodes("n2")
        await play.until_serving(2, "good")
        await play.settle(1)
        told = [message for _, reason, message in await play.events() if reason == "Malformed"]
        assert len(told) == 1
        assert "it cannot be read: Expected `object" in told[0]
        assert controller.counters.malformed == 1
        assert len([pod for pod in await play.pods() if pod["metadata"]["labels"]["app"] == "bad"]) == 1
        # Once it can be read again, it is processed again.
        await play.patch(DAEMON_SETS, "bad", {"metadata": {"annotations": {"a": "b"}}})
        await play.until_serving(2, "bad")


async def test_the_status_is_written_seldom_while_many_pods_start() -> None:
    names = [f"n{number}" for number in range(40)]
    async with stage(*names) as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(40)
        assert controller.counters.status_writes <= 3
        play.hands.delay = 0.3
        before = controller.counters.status_writes
        await play.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 4}}}})
        await play.set_image("i:2")
        await play.until_serving(40)
        assert controller.counters.status_writes - before < 60


async def test_the_final_status_follows_within_a_moment() -> None:
    async with stage("n1", "n2", "n3") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(3)
        await play.hands.make_ready((await play.pods_by_node())["n2"][0], ready=False)
        await play.until_status(numberAvailable=2, numberUnavailable=1, seconds=0.2)
        await play.hands.make_ready((await play.pods_by_node())["n2"][0])
        await play.until_status(numberAvailable=3, seconds=0.05)


async def test_heartbeats_wake_nobody() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        await play.settle()
        added = controller.queue.added
        for _ in range(5):
            moment = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:09Z"}
            await play.patch(NODES, "n1", {"status": {"conditions": [moment]}}, subresource="status")
            await play.patch(NODES, "n1", {"metadata": {"annotations": {"beat": str(play.clock.now())}}})
        await play.settle()
        assert controller.queue.added == added
