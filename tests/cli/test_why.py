"""`eachnode why`: a cluster in which everything goes wrong that can, and what is said of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from eachnode.cli.failures import Failure
from eachnode.cli.main import cli
from eachnode.cli.why import answer
from eachnode.client.cluster import Cluster
from eachnode.client.intercepting import Intercepting
from eachnode.controllers.kubelet import KubeletOptions
from eachnode.decisions.pod_stages.stages import read_stages
from eachnode.objects.document import Document
from eachnode.objects.resources import DAEMON_SETS, EVENTS, NODES, PODS, RESOURCE_QUOTAS, Resource
from eachnode.objects.status import Forbidden
from eachnode.objects.watching import Page
from eachnode.runtime.clock import SystemClock
from tests.cli.golden import assert_golden
from tests.processes import started
from tests.worlds import World, daemon_set, pod, world

CHAOS = """
stages:
- {name: crashes, when: {state: ready, nodes: [node-1, node-2]}, delay: 2s, next: {state: crashed, exitCode: 3}}
- name: fails
  when: {state: ready, nodes: [node-9]}
  delay: 1s
  next: {state: over, phase: Failed, reason: Evicted, message: The node was low on memory}
- {name: pulls, when: {state: bound, nodes: [node-3]}, next: {state: creating}}
- {name: goes on pulling, when: {state: creating, nodes: [node-3]}, delay: 1h, next: {state: started}}
"""


def container(image: str) -> dict[str, Any]:
    return {
        "name": "c",
        "image": image,
        "resources": {"requests": {"cpu": "500m"}},
        "ports": [{"containerPort": 80, "hostPort": 8080}],
    }


@asynccontextmanager
async def troubled() -> AsyncIterator[World]:
    """Nine nodes, and on most of them something else is wrong; a new template is on its way."""
    stages = read_stages(yaml.safe_load(CHAOS))
    async with world(nodes=9, kubelet=KubeletOptions(chaos=(stages,))) as it:
        await asyncio.sleep(3)
        taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
        await it.patch(NODES, "node-4", {"spec": {"taints": [taint]}})
        hog = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3900m"}}}
        await it.create(PODS, pod("hog", nodeName="node-5", containers=[hog]))
        web = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080}]}
        await it.create(PODS, pod("web", nodeName="node-6", containers=[web]))
        await asyncio.sleep(1)
        await it.create(DAEMON_SETS, daemon_set("d", template={"containers": [container("i:1")]}))
        await asyncio.sleep(20)
        await it.patch(NODES, "node-7", {"metadata": {"annotations": {"eachnode.dev/stopped": "true"}}})
        await asyncio.sleep(60)
        template = {"spec": {"containers": [container("i:2")]}}
        await it.patch(DAEMON_SETS, "d", {"spec": {"template": template}})
        await asyncio.sleep(7)
        yield it


async def why(it: World, **options: Any) -> str:
    return await answer(it.door, it.cluster.clock, "ds/d", "default", **options)


async def test_nodes_are_grouped_by_what_is_so_on_them_worst_first() -> None:
    async with troubled() as it:
        assert_golden("why", await why(it))
        assert_golden("why-wide", await why(it, output="wide"))
        assert_golden("why-json", await why(it, output="json"))
        assert_golden("why-yaml", await why(it, output="yaml"))
        assert_golden("why-colour", await why(it, colour=True))
        told = [await why(it, node=f"node-{number}") for number in range(1, 10)]
        assert_golden("why-node", "\n\n".join(told))


async def test_all_formats_say_the_same() -> None:
    async with troubled() as it:
        found = json.loads(await why(it, output="json"))
        assert yaml.safe_load(await why(it, output="yaml")) == found
        assert sum(group["nodes"] for group in found["answers"]) == len(found["nodes"]) == 9
        wide = (await why(it, output="wide")).splitlines()
        assert [line.split()[0] for line in wide[1:]] == [each["node"] for each in found["nodes"]]


async def test_its_counts_are_those_of_the_status() -> None:
    async with troubled() as it:
        counts = json.loads(await why(it, output="json"))["counts"]
        status = (await it.get(DAEMON_SETS, "d") or {})["status"]
        assert counts == {
            "desired": status["desiredNumberScheduled"],
            "scheduled": status["currentNumberScheduled"],
            "updated": status["updatedNumberScheduled"],
            "ready": status["numberReady"],
            "available": status["numberAvailable"],
            "misscheduled": status["numberMisscheduled"],
        }


async def test_a_pod_that_will_be_adopted_counts_as_one_of_its_own() -> None:
    async with world(nodes=1, without=("controller",)) as it:
        await asyncio.sleep(3)
        await it.create(DAEMON_SETS, daemon_set("d"))
        assert "no pod yet" in await why(it, node="node-1")
        await it.create(PODS, pod("orphan", nodeName="node-1", metadata={"labels": {"app": "d"}}))
        await asyncio.sleep(1)
        assert "(pod orphan)" in await why(it, node="node-1")


async def test_a_quota_that_keeps_pods_from_being_created_is_quoted() -> None:
    async with world(nodes=2) as it:
        await asyncio.sleep(3)
        await it.create(RESOURCE_QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
        await asyncio.sleep(1)
        await it.create(DAEMON_SETS, daemon_set("d"))
        await asyncio.sleep(3)
        found = json.loads(await why(it, output="json"))
        assert {each["answer"] for each in found["nodes"]} == {"running", "cannot start"}
        assert "exceeded quota: few" in found["nodes"][0]["reasons"][0]["because"]


async def test_an_unknown_name_suggests_the_nearest() -> None:
    async with world(nodes=1) as it:
        await it.create(DAEMON_SETS, daemon_set("fluentd"))
        clock = it.cluster.clock
        with pytest.raises(Failure, match="no DaemonSet 'fluendt' in namespace default; did you mean 'fluentd'"):
            await answer(it.door, clock, "ds/fluendt", "default")
        with pytest.raises(Failure, match="no node 'node-11'; did you mean 'node-1'"):
            await answer(it.door, clock, "daemonset.apps/fluentd", "default", node="node-11")
        with pytest.raises(Failure, match="is no DaemonSet"):
            await answer(it.door, clock, "pod/fluentd", "default")


class OwnNamespaceOnly(Intercepting):
    """A door through which pods of other namespaces cannot be seen."""

    async def list(self, resource: Resource, namespace: str = "", **options: Any) -> Page:
        if resource is PODS and not namespace:
            raise Forbidden("pods is forbidden")
        return await super().list(resource, namespace, **options)


async def test_who_may_not_see_other_pods_is_told_what_the_scheduler_said() -> None:
    async with world(nodes=1) as it:
        await asyncio.sleep(3)
        hungry = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}
        await it.create(DAEMON_SETS, daemon_set("d", template={"containers": [hungry]}))
        await asyncio.sleep(2)
        text = await answer(OwnNamespaceOnly(it.door), it.cluster.clock, "ds/d", "default")
        assert "the scheduler said: 0/1 nodes are available: 1 Insufficient cpu" in text


class Listing:
    """A door that remembers what was listed, and how many documents it handed out at most in one page."""

    def __init__(self, door: Any) -> None:
        self.door, self.lists, self.largest = door, list[str](), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)

    async def list(self, resource: Resource, *arguments: Any, **options: Any) -> Any:
        page = await self.door.list(resource, *arguments, **options)
        self.lists.append(resource.plural)
        self.largest = max(self.largest, len(page.documents))
        return page


async def test_pods_of_others_are_listed_only_where_a_pod_has_no_node() -> None:
    async with world(nodes=3) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 3)
        watched = Listing(it.door)
        await answer(watched, it.cluster.clock, "ds/d", "default")
        assert watched.lists == ["nodes", "controllerrevisions", "pods"]
        hog = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}
        await it.create(DAEMON_SETS, daemon_set("hungry", template={"containers": [hog]}))
        await asyncio.sleep(2)
        await answer(watched, it.cluster.clock, "ds/hungry", "default", node="node-1")
        assert watched.lists[3:] == ["nodes", "controllerrevisions", "pods", "namespaces", "pods", "pods"]


async def test_large_lists_are_read_page_by_page() -> None:
    async with world(without=("kubelet", "scheduler", "node-lifecycle", "controller")) as it:
        for number in range(1100):
            await it.node(f"n{number}")
        await it.create(DAEMON_SETS, daemon_set("d"))
        watched = Listing(it.door)
        text = await answer(watched, it.cluster.clock, "ds/d", "default")
        assert "1100" in text
        assert watched.lists.count("nodes") == 3
        assert watched.largest == 500


class FixedDoor:
    """A door that hands out what was made beforehand, so that only the command's own work is measured."""

    def __init__(self, documents: dict[str, tuple[bytes, ...]]) -> None:
        self.documents = documents

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Document:
        return Document(self.documents[resource.plural][0])

    async def list(self, resource: Resource, namespace: str = "", *, after: str = "", **options: Any) -> Page:
        start = int(after or 0)
        texts = self.documents.get(resource.plural, ())
        page = tuple(Document(text) for text in texts[start : start + 500])
        return Page(page, "1", str(start + 500) if start + 500 < len(texts) else "")


