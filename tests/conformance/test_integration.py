"""What the reference's integration tests ask of controller, scheduler and server: here nobody plays kubelet but we."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.decisions.history import first_record
from eachnode.objects.clock import timestamp
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS, RESOURCE_QUOTAS
from tests.conformance.witness import HASH, condition, history, is_going, live, names
from tests.worlds import Tree, World, daemon_set, world

NOBODY = ("kubelet", "pod-garbage-collector", "garbage-collector")  # Left out, as in those tests.
STRATEGIES = pytest.mark.parametrize("strategy", ["OnDelete", "RollingUpdate"])
FINALIZER = "test.k8s.io/finalizer"


@asynccontextmanager
async def bare(nodes: int = 0) -> AsyncIterator[World]:
    """Controller, scheduler and server, and nodes that nobody runs."""
    async with world(without=NOBODY) as cluster:
        await add_nodes(cluster, nodes)
        yield cluster


async def add_nodes(cluster: World, count: int, start: int = 0, **more: Any) -> None:
    """Nodes named by number that say that they are ready."""
    for number in range(start, start + count):
        await add_node(cluster, f"n{number}", **more)


async def add_node(
    cluster: World, name: str, *, ready: str = "True", allocatable: Tree | None = None, **tree: Any
) -> None:
    """A node; it is free of the taint that new nodes have when this returns, if it is ready."""
    size = allocatable or {"cpu": "4", "memory": "8Gi", "pods": "100"}
    moment = timestamp(cluster.cluster.clock.now())
    told = {"type": "Ready", "status": ready, "lastHeartbeatTime": moment, "lastTransitionTime": moment}
    metadata = {"name": name, **tree.pop("metadata", {})}
    status = {"capacity": size, "allocatable": size, "conditions": [told]}
    await cluster.create(NODES, {"metadata": metadata, "status": status, **tree})

    async def settled() -> bool:
        taints = ((await cluster.get(NODES, name)) or {"spec": {}})["spec"].get("taints") or []
        return ready != "True" or not any(each["key"].endswith("/not-ready") for each in taints)

    await cluster.until(settled)


async def alive(cluster: World) -> list[Tree]:
    """The pods whose deletion has not begun."""
    return [pod for pod in await cluster.pods() if not is_going(pod)]


async def until_alive(cluster: World, count: int) -> list[Tree]:
    """The pods whose deletion has not begun, once there are so many of them, and a moment later still."""

    async def counted() -> bool:
        return len(await alive(cluster)) == count

    await cluster.until(counted)
    await asyncio.sleep(0.5)
    pods = await alive(cluster)
    assert len(pods) == count, Counter(pod["spec"].get("nodeName") for pod in pods)
    return pods


async def set_status(cluster: World, pod: Tree, **status: Any) -> None:
    """PUT a pod's status."""
    pod["metadata"].pop("resourceVersion", None)
    pod["status"].update(status)
    body = msgspec.json.encode(pod)
    await cluster.door.update(PODS, pod["metadata"]["name"], body, "default", subresource="status")


async def make_ready(cluster: World) -> None:
    """All pods that run nowhere yet run now, and those that were to go are gone: what a kubelet would do."""
    for pod in await cluster.pods():
        if is_going(pod):
            options = DeleteOptions(grace_period_seconds=0)
            await cluster.delete(PODS, pod["metadata"]["name"], options=options)
        elif pod["spec"].get("nodeName") and condition(pod, "Ready").get("status") != "True":
            moment = timestamp(cluster.cluster.clock.now())
            told = {"type": "Ready", "status": "True", "lastTransitionTime": moment}
            await set_status(cluster, pod, phase="Running", conditions=[told])


async def until_ready(cluster: World, count: int, *, updated: int | None = None) -> None:
    """Play kubelet until so many pods are ready and counted, and no others are there."""

    async def counted() -> bool:
        await make_ready(cluster)
        status = (await live(cluster))["status"]
        enough = updated is None or status.get("updatedNumberScheduled", 0) == updated
        return bool(enough and status["numberReady"] == len(await cluster.pods()) == count)

    await cluster.until(counted)


def strategic_of(strategy: str) -> Tree:
    """An update strategy by its name."""
    return {"updateStrategy": {"type": strategy}}


@STRATEGIES
@pytest.mark.parametrize("count", [1, 5])
async def test_nodes_that_come_after_the_daemonset_get_their_pods(strategy: str, count: int) -> None:
    async with bare() as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(**strategic_of(strategy)))
        await add_nodes(cluster, count)
        pods = await until_alive(cluster, count)
        assert all(
            [each["uid"] for each in pod["metadata"]["ownerReferences"]] == [made["metadata"]["uid"]] for pod in pods
        )
        await until_ready(cluster, count)


