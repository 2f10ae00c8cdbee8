"""`eachnode plan`: what it says would happen, happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from eachnode.cli.explaining.changing import from_images
from eachnode.cli.explaining.previewing import look_ahead
from eachnode.cli.failures import Failure
from eachnode.cli.main import cli
from eachnode.cli.plan import CHANGES, NOTHING_TO_DO, Looked, look, say
from eachnode.client.intercepting import Intercepting
from eachnode.objects.document import Document
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, PRIORITY_CLASSES, Resource
from eachnode.objects.status import Forbidden
from eachnode.objects.watching import Page
from eachnode.runtime.virtual_time import VirtualTimeLoop
from tests.cli.golden import assert_golden
from tests.processes import started
from tests.worlds import Tree, World, daemon_set, pod, world

MakeFile = Callable[[Tree], Path]


@pytest.fixture
def file(tmp_path: Path) -> MakeFile:
    """Writes a DaemonSet into a file."""

    def make(tree: Tree) -> Path:
        path = tmp_path / "d.yaml"
        path.write_text(yaml.safe_dump({"apiVersion": "apps/v1", "kind": "DaemonSet", **tree}))
        return path

    return make


async def plan(it: World, *, output: str | None = None, **options: Any) -> tuple[str, int]:
    return say(await look(it.door, it.cluster.clock, "default", **options), output)


async def found(it: World, **options: Any) -> Tree:
    text, _ = await plan(it, output="json", **options)
    tree: Tree = json.loads(text)
    return tree


def rolling(**amounts: Any) -> Tree:
    return {"type": "RollingUpdate", "rollingUpdate": amounts}


async def apply(it: World, path: Path) -> None:
    from eachnode.cli.manifests import apply_manifest, read_manifests

    await apply_manifest(it.door, read_manifests([path])[0])


async def test_a_change_is_told_in_full(file: MakeFile) -> None:
    async with world(nodes=7) as it:
        await asyncio.sleep(3)
        await it.patch(NODES, "node-1", {"metadata": {"labels": {"edge": "yes"}}})
        taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
        await it.patch(NODES, "node-7", {"spec": {"taints": [taint]}})
        await apply(it, file(daemon_set("d")))
        await it.until_available("d", 6)
        away = {"key": "edge", "operator": "DoesNotExist"}
        affinity = {"nodeSelectorTerms": [{"matchExpressions": [away]}]}
        template = {
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}},
        }
        path = file(daemon_set("d", "i:2", template, updateStrategy=rolling(maxUnavailable=2)))
        text, code = await plan(it, files=[path])
        assert code == CHANGES
        assert_golden("plan", text)
        assert_golden("plan-json", (await plan(it, files=[path], output="json"))[0])
        assert_golden("plan-yaml", (await plan(it, files=[path], output="yaml"))[0])
        assert json.loads((await plan(it, files=[path], output="json"))[0]) == yaml.safe_load(
            (await plan(it, files=[path], output="yaml"))[0]
        )


async def test_what_is_there_already_is_nothing_to_do(file: MakeFile) -> None:
    async with world(nodes=2) as it:
        path = file(daemon_set("d"))
        await apply(it, path)
        await it.until_available("d", 2)
        text, code = await plan(it, files=[path])
        assert code == NOTHING_TO_DO
        assert_golden("plan-nothing", text)
        assert (await plan(it, daemonset="ds/d", images=["c=i:1"]))[1] == NOTHING_TO_DO


async def test_an_update_under_way_is_told_though_nothing_is_to_do(file: MakeFile) -> None:
    async with world(nodes=3) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 3)
        await it.cluster.end("controller")
        path = file(daemon_set("d", "i:2"))
        await apply(it, path)
        text, code = await plan(it, files=[path])
        assert code == NOTHING_TO_DO
        assert "an update is under way: 3 pods are to be deleted still, 3 created" in text


async def test_a_new_daemonset_gains_every_node_it_may_use(file: MakeFile) -> None:
    async with world(nodes=2) as it:
        await asyncio.sleep(3)
        text, code = await plan(it, files=[file(daemon_set("d"))])
        assert code == CHANGES
        assert_golden("plan-new", text)
        assert await it.get(DAEMON_SETS, "d") is None


async def _names(it: World) -> set[str]:
    return {each["metadata"]["name"] for each in await it.pods(labels="app=d")}


@pytest.mark.parametrize("unavailable", [1, 2, "50%"])
async def test_pods_are_replaced_in_the_order_and_number_that_was_told(unavailable: int | str) -> None:
    async with world(nodes=6) as it:
        strategy = rolling(maxUnavailable=unavailable)
        await it.create(DAEMON_SETS, daemon_set("d", updateStrategy=strategy))
        await it.until_available("d", 6)
        told = await found(it, daemonset="ds/d", images=["c=i:2"])
        before = await _names(it)
        order = asyncio.create_task(_order_of_deletions(it, 6))
        await asyncio.sleep(0)
        await it.patch(
            DAEMON_SETS, "d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
        )
        await it.until_available("d", 6)
        assert await order == [node for wave in told["replaced"]["steps"] for node in wave]
        assert len(before & await _names(it)) == 0
        assert told["replaced"]["pods"] == told["apiCalls"]["deletePods"] == told["apiCalls"]["createPods"] == 6
        revisions = {each["metadata"]["name"]: each["revision"] for each in await it.all(CONTROLLER_REVISIONS)}
        assert revisions[told["history"]["name"]] == told["history"]["revision"] == 2


async def _order_of_deletions(it: World, count: int) -> list[str]:
    order: list[str] = []
    async for batch in it.door.watch(PODS, labels="app=d"):
        for event in batch:
            tree = event.document.tree()
            node = tree.get("spec", {}).get("nodeName")
            if tree["metadata"].get("deletionTimestamp") and node not in order:
                order.append(node)
        if len(order) == count:
            return order
    raise AssertionError("the watch ended")


async def test_going_back_to_an_older_template_reuses_its_revision() -> None:
    async with world(nodes=1) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 1)
        await it.patch(
            DAEMON_SETS, "d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
        )
        await it.until_available("d", 1)
        history = (await found(it, daemonset="ds/d", images=["c=i:1"]))["history"]
        assert (history["kind"], history["was"], history["revision"]) == ("reused", 1, 3)


async def test_surge_with_host_ports_is_warned_of() -> None:
    async with world(nodes=2) as it:
        ports = {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
        strategy = rolling(maxSurge=1, maxUnavailable=0)
        await it.create(DAEMON_SETS, daemon_set("d", template=ports, updateStrategy=strategy))
        await it.until_available("d", 2)
        told = await found(it, daemonset="ds/d", images=["c=i:2"])
        assert "maxSurge with host ports (80/TCP)" in told["warnings"][0]["sentence"]
        assert told["replaced"]["steps"] == [["node-1"]]
        assert [each["node"] for each in told["left"]] == ["node-2"]


async def test_nodes_that_are_not_ready_are_said_to_hold_the_budget() -> None:
    async with world(nodes=3) as it:
        template = {"tolerations": [{"operator": "Exists"}]}
        await it.create(DAEMON_SETS, daemon_set("d", template=template))
        await it.until_available("d", 3)
        await it.patch(NODES, "node-2", {"metadata": {"annotations": {"eachnode.dev/stopped": "true"}}})
        await asyncio.sleep(60)
        told = await found(it, daemonset="ds/d", images=["c=i:2"])
        assert "1 node is not ready (node-2)" in told["warnings"][0]["sentence"]
        assert "they hold 1 of the 1" in told["warnings"][0]["sentence"]
        assert told["replaced"]["steps"] == [["node-2"]]
        assert [each["node"] for each in told["left"]] == ["node-1", "node-3"]
        assert "node-2 is" in told["left"][0]["because"]


async def test_nodes_without_room_are_named_with_what_is_free(file: MakeFile) -> None:
    async with world(nodes=2) as it:
        await asyncio.sleep(3)
        hog = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
        await it.create(PODS, pod("hog", nodeName="node-1", containers=[hog]))
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 2)
        wanted = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "2"}}}]}
        told = await found(it, files=[file(daemon_set("d", template=wanted))])
        (warning,) = told["warnings"]
        assert warning["nodes"] == ["node-1"]
        assert "2 of cpu is asked for and 900m of 3900m is free" in warning["sentence"]


async def test_pods_of_a_higher_priority_are_told_whom_they_displace(file: MakeFile) -> None:
    async with world(nodes=1) as it:
        await asyncio.sleep(3)
        await it.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000}, namespace="")
        hog = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
        await it.create(PODS, pod("hog", nodeName="node-1", containers=[hog]))
        wanted: Tree = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "2"}}}]}
        (low,) = (told := await found(it, files=[file(daemon_set("d", template=wanted))]))["warnings"]
        assert low["sentence"].startswith("no room on node-1")
        assert low["remedy"] == "free cpu on the node, ask for less, or give the pod a priority above 0"
        assert (told["apiCalls"]["createPods"], told["apiCalls"]["bindPods"]) == (1, 0)
        wanted["priorityClassName"] = "high"
        (high,) = (told := await found(it, files=[file(daemon_set("d", template=wanted))]))["warnings"]
        assert (
            "only in place of pods of lower priority: on node-1 in place of default/hog (priority 0)"
            in (high["sentence"])
        )
        assert (high["nodes"], told["apiCalls"]["bindPods"]) == ([], 1)
        await apply(it, file(daemon_set("d", template=wanted)))
        await it.until_available("d", 1)
        assert await it.get(PODS, "hog") is None


async def test_surge_needs_room_for_two_though_nothing_else_asks_for_more() -> None:
    async with world(nodes=2) as it:
        half = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "2"}}}]}
        strategy = rolling(maxSurge=1, maxUnavailable=0)
        await it.create(DAEMON_SETS, daemon_set("d", template=half, updateStrategy=strategy))
        await it.until_available("d", 2)
        told = await found(it, daemonset="ds/d", images=["c=i:2"])
        assert told["warnings"][0]["sentence"].startswith("no room on node-1, node-2 (Insufficient cpu)")
        assert (told["replaced"]["steps"], len(told["left"])) == ([["node-1"]], 1)


async def test_the_built_in_controller_is_said_to_have_an_order_of_its_own() -> None:
    async with world(nodes=2) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 2)
        wanted = await from_images(it.door, "d", "default", {"c": "i:2"})
        assert wanted.carried_out_by.startswith("eachnode")
        assert (await look_ahead(it.door, it.cluster.clock, wanted)).wanted.notes == ()
        built_in = replace(wanted, carried_out_by="kube-controller-manager")
        (note,) = (await look_ahead(it.door, it.cluster.clock, built_in)).wanted.notes
        assert note == "kube-controller-manager looks after it: it replaces as many at a time, in an order of its own"


async def test_a_selector_that_changes_is_refused_with_a_way_out(file: MakeFile) -> None:
    async with world(nodes=1) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        tree = daemon_set("d")
        tree["spec"]["selector"] = {"matchLabels": {"app": "other"}}
        tree["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
        with pytest.raises(Failure, match=r"will refuse this change: .*field is immutable; give the DaemonSet another"):
            await plan(it, files=[file(tree)])


def test_a_forecast_is_told_with_the_plan() -> None:
    async def ask() -> Looked:
        async with world(nodes=3) as it:
            await it.create(DAEMON_SETS, daemon_set("d"))
            await it.until_available("d", 3)
            return await look(it.door, it.cluster.clock, "default", daemonset="ds/d", images=["c=i:2"], forecast=True)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        looked = runner.run(ask())
    text, code = say(looked)
    assert code == CHANGES
    assert "forecast: 3 nodes, 20 worlds" in text
    told = json.loads(say(looked, "json")[0])["forecast"]
    assert told["outOfService"] == 1
    assert told["stoppedBy"] == []
    assert 0 < told["medianSeconds"] <= told["ninetyPercentSeconds"] < 120


class NoDryRun(Intercepting):
    """A door through which nothing may be tried."""

    async def patch(self, resource: Resource, name: str, *arguments: Any, **options: Any) -> Document:
        raise Forbidden(f"{resource.qualified} {name!r} is forbidden")


async def test_without_dry_run_the_change_is_laid_over_what_is_there(file: MakeFile) -> None:
    async with world(nodes=2) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        await it.until_available("d", 2)
        door, clock = NoDryRun(it.door), it.cluster.clock
        text, code = say(await look(door, clock, "default", files=[file(daemon_set("d", "i:2"))]), "json")
        told = json.loads(text)
        assert code == CHANGES
        assert told["changes"] == [{"path": "spec.template.spec.containers[c].image", "old": "i:1", "new": "i:2"}]
        assert "dry run is forbidden" in told["notes"][0]
        assert told["replaced"]["pods"] == 2
        assert say(await look(door, clock, "default", files=[file(daemon_set("d"))]))[1] == NOTHING_TO_DO


class OwnNamespaceOnly(Intercepting):
    """A door through which pods of other namespaces cannot be seen."""

    async def list(self, resource: Resource, namespace: str = "", **options: Any) -> Page:
        if resource is PODS and not namespace:
            raise Forbidden("pods is forbidden")
        return await super().list(resource, namespace, **options)


async def test_who_may_not_see_other_pods_is_told_that_room_is_not_known(file: MakeFile) -> None:
    async with world(nodes=1) as it:
        await asyncio.sleep(3)
        door = OwnNamespaceOnly(it.door)
        text, code = say(await look(door, it.cluster.clock, "default", files=[file(daemon_set("d"))]))
        assert code == CHANGES
        assert "not known whether the nodes have room" in text


async def test_what_cannot_be_planned_is_said(file: MakeFile, tmp_path: Path) -> None:
    async with world(nodes=1) as it:
        await it.create(DAEMON_SETS, daemon_set("fluentd"))
        with pytest.raises(Failure, match="say what is to change"):
            await plan(it)
        with pytest.raises(Failure, match="did you mean 'fluentd'"):
            await plan(it, daemonset="ds/fluent", images=["c=i:2"])
        with pytest.raises(Failure, match="no container 'd' in daemonset fluentd; there are c"):
            await plan(it, daemonset="ds/fluentd", images=["d=i:2"])
        with pytest.raises(Failure, match="--image 'c' says no image"):
            await plan(it, daemonset="ds/fluentd", images=["c"])
        other = tmp_path / "other.yaml"
        other.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
        with pytest.raises(Failure, match="there is no DaemonSet in"):
            await plan(it, files=[other])


@pytest.mark.sockets
def test_it_works_over_http_and_its_exit_code_tells_whether_there_is_something_to_do(file: MakeFile) -> None:
    with started("up", "--nodes", "2") as server:
        options = ["--kubeconfig", str(server.kubeconfig), "-f", str(file(daemon_set("d")))]
        result = CliRunner().invoke(cli, ["plan", *options, "-o", "json"], standalone_mode=False)
        assert result.return_value == CHANGES, result.output
        assert [each["node"] for each in msgspec.json.decode(result.output)["gained"]] == ["node-1", "node-2"]
        applied = CliRunner().invoke(cli, ["apply", *options], standalone_mode=False)
        assert applied.exit_code == 0, applied.output
        result = CliRunner().invoke(cli, ["plan", *options], standalone_mode=False)
        assert result.return_value == NOTHING_TO_DO, result.output
