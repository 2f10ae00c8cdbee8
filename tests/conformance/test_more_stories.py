"""More stories that a real Kubernetes tells in one way: successors, overlaps, changes in mid-way, deaths of nodes."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, RESOURCE_QUOTAS
from eachnode.objects.status import Forbidden, Invalid
from tests.conformance.test_rollouts import set_image
from tests.conformance.test_stories import AT_ONCE, events, on, running, status, until_status
from tests.conformance.witness import (
    HASH,
    condition,
    history,
    image,
    is_going,
    is_owned,
    live,
    names,
    pods_of,
    until_it_runs_everywhere,
)
from tests.worlds import Tree, World, daemon_set, pod, world


async def until_gone(cluster: World, name: str = "d") -> None:
    """Wait until the DaemonSet does not exist."""

    async def gone() -> bool:
        return await cluster.get(DAEMON_SETS, name) is None

    await cluster.until(gone)


@pytest.mark.behaviour(59, 120, 121)
@pytest.mark.parametrize("same", [True, False], ids=["same-template", "other-template"])
async def test_a_successor_takes_over_what_was_left_to_itself(same: bool) -> None:
    """Another template restarts nothing either: the pods are of the same template generation, number 1."""
    async with world(nodes=2) as cluster:
        await running(cluster)
        before, (old,) = names(await cluster.pods()), await history(cluster)
        await cluster.delete(DAEMON_SETS, "d", options=DeleteOptions(propagation_policy="Orphan"))
        await until_gone(cluster)
        made = await cluster.create(DAEMON_SETS, daemon_set(image="i:1" if same else "i:2", template=AT_ONCE))
        await until_status(cluster, desired=2, current=2, updated=2, available=2, observed=1)
        pods, revisions = await pods_of(cluster, made), await history(cluster)
        assert names(pods) == before
        assert {pod["metadata"]["labels"][HASH] for pod in pods} == {old["metadata"]["labels"][HASH]}
        assert [each["revision"] for each in revisions] == ([1] if same else [1, 2])
        assert all(is_owned(each, made) for each in revisions)
        assert await events(cluster, "SuccessfulDelete") == []
        await set_image(cluster, "i:3")
        await until_status(cluster, updated=2, available=2, observed=2)
        assert not names(await cluster.pods()) & before


@pytest.mark.behaviour(58)
async def test_two_daemonsets_with_one_selector_do_not_touch_each_others_pods() -> None:
    async with world(nodes=2) as cluster:
        made = await running(cluster)
        twin = daemon_set("e", template=AT_ONCE)
        twin["spec"]["selector"] = {"matchLabels": {"app": "d"}}
        twin["spec"]["template"]["metadata"]["labels"] = {"app": "d"}
        other = await cluster.create(DAEMON_SETS, twin)
        await cluster.until_available("e", 2)
        await asyncio.sleep(5)
        assert len(await pods_of(cluster, made)) == len(await pods_of(cluster, other)) == 2
        await cluster.create(PODS, pod("stray", nodeName="node-1", metadata={"labels": {"app": "d"}}, **AT_ONCE))

        async def fetched() -> bool:
            return await cluster.get(PODS, "stray") is None

        await cluster.until(fetched)
        assert len(await cluster.pods()) == 4


@pytest.mark.behaviour(155)
async def test_a_strategy_that_changes_in_mid_way_stops_the_rollout_and_takes_it_up_again() -> None:
    async with world(nodes=4) as cluster:
        await running(cluster)
        await set_image(cluster, "foo:non-existent")
        await until_status(cluster, updated=1, unavailable=1)
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}})
        await set_image(cluster, "i:2")
        await until_status(cluster, observed=4, updated=0, unavailable=1)
        await asyncio.sleep(30)
        assert Counter(image(each) for each in await cluster.pods()) == {"i:1": 3, "foo:non-existent": 1}
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})
        await until_status(cluster, updated=4, available=4)


@pytest.mark.behaviour(121, 124)
async def test_a_pod_without_the_labels_of_its_template_is_replaced() -> None:
    async with world(nodes=2) as cluster:
        await running(cluster)
        (first,), (second,) = await on(cluster, "node-1"), await on(cluster, "node-2")
        await cluster.patch(PODS, first["metadata"]["name"], {"metadata": {"labels": {HASH: "other"}}})
        await asyncio.sleep(2)
        assert names(await cluster.pods()) == names([first, second])  # The generation still says that it is current.
        gone = {"metadata": {"labels": {HASH: "other", "pod-template-generation": None}}}
        await cluster.patch(PODS, first["metadata"]["name"], gone)

        async def replaced() -> bool:
            return first["metadata"]["name"] not in names(await cluster.pods())

        await cluster.until(replaced)
        await until_status(cluster, updated=2, available=2)
        assert second["metadata"]["name"] in names(await cluster.pods())


@pytest.mark.behaviour(38, 183)
async def test_a_daemonset_that_waits_for_its_pods_to_go_makes_none() -> None:
    async with world(nodes=2) as cluster:
        tree = daemon_set(template=AT_ONCE)
        tree["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(DAEMON_SETS, tree)
        await cluster.until_available("d", 2)
        await cluster.delete(DAEMON_SETS, "d", options=DeleteOptions(propagation_policy="Foreground"))

        async def leaving() -> bool:
            return all(is_going(each) for each in await cluster.pods())

        await cluster.until(leaving)
        before = names(await cluster.pods())
        await cluster.node("late")
        await asyncio.sleep(10)
        assert names(await cluster.pods()) == before
        tree = await live(cluster)
        assert tree["metadata"]["finalizers"] == ["foregroundDeletion"]
        for name in before:
            await cluster.patch(PODS, name, {"metadata": {"finalizers": None}})
        await until_gone(cluster)
        assert not await history(cluster)


async def test_daemonsets_themselves_are_counted_by_a_quota() -> None:
    async with world() as cluster:
        hard = {"hard": {"count/daemonsets.apps": "1"}}
        await cluster.create(RESOURCE_QUOTAS, {"metadata": {"name": "q"}, "spec": hard})

        async def counted() -> bool:
            return "used" in (await cluster.get(RESOURCE_QUOTAS, "q") or {}).get("status", {})

        await cluster.until(counted)
        await cluster.create(DAEMON_SETS, daemon_set())
        with pytest.raises(Forbidden) as refusal:
            await cluster.create(DAEMON_SETS, daemon_set("e"))
        assert str(refusal.value) == (
            'daemonsets.apps "e" is forbidden: exceeded quota: q, requested: count/daemonsets.apps=1, '
            "used: count/daemonsets.apps=1, limited: count/daemonsets.apps=1"
        )


@pytest.mark.behaviour(13, 158)
async def test_a_node_that_falls_silent_keeps_its_pod_and_takes_it_up_again() -> None:
    async with world(nodes=3) as cluster:
        made = await running(cluster, template={"tolerations": [{"operator": "Exists"}]})
        (before,) = await on(cluster, "node-3")
        await cluster.patch(NODES, "node-3", {"metadata": {"annotations": {"eachnode.dev/stopped": "true"}}})
        await until_status(cluster, 120, desired=3, current=3, ready=2, available=2, unavailable=1)
        node = await cluster.get(NODES, "node-3")
        assert node is not None
        told = condition(node, "Ready")
        assert (told["status"], told["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert told["message"] == "Kubelet stopped posting node status."
        await asyncio.sleep(600)  # Longer than a usual pod stays on a node that is lost.
        assert names(await on(cluster, "node-3")) == names([before])
        await cluster.patch(NODES, "node-3", {"metadata": {"annotations": {"eachnode.dev/stopped": None}}})
        await until_status(cluster, 120, desired=3, current=3, ready=3, available=3)
        await until_it_runs_everywhere(cluster, made)
        assert names(await on(cluster, "node-3")) == names([before])


@pytest.mark.behaviour(104, 108)
async def test_a_revision_that_lost_its_hash_is_labelled_with_its_name() -> None:
    async with world(nodes=1) as cluster:
        made = await running(cluster)
        (first,) = await history(cluster)
        name = first["metadata"]["name"]
        await cluster.patch(CONTROLLER_REVISIONS, name, {"metadata": {"labels": {HASH: None}}})

        async def labelled() -> bool:
            (only,) = await history(cluster)
            return bool(only["metadata"]["labels"].get(HASH) == name)

        await cluster.until(labelled)
        await asyncio.sleep(2)
        assert await status(cluster) == (await status(cluster)) | {"updatedNumberScheduled": 1, "numberAvailable": 1}
        assert len(await pods_of(cluster, made)) == 1


@pytest.mark.behaviour(100)
async def test_a_revision_whose_labels_are_changed_is_let_go_and_made_again() -> None:
    async with world(nodes=1) as cluster:
        made = await running(cluster)
        (first,) = await history(cluster)
        name = first["metadata"]["name"]
        await cluster.patch(CONTROLLER_REVISIONS, name, {"metadata": {"labels": {"app": "other"}}})

        async def released() -> bool:
            tree = await cluster.get(CONTROLLER_REVISIONS, name)
            return tree is not None and not tree["metadata"].get("ownerReferences")

        await cluster.until(released)
        await asyncio.sleep(5)
        # Its name is taken by the same bytes, so it is used all the same, whoever owns it.
        assert names(await history(cluster)) == {name}
        await until_it_runs_everywhere(cluster, made)


async def test_what_an_update_may_not_do_is_refused() -> None:
    async with world() as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        rolling: Tree = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
        with pytest.raises(Invalid, match="cannot be 0 when maxSurge is 0"):
            await cluster.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": rolling}})
        rolling["rollingUpdate"] = {"maxUnavailable": 1, "maxSurge": 1}
        with pytest.raises(Invalid, match="may not be set when maxUnavailable is non-zero"):
            await cluster.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": rolling}})
        with pytest.raises(Invalid, match="`selector` does not match template `labels`"):
            await cluster.patch(DAEMON_SETS, "d", {"spec": {"template": {"metadata": {"labels": {"app": "x"}}}}})


@pytest.mark.behaviour(17, 23)
async def test_pods_on_the_host_network_run_where_the_network_is_not_there_yet() -> None:
    async with world(nodes=1) as cluster:
        lacking = {"type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated"}
        body = msgspec.json.encode({"status": {"conditions": [lacking]}})
        await cluster.door.patch(NODES, "node-1", body, PatchKind.STRATEGIC, subresource="status")

        async def tainted() -> bool:
            taints = ((await cluster.get(NODES, "node-1")) or {"spec": {}})["spec"].get("taints") or []
            return [each["key"] for each in taints] == ["node.kubernetes.io/network-unavailable"]

        await cluster.until(tainted)
        await cluster.create(DAEMON_SETS, daemon_set("usual"))
        container = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}
        await cluster.create(DAEMON_SETS, daemon_set("host", template={"hostNetwork": True, "containers": [container]}))
        await cluster.until_available("host", 1)
        (only,) = await cluster.pods()
        assert only["metadata"]["generateName"] == "host-"
        assert only["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
        assert only["spec"]["tolerations"][-1] == {
            "key": "node.kubernetes.io/network-unavailable",
            "operator": "Exists",
            "effect": "NoSchedule",
        }
        assert only["status"]["podIP"] == only["status"]["hostIP"]
