"""A whole cluster as `eachnode up` runs it, on virtual time: nodes that join, fall silent, wait for their network."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from eachnode.cli.manifests import apply_manifest, read_manifests
from eachnode.controllers.kubelet import STOPPED, KubeletOptions, load_stages
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS, Resource
from eachnode.objects.watching import WatchEvent
from tests.embedded.remote import task
from tests.worlds import Tree, World, daemon_set, pod, world

EXAMPLES = Path(__file__).parents[2] / "examples"
STAGES = ("chaos", "network-agent-stages")
NODE_TEMPLATES = ("unconnected-node",)
MANIFESTS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.stem not in (*STAGES, *NODE_TEMPLATES))


def node_of(tree: Tree) -> str:
    """The node that a daemon pod is meant for."""
    term = tree["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(term["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def taints(tree: Tree) -> set[str]:
    return {taint["key"].removeprefix("node.kubernetes.io/") for taint in tree["spec"].get("taints", ())}


def condition(tree: Tree, wanted: str) -> str:
    return next((each["status"] for each in tree.get("status", {}).get("conditions", ()) if each["type"] == wanted), "")


class Diary:
    """Everything that happens to a kind, in order."""

    def __init__(self, cluster: World, resource: Resource) -> None:
        self._stream = cluster.door.watch(resource)
        self.entries: list[tuple[str, Tree]] = []

    async def write(self) -> None:
        """Goes on until cancelled."""
        async for batch in self._stream:
            self.entries += [_entry(event) for event in batch if event.type != "BOOKMARK"]


def _entry(event: WatchEvent) -> tuple[str, Tree]:
    return event.type, event.document.tree()


async def agents_ready(cluster: World) -> None:
    """Returns when the three nodes are ready for everything."""

    async def ready() -> bool:
        nodes = await cluster.all(NODES)
        return all(condition(node, "Ready") == "True" and not taints(node) for node in nodes)

    await cluster.until(ready)


def network_agent_cluster() -> Any:
    """Three nodes that wait for their network, and pods that take their time to start."""
    stages, _ = load_stages(EXAMPLES / "network-agent-stages.yaml")
    template = yaml.safe_load((EXAMPLES / "unconnected-node.yaml").read_text())
    return world(nodes=3, node_template=template, kubelet=KubeletOptions(timing="lifelike", chaos=(stages,)))


async def test_without_a_network_agent_nodes_stay_as_they_are_and_nothing_is_scheduled() -> None:
    async with network_agent_cluster() as cluster:
        await cluster.create(PODS, pod("ordinary"))

        async def refused() -> bool:
            return condition(await cluster.get(PODS, "ordinary") or {}, "PodScheduled") == "False"

        await cluster.until(refused)

        async def tainted() -> bool:
            return all(taints(node) == {"not-ready", "network-unavailable"} for node in await cluster.all(NODES))

        await cluster.until(tainted)
        await asyncio.sleep(600)
        assert await tainted()
        assert not (await cluster.get(PODS, "ordinary") or {})["spec"].get("nodeName")


async def test_a_network_agent_makes_its_node_ready_before_anything_else_is_scheduled_there() -> None:
    async with network_agent_cluster() as cluster:
        for number in range(9):
            await cluster.create(PODS, pod(f"ordinary-{number}"))
        diary = Diary(cluster, PODS)
        async with task(diary.write()):
            (manifest,) = read_manifests([EXAMPLES / "network-agent.yaml"])
            await apply_manifest(cluster.door, manifest)
            await cluster.until_available("network-agent", 3, namespace="kube-system")
            await agents_ready(cluster)

            async def all_run() -> bool:
                return all(tree["status"]["phase"] == "Running" for tree in await cluster.pods())

            await cluster.until(all_run)
    connected: set[str] = set()
    seen = 0
    for _, tree in diary.entries:
        node = tree["spec"].get("nodeName", "")
        if tree["metadata"]["name"].startswith("network-agent"):
            connected |= {node} if node and condition(tree, "Ready") == "True" else set()
        elif node:
            assert node in connected
            seen += 1
    assert seen
    assert len(connected) == 3


async def test_fifty_nodes_that_join_at_once_get_one_pod_each_in_their_order() -> None:
    async with world(nodes=3) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        await cluster.until_available("d", 3)
        diary = Diary(cluster, PODS)
        async with task(diary.write()):
            names = [f"new-{number:02}" for number in range(50)]
            await asyncio.gather(*(cluster.node(name) for name in names))
            await cluster.until_available("d", 53)
        created = [node_of(tree) for kind, tree in diary.entries if kind == "ADDED"]
        assert sorted(created[:3]) == ["node-1", "node-2", "node-3"]  # They were there before the diary was begun.
        assert created[3:] == names


async def test_a_silent_node_keeps_its_daemon_pod_is_counted_right_and_comes_back() -> None:
    async with world(nodes=4) as cluster:
        await cluster.create(DAEMON_SETS, daemon_set())
        await cluster.until_available("d", 4)

        async def pod_of_node_2() -> Tree:
            (tree,) = await cluster.pods(fields="spec.nodeName=node-2")
            return tree

        before = (await pod_of_node_2())["metadata"]["uid"]
        await cluster.patch(NODES, "node-2", {"metadata": {"annotations": {STOPPED: "true"}}})

        async def counted() -> bool:
            # As the reference counts: the pod may stay where no new one would go, so it is one too many.
            return (await counts(cluster)) == (3, 3, 3, 3, 1)

        await cluster.until(counted, within=120)
        assert taints(await cluster.get(NODES, "node-2") or {}) == {"unreachable"}
        await asyncio.sleep(3600)
        kept = await pod_of_node_2()
        assert kept["metadata"]["uid"] == before
        assert "deletionTimestamp" not in kept["metadata"]
        assert condition(kept, "Ready") == "False"
        assert await counted()
        await cluster.patch(NODES, "node-2", {"metadata": {"annotations": {STOPPED: None}}})
        await cluster.until_available("d", 4)
        assert (await pod_of_node_2())["metadata"]["uid"] == before
        assert await counts(cluster) == (4, 4, 4, 4, 0)


async def counts(cluster: World) -> tuple[int, ...]:
    """Desired, current, ready, available, misscheduled."""
    status = (await cluster.get(DAEMON_SETS, "d") or {})["status"]
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable", "numberMisscheduled")
    return tuple(status.get(name, 0) for name in names)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("timing", ["instant", "lifelike"])
async def test_every_example_becomes_available_and_its_next_version_too(manifest: Path, timing: Any) -> None:
    labels = {"metadata": {"labels": {"disk": "ssd"}}}  # One of the examples asks for it.
    async with world(nodes=3, node_template=labels, kubelet=KubeletOptions(timing=timing)) as cluster:
        for each in read_manifests([manifest]):
            resource, document = await apply_manifest(cluster.door, each)
            if resource != DAEMON_SETS:
                continue
            namespace = document.tree()["metadata"]["namespace"]
            await cluster.until_available(each.name, 3, within=120, namespace=namespace)
            (container,) = document.tree()["spec"]["template"]["spec"]["containers"]
            container["image"] = container["image"].rpartition(":")[0] + ":next"
            template = {"spec": {"containers": [container]}}
            await cluster.patch(DAEMON_SETS, each.name, {"spec": {"template": template}}, namespace)
            await cluster.until_available(each.name, 3, within=300, namespace=namespace)


def test_all_examples_are_known() -> None:
    assert len(MANIFESTS) >= 5
    for name in (*STAGES, *NODE_TEMPLATES):
        assert (EXAMPLES / f"{name}.yaml").exists()