@pytest.mark.behaviour(49, 52)
@STRATEGIES
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
@pytest.mark.parametrize("held", [False, True])
async def test_pods_that_ended_are_replaced_also_while_something_holds_them(
    strategy: str, phase: str, held: bool
) -> None:
    async with bare(2) as cluster:
        tree = daemon_set(**strategic_of(strategy))
        if held:
            tree["spec"]["template"]["metadata"]["finalizers"] = [FINALIZER]
        await cluster.create(DAEMON_SETS, tree)
        await until_alive(cluster, 2)
        await until_ready(cluster, 2)
        ended = await cluster.pods()
        for pod in ended:
            await set_status(cluster, pod, phase=phase)

        async def replaced() -> bool:
            new = [pod for pod in await alive(cluster) if pod["metadata"]["name"] not in names(ended)]
            return len(new) == 2

        await cluster.until(replaced)
        left = names(await cluster.pods()) & names(ended)
        assert left == (names(ended) if held else set())
        for name in left:
            body = msgspec.json.encode({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}})
            await cluster.door.patch(PODS, name, body, PatchKind.STRATEGIC, "default")
        await until_ready(cluster, 2)


@pytest.mark.behaviour(5, 6)
async def test_affinity_terms_by_label_and_by_name_add_up() -> None:
    async with bare() as cluster:
        by_label = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["test"]}]}
        by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [by_label, by_name]}}
        await cluster.create(DAEMON_SETS, daemon_set(template={"affinity": {"nodeAffinity": required}}))
        await add_nodes(cluster, 2)
        await add_nodes(cluster, 2, start=10, metadata={"labels": {"zone": "test"}})
        pods = await until_alive(cluster, 3)
        await until_ready(cluster, 3)
        assert {pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for pod in pods} == {"n0", "n10", "n11"}  # fmt: skip


@pytest.mark.behaviour(8, 10, 12, 22)
async def test_taints_decide_and_conditions_alone_do_not() -> None:
    async with bare() as cluster:
        taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
        await cluster.create(DAEMON_SETS, daemon_set())
        await add_node(cluster, "tainted", spec={"taints": [taint]})
        await add_node(cluster, "cordoned", spec={"unschedulable": True})
        (pod,) = await until_alive(cluster, 1)
        assert pod["spec"]["nodeName"] == "cordoned"
        tree = await cluster.get(NODES, "tainted")
        assert tree is not None
        tree["spec"].pop("taints")
        await cluster.door.update(NODES, "tainted", msgspec.json.encode(tree))
        await until_alive(cluster, 2)
        await until_ready(cluster, 2)


@pytest.mark.behaviour(57)
async def test_a_pod_that_finds_no_room_waits_and_says_so() -> None:
    async with bare() as cluster:
        container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "75m", "memory": "75M"}}}
        small = {"cpu": "150m", "memory": "100M", "pods": "100"}
        await cluster.create(DAEMON_SETS, daemon_set("d", template={"containers": [container]}))
        await cluster.create(DAEMON_SETS, daemon_set("e", template={"containers": [container]}))
        await add_node(cluster, "small", allocatable=small)
        pods = await until_alive(cluster, 2)
        (waiting,) = [pod for pod in pods if not pod["spec"].get("nodeName")]
        assert condition(waiting, "PodScheduled")["reason"] == "Unschedulable"
        (told,) = [each for each in await cluster.all(EVENTS) if each["reason"] == "FailedScheduling"]
        assert told["message"].startswith("0/1 nodes are available: 1 Insufficient memory.")
        (bound,) = [pod for pod in pods if pod["spec"].get("nodeName")]
        await cluster.delete(PODS, bound["metadata"]["name"], options=DeleteOptions(grace_period_seconds=0))

        async def taken_over() -> bool:
            tree = await cluster.get(PODS, waiting["metadata"]["name"])
            return tree is not None and tree["spec"].get("nodeName") == "small"

        await cluster.until(taken_over)


@pytest.mark.behaviour(110)
async def test_a_name_that_another_template_has_taken_is_counted_and_avoided() -> None:
    async with bare(1) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        await until_ready(cluster, 1)
        (first,) = await history(cluster)
        change = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}
        body = msgspec.json.encode(change)
        planned = await cluster.door.patch(DAEMON_SETS, "d", body, PatchKind.MERGE, "default", dry_run=True)
        taken = first_record(planned.read(DaemonSet), 2)
        metadata = {"name": taken.name, "labels": {"app": "d", HASH: taken.hash}}
        metadata["ownerReferences"] = first["metadata"]["ownerReferences"]
        await cluster.create(CONTROLLER_REVISIONS, {"metadata": metadata, "data": first["data"], "revision": 2})
        await cluster.patch(DAEMON_SETS, "d", change)

        async def counted() -> bool:
            return (await live(cluster))["status"].get("collisionCount") == 1 and len(await history(cluster)) == 3

        await cluster.until(counted)
        await until_ready(cluster, 1, updated=1)


