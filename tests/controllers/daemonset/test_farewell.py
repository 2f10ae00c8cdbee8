"""What becomes of pods and revisions when a DaemonSet is deleted, with the garbage collector at work."""

from __future__ import annotations

import random
from typing import Any

import pytest

from eachnode.controllers.garbage_collector import GarbageCollector
from eachnode.objects.resources import DAEMON_SETS, PODS
from eachnode.objects.status import NotFound
from tests.controllers.daemonset.stage import NS, Stage, stage


def with_collector(play: Stage) -> None:
    play.start(GarbageCollector(play.server, clock=play.clock, chance=random.Random(9)).run)


async def is_gone(play: Stage) -> bool:
    try:
        await play.server.get(DAEMON_SETS, "d", NS)
    except NotFound:
        return True
    return False


def owners(tree: dict[str, Any]) -> list[Any]:
    found: list[Any] = tree["metadata"].get("ownerReferences", [])
    return found


@pytest.mark.behaviour(182)
async def test_in_the_background_the_daemonset_goes_first_and_the_collector_does_the_rest() -> None:
    async with stage("n1", "n2") as play:
        with_collector(play)
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        before = len(play.door.writes())
        await play.delete(DAEMON_SETS, "d", "Background")
        assert await is_gone(play)

        async def all_gone() -> bool:
            return not await play.pods() and not await play.revisions()

        await play.until(all_gone)
        assert len(play.door.writes()) == before  # None of it was the controller's doing.


@pytest.mark.behaviour(38, 183)
async def test_in_the_foreground_the_daemonset_stays_until_all_that_it_owns_is_gone() -> None:
    async with stage("n1", "n2") as play:
        with_collector(play)
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        before = len(play.door.writes())
        play.hands.ends = lambda pod: False
        keeper = (await play.pods_by_node())["n1"][0]
        await play.patch(PODS, keeper, {"metadata": {"finalizers": ["example.com/hold"]}})
        await play.settle(1)
        await play.delete(DAEMON_SETS, "d", "Foreground")
        tree = await play.get()
        assert tree["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert tree["metadata"]["deletionGracePeriodSeconds"] == 0
        assert tree["metadata"]["generation"] == 2
        await play.settle(20)
        assert not await is_gone(play)
        assert [pod["metadata"]["name"] for pod in await play.pods()] == [keeper]
        await play.patch(PODS, keeper, {"metadata": {"finalizers": None}})
        play.hands.ends = lambda pod: True
        play.hands.again()

        async def over() -> bool:
            return await is_gone(play) and not await play.pods() and not await play.revisions()

        await play.until(over)
        assert len(play.door.writes()) == before


@pytest.mark.behaviour(120, 184)
async def test_orphaned_pods_run_on_and_a_successor_takes_them_over() -> None:
    async with stage("n1", "n2") as play:
        with_collector(play)
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        pods, revisions = await play.pods_by_node(), await play.revisions()
        await play.delete(DAEMON_SETS, "d", "Orphan")

        async def gone() -> bool:
            return await is_gone(play)

        await play.until(gone)
        await play.settle()
        assert await play.pods_by_node() == pods
        assert all(not owners(tree) for tree in [*await play.pods(), *await play.revisions()])
        before = len(play.door.writes())
        uid = (await play.daemonset())["metadata"]["uid"]
        await play.until_serving(2)
        assert await play.pods_by_node() == pods
        assert [owner["uid"] for tree in await play.pods() for owner in owners(tree)] == [uid, uid]
        assert [tree["metadata"]["name"] for tree in await play.revisions()] == [
            tree["metadata"]["name"] for tree in revisions
        ]
        assert {call.verb for call in play.door.writes()[before:]} == {"patch", "update"}


async def test_who_names_an_owner_that_is_not_there_goes_though_its_uid_is_another_object_s() -> None:
    async with stage("n1") as play:
        with_collector(play)
        uid = (await play.daemonset())["metadata"]["uid"]
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": uid}
        await play.pod("right", "n1", ownerReferences=[owner])
        await play.pod("other-name", "n1", ownerReferences=[{**owner, "name": "e"}])
        await play.pod("other-kind", "n1", ownerReferences=[{**owner, "kind": "ControllerRevision"}])
        await play.settle(10)
        assert [pod["metadata"]["name"] for pod in await play.pods()] == ["right"]
