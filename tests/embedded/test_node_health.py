"""What becomes of nodes that fail, and of the pods on them, in a whole cluster on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from eachnode.controllers.kubelet import STOPPED
from eachnode.objects.resources import EVENTS, NODES, PODS
from eachnode.simulation.time_of_day import SettableClock
from tests.worlds import World, pod, world

ALONE = ("controller", "scheduler")
PATIENT = [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}]


async def no_execute(cluster: World) -> list[str]:
    return [
        node["metadata"]["name"]
        for node in await cluster.all(NODES)
        if any(taint["effect"] == "NoExecute" for taint in node["spec"].get("taints", []))
    ]


def told(cluster: World, reason: str, message: str) -> Callable[[], Awaitable[bool]]:
    async def is_told() -> bool:
        events = await cluster.all(EVENTS, fields=f"reason={reason}")
        return message in [each["message"] for each in events]

    return is_told


async def stop(cluster: World, *names: str) -> None:
    for name in names:
        await cluster.patch(NODES, name, {"metadata": {"annotations": {STOPPED: "true"}}})


async def taint(cluster: World, *taints: str) -> None:
    """Taints of node-1 without a date, as `kubectl taint` puts them on."""
    trees = [{"key": key, "effect": "NoExecute"} for key in taints]
    await cluster.patch(NODES, "node-1", {"spec": {"taints": trees or None}})


async def running(cluster: World, name: str) -> None:
    async def runs() -> bool:
        tree = await cluster.get(PODS, name)
        return tree is not None and tree["status"].get("phase") == "Running"

    await cluster.until(runs)


async def test_a_clock_that_is_set_makes_no_node_silent_and_hides_no_silence() -> None:
    clock = SettableClock(random.Random(1))
    async with world(nodes=3, without=ALONE, clock=clock) as cluster:
        for jump in (3600.0, -3600.0):
            clock.jump(jump)
            await asyncio.sleep(120)
            assert await no_execute(cluster) == []
            assert await cluster.all(EVENTS, fields="reason=NodeNotReady") == []
        await stop(cluster, "node-1")
        clock.jump(-3600.0)

        async def expelled() -> bool:
            return await no_execute(cluster) == ["node-1"]

        await cluster.until(expelled, within=70)


async def test_patience_with_a_taint_put_on_by_hand_runs_out_and_the_pod_is_told_why() -> None:
    async with world(nodes=2, without=ALONE) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-1", tolerations=PATIENT, metadata={"finalizers": ["a/b"]}))
        await running(cluster, "p")
        started = cluster.cluster.clock.now()
        await taint(cluster, "k")

        async def leaving() -> bool:
            tree = await cluster.get(PODS, "p")
            return tree is not None and "deletionTimestamp" in tree["metadata"]

        await cluster.until(leaving, within=30)
        assert 20 <= cluster.cluster.clock.now() - started < 21
        conditions = (await cluster.get(PODS, "p") or {})["status"]["conditions"]
        (target,) = (each for each in conditions if each["type"] == "DisruptionTarget")
        assert (target["reason"], target["observedGeneration"]) == ("DeletionByTaintManager", 1)
        await cluster.until(told(cluster, "TaintManagerEviction", "Marking for deletion Pod default/p"))


async def test_a_pod_whose_node_is_untainted_in_time_stays_and_that_is_told() -> None:
    async with world(nodes=2, without=ALONE) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-1", tolerations=PATIENT))
        await running(cluster, "p")
        await taint(cluster, "k")
        assert await no_execute(cluster) == ["node-1"]

        async def later() -> bool:
            return cluster.cluster.clock.now() > until

        until = cluster.cluster.clock.now() + 10
        await cluster.until(later)
        await taint(cluster)
        await cluster.until(told(cluster, "TaintManagerEviction", "Cancelling deletion of Pod default/p"))
        until = cluster.cluster.clock.now() + 30
        await cluster.until(later)
        assert "deletionTimestamp" not in (await cluster.get(PODS, "p") or {})["metadata"]


async def test_a_pod_that_comes_to_a_tainted_node_has_all_of_its_patience() -> None:
    async with world(nodes=2, without=ALONE) as cluster:
        dated = {"key": "k", "effect": "NoExecute", "timeAdded": "2020-01-01T00:00:00Z"}
        await cluster.patch(NODES, "node-1", {"spec": {"taints": [dated]}})
        await cluster.create(PODS, pod("p", nodeName="node-1", tolerations=PATIENT))
        await running(cluster, "p")
        started = cluster.cluster.clock.now()

        async def gone() -> bool:
            return await cluster.get(PODS, "p") is None

        await cluster.until(gone, within=60)
        assert cluster.cluster.clock.now() - started >= 19


async def test_when_everything_is_dark_nobody_is_expelled_until_something_is_seen_again() -> None:
    async with world(nodes=6, without=ALONE) as cluster:
        await stop(cluster, "node-1", "node-4")

        async def some_expel() -> bool:
            return await no_execute(cluster) == ["node-1", "node-4"]

        await cluster.until(some_expel, within=120)
        await stop(cluster, "node-2", "node-3", "node-5", "node-6")

        async def nobody_expels() -> bool:
            return await no_execute(cluster) == []

        await cluster.until(nobody_expels, within=120)
        await cluster.patch(NODES, "node-2", {"metadata": {"annotations": {STOPPED: None}}})

        async def some_expel_again() -> bool:
            return {"node-1", "node-4"} <= set(await no_execute(cluster))

        await cluster.until(some_expel_again, within=120)
        assert "node-2" not in await no_execute(cluster)


async def test_nodes_that_come_go_and_fall_silent_are_told_of() -> None:
    async with world(nodes=3, without=ALONE) as cluster:
        await cluster.until(told(cluster, "RegisteredNode", "Node node-1 event: Registered Node node-1 in Controller"))
        await stop(cluster, "node-1")
        await cluster.until(told(cluster, "NodeNotReady", "Node node-1 status is now: NodeNotReady"), within=120)
        await cluster.delete(NODES, "node-2")
        await cluster.until(told(cluster, "RemovingNode", "Node node-2 event: Removing Node node-2 from Controller"))


async def test_a_node_that_never_said_anything_is_not_said_to_have_changed() -> None:
    async with world(nodes=1, without=ALONE) as cluster:
        await cluster.create(NODES, {"metadata": {"name": "mute", "labels": {"kubernetes.io/os": "linux"}}})

        async def unknown() -> bool:
            conditions = (await cluster.get(NODES, "mute") or {})["status"].get("conditions", [])
            return {each["reason"] for each in conditions} == {"NodeStatusNeverUpdated"}

        await cluster.until(unknown, within=120)
        assert not await told(cluster, "NodeNotReady", "Node mute status is now: NodeNotReady")()
        labels = (await cluster.get(NODES, "mute") or {})["metadata"]["labels"]
        assert labels["beta.kubernetes.io/os"] == "linux"


async def test_a_pod_that_cannot_leave_a_dead_node_goes_once_the_node_is_declared_out_of_service() -> None:
    async with world(nodes=3, without=ALONE) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-1"))
        await running(cluster, "p")
        await stop(cluster, "node-1")

        async def unreachable() -> bool:
            return await no_execute(cluster) == ["node-1"]

        await cluster.until(unreachable, within=120)
        await cluster.delete(PODS, "p")
        assert await cluster.get(PODS, "p") is not None
        await taint(cluster, "node.kubernetes.io/out-of-service")

        async def gone() -> bool:
            return await cluster.get(PODS, "p") is None

        await cluster.until(gone, within=5)