@pytest.mark.behaviour(111)
async def test_twins_are_merged_when_a_node_comes() -> None:
    async with bare(1) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        await until_ready(cluster, 1)
        (first,) = await history(cluster)
        metadata = {"name": "d-twin", "labels": {"app": "d", HASH: "twin"}}
        metadata["ownerReferences"] = first["metadata"]["ownerReferences"]
        twin = {"metadata": metadata, "data": first["data"], "revision": first["revision"] + 1}
        await cluster.create(CONTROLLER_REVISIONS, twin)
        await asyncio.sleep(5)
        assert len(await history(cluster)) == 2
        before = names(await cluster.pods())
        await add_nodes(cluster, 1, start=1)
        await until_ready(cluster, 2, updated=2)
        pods = await cluster.pods()
        assert names(await history(cluster)) == {"d-twin"}
        assert {pod["metadata"]["labels"][HASH] for pod in pods} == {"twin"}
        assert before < names(pods)


@pytest.mark.behaviour(41, 73, 74, 170)
@STRATEGIES
async def test_pods_that_cannot_be_created_keep_no_other_out_of_the_status(strategy: str) -> None:
    async with bare() as cluster:
        await cluster.create(RESOURCE_QUOTAS, {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}})
        await cluster.create(DAEMON_SETS, daemon_set(**strategic_of(strategy)))
        await add_nodes(cluster, 5)
        await until_alive(cluster, 2)
        await until_ready(cluster, 2)
        status = (await live(cluster))["status"]
        assert (status["desiredNumberScheduled"], status["currentNumberScheduled"], status["observedGeneration"]) == (
            5,
            2,
            1,
        )
        told = [each for each in await cluster.all(EVENTS) if each["reason"] == "FailedCreate"]
        assert told
        assert all(
            "exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2" in each["message"] for each in told
        )
        await cluster.delete(RESOURCE_QUOTAS, "two")
        await until_alive(cluster, 5)
        await until_ready(cluster, 5)


@pytest.mark.behaviour(142, 150, 158)
async def test_a_surging_rollout_whose_tolerations_change_keeps_four_serving() -> None:
    def tolerating(*zones: str) -> Tree:
        return {"tolerations": [{"key": f"zone-{zone}", "operator": "Exists"} for zone in zones]}

    async def put(*zones: str) -> None:
        tree = daemon_set(template=tolerating(*zones), **surge)
        body = msgspec.json.encode({"apiVersion": "apps/v1", "kind": "DaemonSet", **tree})
        await cluster.door.update(DAEMON_SETS, "d", body, "default")

    surge: dict[str, Any] = {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    }
    async with bare() as cluster:
        for number, zone in enumerate(["y", "y", "z", "z", "common", "common"]):
            taint = {"key": f"zone-{zone}", "effect": "NoSchedule"}
            await add_node(cluster, f"n{number}", spec={"taints": [taint]})
        await cluster.create(DAEMON_SETS, daemon_set(template=tolerating("y", "common"), **surge))
        await until_alive(cluster, 4)
        await until_ready(cluster, 4, updated=4)
        await put("z", "common")
        await until_alive(cluster, 7)
        await until_ready(cluster, 4, updated=4)
        await put("y", "z", "common")
        await until_alive(cluster, 7)
        await until_ready(cluster, 6, updated=6)
        await put()
        await until_alive(cluster, 0)
        await until_ready(cluster, 0, updated=0)


@pytest.mark.behaviour(50, 182)
async def test_a_selector_that_fits_nowhere_drains_a_daemonset_before_it_is_deleted() -> None:
    async with bare(3) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        await until_ready(cluster, 3)
        tree = await live(cluster)
        tree["metadata"].pop("resourceVersion")
        tree["spec"]["template"]["spec"]["nodeSelector"] = {"nowhere": "at-all"}
        await cluster.door.update(DAEMON_SETS, "d", msgspec.json.encode(tree), "default")

        async def drained() -> bool:
            await make_ready(cluster)
            status = (await live(cluster))["status"]
            return not await cluster.pods() and status["currentNumberScheduled"] + status["numberMisscheduled"] == 0

        await cluster.until(drained)
        await cluster.delete(DAEMON_SETS, "d", options=DeleteOptions(orphan_dependents=False))
        assert await cluster.get(DAEMON_SETS, "d") is None