async def test_a_quota_that_is_spent_is_named_with_its_way_out() -> None:
    async with world(nodes=3) as it:
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        await it.create(RESOURCE_QUOTAS, quota)
        await it.create(DAEMON_SETS, daemon_set("d"))
        await asyncio.sleep(120)  # Long enough for the events to be gathered into one.
        said = await why(it)
        assert "2  cannot start: its pod could not be created\n" in said
        assert 'ago): pods "d-' in said
        assert "→ raise the ResourceQuota few of namespace default" in said


async def test_what_a_pod_waits_for_is_read_from_its_newest_event() -> None:
    stages = read_stages(yaml.safe_load(CHAOS))
    async with world(nodes=3, kubelet=KubeletOptions(chaos=(stages,))) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await asyncio.sleep(20)
        (waits,) = [tree for tree in await it.pods(labels="app=d") if tree["spec"].get("nodeName") == "node-3"]
        assert "pulling image" in await why(it, node="node-3")
        event = {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", **{key: waits["metadata"][key] for key in ("name", "namespace", "uid")}},
            "type": "Warning",
            "reason": "FailedMount",
            "message": 'MountVolume.SetUp failed for volume "v": configmap "x" not found',
            "lastTimestamp": "2026-01-01T01:00:00Z",
        }
        await it.create(EVENTS, event)
        said = await why(it, node="node-3")
        assert "cannot start: container c cannot be started: FailedMount" in said
        assert 'configmap "x" not found' in said


