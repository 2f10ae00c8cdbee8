"""Adoption and release of pods and revisions."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.client.faulty import Faults, Faulty
from eachnode.client.intercepting import Call
from eachnode.controllers.daemonset import DaemonSetController
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from eachnode.objects.status import Forbidden, Invalid, NotFound
from tests.controllers.daemonset.stage import NS, Stage, stage

MINE = {"app": "d"}
HASH = "controller-revision-hash"


async def owners(play: Stage, name: str) -> list[str]:
    tree = (await play.server.get(PODS, name, NS)).tree()
    return [owner["uid"] for owner in tree["metadata"].get("ownerReferences", [])]


def owned_by(uid: str, name: str = "d", kind: str = "DaemonSet") -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


@pytest.mark.behaviour(94, 97)
async def test_a_selected_orphan_is_adopted_and_counts_like_any_other() -> None:
    async with stage("n1") as play:
        await play.pod("early", "n1", labels=MINE)
        sent: list[bytes] = []
        patch = play.server.patch

        async def remember(resource: Any, name: str, body: bytes, kind: PatchKind, *rest: Any, **more: Any) -> Any:
            sent.append(body)
            assert kind is PatchKind.STRATEGIC
            return await patch(resource, name, body, kind, *rest, **more)

        await play.settle(1)
        play.server.patch = remember  # type: ignore[assignment, method-assign] # to see the body
        await play.controller()
        tree = await play.daemonset(updateStrategy={"type": "OnDelete"})
        await play.until_status(currentNumberScheduled=1, numberAvailable=1)
        uid = tree["metadata"]["uid"]
        assert await play.pods_by_node() == {"n1": ["early"]}
        assert await owners(play, "early") == [uid]
        pod_uid = (await play.server.get(PODS, "early", NS)).tree()["metadata"]["uid"]
        reference = {**owned_by(uid)[0], "blockOwnerDeletion": True}
        assert msgspec.json.decode(sent[0]) == {"metadata": {"ownerReferences": [reference], "uid": pod_uid}}


@pytest.mark.behaviour(95)
async def test_who_is_adopted_and_who_is_not() -> None:
    async with stage("n1", hands=False) as play:
        await play.pod("failed", "n1", labels=MINE)
        await play.hands.set_status("failed", {"phase": "Failed"})
        await play.pod("other", "n1", labels={"app": "other"})
        await play.pod("going", "n1", labels=MINE, finalizers=["example.com/hold"])
        await play.delete(PODS, "going")
        adopted: list[str] = []

        async def note(call: Call) -> None:
            if call.verb == "patch":
                adopted.append(call.key.name)

        play.door.interfere = note
        await play.controller()
        await play.daemonset()
        await play.settle()
        assert adopted == ["failed"]


@pytest.mark.behaviour(94, 98)
async def test_a_pod_that_is_no_longer_selected_is_released_and_replaced() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        name = (await play.pods_by_node())["n1"][0]
        await play.patch(PODS, name, {"metadata": {"labels": {"app": "debug"}}})

        async def replaced() -> bool:
            return len((await play.pods_by_node())["n1"]) == 2

        await play.until(replaced)
        await play.until_serving(1)
        assert await owners(play, name) == []
        # Given its label back, it is adopted again; the older of the two stays.
        await play.patch(PODS, name, {"metadata": {"labels": MINE}})

        async def alone() -> bool:
            return (await play.pods_by_node())["n1"] == [name]

        await play.until(alone)


@pytest.mark.behaviour(98, 99)
async def test_what_is_gone_or_already_released_is_no_failure() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        for refusal in (NotFound("gone"), Invalid("uid: field is immutable")):
            name = (await play.pods_by_node())["n1"][0]

            async def refuse(call: Call, refusal: Exception = refusal) -> None:
                if call.verb == "patch" and call.resource is PODS:
                    play.door.interfere = None
                    raise refusal

            play.door.interfere = refuse
            await play.patch(PODS, name, {"metadata": {"labels": {"app": "debug"}}})
            await play.settle()
            assert play.door.interfere is None
            await play.delete(PODS, name)
            await play.until_serving(1)
        assert controller.queue.retried == 0


@pytest.mark.behaviour(99)
async def test_each_claim_is_tried_and_all_that_failed_is_said() -> None:
    async with stage("n1", "n2", hands=False) as play:
        tried: list[str] = []

        async def refuse(call: Call) -> None:
            if call.verb == "patch" and call.resource is PODS:
                tried.append(call.key.name)
                raise Forbidden(f"not {call.key.name}")

        play.door.interfere = refuse
        await play.pod("a", "n1", labels=MINE)
        await play.pod("b", "n2", labels=MINE)
        controller = await play.controller()
        await play.daemonset()
        await play.settle(0.002)
        assert tried[:2] == ["a", "b"]
        # A claim that fails stops the pass: nothing else was written.
        assert {call.verb for call in play.door.writes()} == {"patch"}
        assert controller.queue.retried >= 1
        play.door.interfere = None
        await play.until_status(currentNumberScheduled=2)


@pytest.mark.behaviour(96)
async def test_the_live_daemonset_is_asked_once_before_anything_is_adopted() -> None:
    async with stage("n1", "n2", hands=False) as play:
        await play.pod("a", "n1", labels=MINE)
        await play.pod("b", "n2", labels=MINE)
        await play.controller()
        await play.daemonset()
        await play.until_status(currentNumberScheduled=2)
        verbs = [(call.verb, call.resource.plural) for call in play.door.calls]
        first_patch = verbs.index(("patch", "pods"))
        assert verbs[:first_patch].count(("get", "daemonsets")) == 1
        assert verbs.count(("patch", "pods")) == 2


@pytest.mark.behaviour(96)
async def test_nothing_is_adopted_by_a_daemonset_that_is_going_or_gone() -> None:
    for already_gone in (False, True):
        async with stage("n1", hands=False) as play:
            await play.pod("a", "n1", labels=MINE)

            async def behind_its_back(call: Call, play: Stage = play, gone: bool = already_gone) -> None:
                if call.verb == "get" and call.resource is DAEMON_SETS:
                    play.door.interfere = None
                    await play.delete(DAEMON_SETS, "d", "Background" if gone else "Foreground")

            play.door.interfere = behind_its_back
            controller = await play.controller()
            await play.daemonset()
            await play.settle()
            assert play.door.writes() == []
            assert await owners(play, "a") == []
            assert controller.queue.retried == 1


@pytest.mark.behaviour(96)
async def test_a_namesake_adopts_nothing_in_its_predecessor_s_name() -> None:
    async with stage("n1", hands=False) as play:
        await play.pod("a", "n1", labels=MINE)

        async def replace(call: Call) -> None:
            if call.verb == "get" and call.resource is DAEMON_SETS:
                play.door.interfere = None
                await play.delete(DAEMON_SETS, "d")
                await play.daemonset(updateStrategy={"type": "OnDelete"})

        play.door.interfere = replace
        await play.controller()
        first = (await play.daemonset())["metadata"]["uid"]
        await play.until_status(currentNumberScheduled=1)
        assert play.door.interfere is None
        uid = (await play.get())["metadata"]["uid"]
        assert uid != first
        assert await owners(play, "a") == [uid]


@pytest.mark.behaviour(58)
async def test_only_its_own_pods_and_those_of_nobody_are_looked_at() -> None:
    async with stage("n1", hands=False) as play:
        await play.controller()
        uid = (await play.daemonset())["metadata"]["uid"]
        await play.until_status(currentNumberScheduled=1)
        others = {
            "other-name": owned_by(uid, name="e"),
            "other-kind": owned_by(uid, kind="ReplicaSet"),
            "other-uid": owned_by("00000000-0000-4000-8000-000000000000"),
        }
        for name, references in others.items():
            await play.pod(name, "n1", labels=MINE, ownerReferences=references)
        before = len(play.door.writes())
        await play.settle()
        assert len(play.door.writes()) == before
        assert (await play.status())["currentNumberScheduled"] == 1


@pytest.mark.behaviour(59)
async def test_pods_of_a_deleted_namesake_are_no_business_of_its_successor() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (first,) = (await play.pods_by_node())["n1"]
        await play.delete(DAEMON_SETS, "d", "Background")  # No garbage collector runs here.
        await play.daemonset()
        await play.until_serving(1)
        assert len((await play.pods_by_node())["n1"]) == 2
        assert first in (await play.pods_by_node())["n1"]


@pytest.mark.behaviour(120, 192)
async def test_nothing_is_made_beside_what_was_just_adopted() -> None:
    """Pods and revisions that were adopted come back through the caches long after they were."""
    async with stage("n1") as play:
        first = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        before = await play.pods_by_node()
        (revision,) = await play.revisions()
        await play.stop_controller()
        await play.delete(DAEMON_SETS, "d", "Background")
        await play.patch(PODS, before["n1"][0], {"metadata": {"labels": {HASH: "foreign"}, "ownerReferences": None}})
        await play.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"])
        kept = {"name": "d-foreign", "labels": {**MINE, HASH: "foreign"}}
        await play.create(CONTROLLER_REVISIONS, {**revision, "metadata": kept})
        late = Faulty(play.door, Faults(watch_late=1.0, latest=2.0), chance=random.Random(1))
        second = DaemonSetController(late, clock=play.clock, chance=random.Random(1))
        play.start(second.run)
        await play.daemonset()
        await play.until_serving(1)
        assert await play.pods_by_node() == before
        assert [tree["metadata"]["name"] for tree in await play.revisions()] == ["d-foreign"]
        assert second.counters.pods_created == 0
        assert second.counters.revision_writes == 0
        assert second.counters.stale_skips > first.counters.stale_skips


@pytest.mark.behaviour(111, 192)
async def test_a_pod_that_was_just_moved_to_the_current_revision_is_not_replaced() -> None:
    async with stage("n1") as play:
        await play.controller()
        made = await play.daemonset()
        await play.until_serving(1)
        before = await play.pods_by_node()
        (revision,) = await play.revisions()
        await play.stop_controller()
        # Nothing but the revision makes this pod a current one.
        await play.patch(PODS, before["n1"][0], {"metadata": {"labels": {"pod-template-generation": None}}})
        kept = {
            "name": "d-twin",
            "labels": {**MINE, HASH: "twin"},
            "ownerReferences": owned_by(made["metadata"]["uid"]),
        }
        await play.create(CONTROLLER_REVISIONS, {**revision, "metadata": kept, "revision": 9})
        late = Faulty(play.door, Faults(watch_late=1.0, latest=2.0), chance=random.Random(1))
        play.start(DaemonSetController(late, clock=play.clock, chance=random.Random(1)).run)
        await play.settle(30)
        assert await play.pods_by_node() == before
        assert [tree["metadata"]["name"] for tree in await play.revisions()] == ["d-twin"]


@pytest.mark.behaviour(45, 164)
async def test_a_template_that_changes_during_an_adoption_is_not_reported_before_it_is_recorded() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        reported: list[tuple[int, int]] = []

        async def change_amid(call: Call) -> None:
            if call.verb == "patch" and call.resource is PODS:
                play.door.interfere = None
                await play.set_image("i:2")
                await play.settle(0.1)

        async def note(call: Call) -> None:
            if call.resource is DAEMON_SETS and call.writes:
                reported.append(((await play.status())["observedGeneration"], len(await play.revisions())))

        play.door.interfere, play.door.afterwards = change_amid, note
        await play.pod("orphan", "n1", labels=MINE)
        await play.settle()
        assert play.door.interfere is None
        await play.until_serving(1)
        assert {revisions for generation, revisions in reported if generation == 2} == {2}


@pytest.mark.behaviour(100, 120)
async def test_revisions_are_adopted_and_released_by_the_same_rules() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (pod,) = (await play.pods_by_node())["n1"]
        (revision,) = await play.revisions()
        name = revision["metadata"]["name"]
        # As a deletion that orphans leaves them.
        await play.delete(DAEMON_SETS, "d", "Background")
        for resource, orphan in ((CONTROLLER_REVISIONS, name), (PODS, pod)):
            await play.patch(resource, orphan, {"metadata": {"ownerReferences": None}})
        successor = (await play.daemonset())["metadata"]["uid"]
        await play.until_serving(1)
        assert await play.pods_by_node() == {"n1": [pod]}
        (revision,) = await play.revisions()
        assert revision["metadata"]["name"] == name
        assert [owner["uid"] for owner in revision["metadata"]["ownerReferences"]] == [successor]
        # A revision whose labels no longer match is released, and the template recorded anew.
        await play.patch(CONTROLLER_REVISIONS, name, {"metadata": {"labels": {"app": "other"}}})
        await play.settle()
        released = (await play.server.get(CONTROLLER_REVISIONS, name, NS)).tree()
        assert "ownerReferences" not in released["metadata"]
