"""What the end-to-end tests of the reference ask of a DaemonSet that runs, in our words, on the whole cluster."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from tests.conformance.witness import (
    condition,
    eventually,
    live,
    names,
    pods_of,
    runs_everywhere,
    runs_on_exactly,
    until_it_runs_everywhere,
)
from tests.worlds import Tree, World, daemon_set, world

IMAGE = "httpd:2.4.38"
IN_ORDER: Tree = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}, "type": "RollingUpdate"}


async def put_label(cluster: World, node: str, color: str | None) -> None:
    """Replace a node with itself, but for one label."""
    tree = await cluster.get(NODES, node)
    assert tree is not None
    tree["metadata"]["labels"].pop("color", None)
    if color is not None:
        tree["metadata"]["labels"]["color"] = color
    await cluster.door.update(NODES, node, msgspec.json.encode(tree))


async def strategic(cluster: World, name: str, change: Tree) -> Tree:
    """A strategic merge patch of a DaemonSet."""
    body = msgspec.json.encode(change)
    return (await cluster.door.patch(DAEMON_SETS, name, body, PatchKind.STRATEGIC, "default")).tree()


@pytest.mark.behaviour(47, 80)
async def test_it_runs_on_every_node_and_a_deleted_pod_is_replaced() -> None:
    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=IMAGE))
        await until_it_runs_everywhere(cluster, made)
        victim = sorted(names(await pods_of(cluster, made)))[0]
        await cluster.delete(PODS, victim)

        async def replaced() -> bool:
            return victim not in names(await pods_of(cluster, made)) and await runs_everywhere(cluster, made)

        await eventually(cluster, replaced)


@pytest.mark.behaviour(3, 4)
@pytest.mark.parametrize("by", ["selector", "affinity"])
async def test_it_follows_the_label_of_a_node(by: str) -> None:
    def wanting(color: str) -> Tree:
        if by == "selector":
            return {"nodeSelector": {"color": color}}
        terms = [{"matchExpressions": [{"key": "color", "operator": "In", "values": [color]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        return {"affinity": {"nodeAffinity": required}}

    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=IMAGE, template=wanting("blue")))

        async def on_nothing() -> bool:
            return await runs_on_exactly(cluster, made, ())

        async def on_one() -> bool:
            status = (await live(cluster)).get("status", {})
            counted = status.get("desiredNumberScheduled") == status.get("numberReady", 0) == 1
            return counted and await runs_on_exactly(cluster, made, ["node-2"])

        await asyncio.sleep(5)
        assert await on_nothing()
        await put_label(cluster, "node-2", "blue")
        await eventually(cluster, on_one)
        await put_label(cluster, "node-2", "green")
        await eventually(cluster, on_nothing)
        strategy = {"updateStrategy": {"type": "RollingUpdate"}}
        if by == "selector":
            await strategic(cluster, "d", {"spec": {"template": {"spec": wanting("green")}, **strategy}})
        else:
            await put_label(cluster, "node-2", "blue")
        await eventually(cluster, on_one)
        await put_label(cluster, "node-2", None)
        await eventually(cluster, on_nothing)


@pytest.mark.behaviour(52, 61)
async def test_a_failed_pod_is_deleted_and_another_one_runs() -> None:
    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=IMAGE))
        await until_it_runs_everywhere(cluster, made)
        victim = (await pods_of(cluster, made))[0]
        name = victim["metadata"]["name"]
        victim["metadata"].pop("resourceVersion")
        victim["status"]["phase"] = "Failed"
        await cluster.door.update(PODS, name, msgspec.json.encode(victim), "default", subresource="status")

        async def replaced() -> bool:
            return await cluster.get(PODS, name) is None and await runs_everywhere(cluster, made)

        await eventually(cluster, replaced)


async def test_daemonsets_are_listed_everywhere_and_deleted_as_a_collection() -> None:
    async with world(nodes=3) as cluster:
        tree = daemon_set(image=IMAGE)
        tree["metadata"]["labels"] = {"daemonset-name": "d"}
        made = await cluster.create(DAEMON_SETS, tree)
        await until_it_runs_everywhere(cluster, made)
        assert names(await cluster.all(DAEMON_SETS, labels="daemonset-name=d")) == {"d"}
        await cluster.door.delete_collection(
            DAEMON_SETS, "default", labels="daemonset-name=d", options=DeleteOptions(propagation_policy="Background")
        )
        assert not await cluster.all(DAEMON_SETS, labels="daemonset-name=d")

        async def gone() -> bool:
            return not await cluster.pods()

        await eventually(cluster, gone)


@pytest.mark.behaviour(157)
async def test_conditions_that_others_write_into_the_status_are_kept() -> None:
    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=IMAGE))
        await until_it_runs_everywhere(cluster, made)
        tree = await live(cluster)
        update = {"type": "StatusUpdate", "status": "True", "reason": "E2E", "message": "Set from an e2e test"}
        tree["status"]["conditions"] = [*tree["status"].get("conditions", ()), update]
        await cluster.door.update(DAEMON_SETS, "d", msgspec.json.encode(tree), "default", subresource="status")
        assert condition(await live(cluster), "StatusUpdate")["reason"] == "E2E"
        await cluster.delete(PODS, (await pods_of(cluster, made))[0]["metadata"]["name"])
        await cluster.node("late")
        await until_it_runs_everywhere(cluster, made)  # The controller has written the status meanwhile.
        assert condition(await live(cluster), "StatusUpdate")["reason"] == "E2E"
        patched = {"status": {"conditions": [{"type": "StatusPatched", "status": "True"}]}}
        await cluster.patch(DAEMON_SETS, "d", patched, subresource="status")
        assert condition(await live(cluster), "StatusPatched")["status"] == "True"
        assert condition(await live(cluster), "StatusUpdate") == {}


async def test_it_is_there_before_and_after_every_part_of_the_cluster_was_begun_anew() -> None:
    everything = {"tolerations": [{"operator": "Exists"}]}
    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image="agnhost:2", template=everything))
        await until_it_runs_everywhere(cluster, made)
        before = names(await pods_of(cluster, made))
        for component in cluster.cluster.running:
            await cluster.cluster.end(component)
        for component in cluster.cluster.options.components:
            cluster.cluster.begin(component)
        await asyncio.sleep(60)
        await until_it_runs_everywhere(cluster, made)
        assert names(await pods_of(cluster, made)) == before