def large_cluster(size: int, *, placed: bool = True) -> FixedDoor:
    """So many nodes, on all but one in a hundred a serving pod; there it crashes. Or no pod was placed."""
    labels = {"app": "d"}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    waiting = {"name": "c", "image": "i:1", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    nodes = [
        {"metadata": {"name": f"n{number}", "labels": {"zone": "x"}}, "status": {"conditions": [ready]}}
        for number in range(size)
    ]
    pods: list[dict[str, Any]] = [
        {
            "metadata": {
                "name": f"d-{n}",
                "namespace": "ns",
                "uid": f"{n}",
                "labels": labels,
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": f"n{n}", "containers": [{"name": "c", "image": "i:1"}]},
            "status": {"phase": "Running"} | ({"conditions": [ready]} if n % 100 else {"containerStatuses": [waiting]}),
        }
        for n in range(size)
    ]
    if not placed:
        for n, tree in enumerate(pods):
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{n}"]}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            tree.update(
                {"status": {"phase": "Pending"}, "spec": {**tree["spec"], "affinity": {"nodeAffinity": required}}}
            )
            del tree["spec"]["nodeName"]
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template, "updateStrategy": {"type": "OnDelete"}}
    daemonset = {"metadata": {"name": "d", "namespace": "ns", "uid": "u"}, "spec": spec}
    kinds: dict[str, list[Any]] = {"nodes": nodes, "pods": pods, "daemonsets": [daemonset]}
    return FixedDoor({kind: tuple(map(msgspec.json.encode, trees)) for kind, trees in kinds.items()})


async def test_five_thousand_nodes_are_explained_within_two_seconds() -> None:
    door = large_cluster(5000)
    began = time.process_time()
    text = await answer(door, SystemClock(), "ds/d", "ns")  # type: ignore[arg-type]  # it does not write
    assert time.process_time() - began < 2.0
    assert "50  crash-looping" in text
    assert "4950  outdated" in text


async def test_five_thousand_pods_without_a_node_are_explained_within_two_seconds() -> None:
    door = large_cluster(5000, placed=False)
    began = time.process_time()
    text = await answer(door, SystemClock(), "ds/d", "ns")  # type: ignore[arg-type]  # it does not write
    assert time.process_time() - began < 2.0
    assert "5000  pending: Too many pods" in text


@pytest.mark.sockets
async def test_it_works_over_http() -> None:
    with started("up", "--nodes", "2") as server:
        async with asyncio.timeout(60):
            from eachnode.client.kubeconfig import load

            async with Cluster(load(str(server.kubeconfig), None)) as door:
                body = {"apiVersion": "apps/v1", "kind": "DaemonSet", **daemon_set("d")}
                await door.create(DAEMON_SETS, msgspec.json.encode(body), "default")
                while not _available(await door.get(DAEMON_SETS, "d", "default")):
                    await asyncio.sleep(0.05)
            arguments = ["why", "ds/d", "--kubeconfig", str(server.kubeconfig), "-o", "json"]
            result = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
            assert result.exit_code == 0, result.output
            assert [each["answer"] for each in json.loads(result.output)["nodes"]] == ["running", "running"]


def _available(document: Document) -> bool:
    return bool(document.tree()["status"].get("numberAvailable") == 2)
