"""The history as it is written: collisions, twins, rollbacks and what is forgotten."""

from __future__ import annotations

import msgspec
import pytest

from eachnode.client.intercepting import Call
from eachnode.decisions.history import first_record
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from eachnode.objects.status import NotFound
from tests.controllers.daemonset.stage import NS, Stage, Tree, stage


async def next_record(play: Stage) -> Tree:
    """The revision that will be written for the present template."""
    document = await play.server.get(DAEMON_SETS, "d", NS)
    return msgspec.json.decode(first_record(document.read(DaemonSet), 1).body, type=dict)


@pytest.mark.behaviour(109)
async def test_a_revision_of_that_name_with_the_same_content_is_used() -> None:
    async with stage("n1") as play:
        await play.daemonset()
        record = await next_record(play)
        record["metadata"]["ownerReferences"] = None
        record["metadata"]["labels"] = {"other": "labels", "controller-revision-hash": "its-own"}
        record["revision"] = 42
        await play.create(CONTROLLER_REVISIONS, record)
        await play.controller()
        await play.until_serving(1)
        (pod,) = await play.pods()
        assert pod["metadata"]["labels"]["controller-revision-hash"] == "its-own"
        (revision,) = await play.revisions()
        assert revision["revision"] == 42
        assert "collisionCount" not in await play.status()


@pytest.mark.behaviour(110)
async def test_a_revision_of_that_name_with_other_content_makes_another_name() -> None:
    async with stage("n1") as play:
        await play.daemonset()
        record = await next_record(play)
        taken = record["metadata"]["name"]
        record["metadata"]["labels"] = {"other": "labels"}
        record["metadata"]["ownerReferences"] = None
        record["data"] = {"spec": {"template": {"$patch": "replace", "metadata": {}, "spec": {"containers": []}}}}
        await play.create(CONTROLLER_REVISIONS, record)
        await play.controller()
        await play.until_serving(1)
        assert (await play.status())["collisionCount"] == 1
        names = {revision["metadata"]["name"] for revision in await play.revisions()}
        assert taken in names
        assert len(names) == 2


@pytest.mark.behaviour(110)
async def test_a_collision_that_was_counted_already_is_not_counted_twice() -> None:
    async with stage("n1") as play:
        await play.daemonset()
        record = await next_record(play)
        record["metadata"]["labels"] = {"other": "labels"}
        record["metadata"]["ownerReferences"] = None
        record["data"] = {"spec": {}}
        await play.create(CONTROLLER_REVISIONS, record)

        async def somebody_else(call: Call) -> None:
            if call.verb == "get" and call.resource is DAEMON_SETS:
                play.door.interfere = None
                await play.patch(DAEMON_SETS, "d", {"status": {"collisionCount": 1}}, subresource="status")

        play.door.interfere = somebody_else
        await play.controller()
        await play.until_serving(1)
        assert (await play.status())["collisionCount"] == 1


@pytest.mark.behaviour(111, 122)
async def test_twins_are_merged_and_no_pod_is_restarted() -> None:
    async with stage("n1", "n2") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(2)
        (first,) = await play.revisions()
        twin = {
            "metadata": {
                "name": "twin",
                "labels": {"app": "d", "controller-revision-hash": "twin"},
                "ownerReferences": first["metadata"]["ownerReferences"],
            },
            "data": first["data"],
            "revision": 9,
        }
        await play.create(CONTROLLER_REVISIONS, twin)
        await play.settle()
        assert len(await play.revisions()) == 2  # Whoever made it may not be done yet.
        await play.node("n3")  # Something that wakes the DaemonSet.
        await play.until_serving(3)
        before = await play.pods_by_node()

        async def merged() -> bool:
            return [revision["metadata"]["name"] for revision in await play.revisions()] == ["twin"]

        await play.until(merged)
        await play.settle()
        assert await play.pods_by_node() == before
        labels = {pod["metadata"]["labels"]["controller-revision-hash"] for pod in await play.pods()}
        assert labels == {"twin"}
        await play.until_serving(3)


@pytest.mark.behaviour(113, 123)
async def test_going_back_renumbers_and_restarts_only_what_is_newer() -> None:
    async with stage("n1", "n2") as play:
        await play.controller()
        await play.daemonset(updateStrategy={"type": "OnDelete"})
        await play.until_serving(2)
        (first,) = await play.revisions()
        stays = (await play.pods_by_node())["n1"]
        await play.set_image("i:2")
        await play.settle(1)
        await play.delete(PODS, (await play.pods_by_node())["n2"][0])
        await play.until_status(updatedNumberScheduled=1, numberAvailable=2)
        back = {"template": {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}}
        await play.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"type": "RollingUpdate"}, **back}})
        await play.until_serving(2)
        revisions = {tree["metadata"]["name"]: tree for tree in await play.revisions()}
        again = revisions[first["metadata"]["name"]]
        assert again["revision"] == 3
        assert again["data"] == first["data"]
        assert again["metadata"]["annotations"] == first["metadata"]["annotations"]
        assert (await play.pods_by_node())["n1"] == stays


@pytest.mark.behaviour(115, 118)
async def test_old_revisions_go_once_no_pod_uses_them() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(revisionHistoryLimit=1)
        await play.until_serving(1)
        for image in ("i:2", "i:3", "i:4"):
            await play.set_image(image)
            await play.until_serving(1)
        await play.settle()
        assert [revision["revision"] for revision in await play.revisions()] == [3, 4]


@pytest.mark.behaviour(117)
async def test_a_revision_that_cannot_be_forgotten_fails_the_pass() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset(revisionHistoryLimit=0)
        await play.until_serving(1)

        async def gone(call: Call) -> None:
            if call.verb == "delete" and call.resource is CONTROLLER_REVISIONS:
                play.door.interfere = None
                raise NotFound("gone already")

        play.door.interfere = gone
        await play.set_image("i:2")
        await play.until_serving(1)
        await play.settle()
        assert controller.queue.retried == 1
        assert len(await play.revisions()) == 1


async def test_data_that_is_written_is_what_the_reference_writes() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(metadata={"annotations": {"note": "a<b"}}, template={"hostNetwork": True})
        await play.until_serving(1)
        (revision,) = await play.revisions()
        raw = (await play.server.get(CONTROLLER_REVISIONS, revision["metadata"]["name"], NS)).raw
        assert (
            b'"data":{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"d"}},"spec":{"containers":['
            b'{"image":"i:1","imagePullPolicy":"IfNotPresent","name":"c","resources":{},'
            b'"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],'
            b'"dnsPolicy":"ClusterFirst","hostNetwork":true,"restartPolicy":"Always",'
            b'"schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":0}}}}'
        ) in bytes(raw)
