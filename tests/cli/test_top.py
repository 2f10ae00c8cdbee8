"""`eachnode top`: who asks for how much of which nodes."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml
from click.testing import CliRunner

from eachnode.cli.failures import Failure
from eachnode.cli.main import cli
from eachnode.cli.top import answer
from eachnode.objects.resources import DAEMON_SETS, NAMESPACES, PODS
from tests.cli.golden import assert_golden
from tests.processes import started
from tests.worlds import Tree, World, daemon_set, pod, world


def asking(cpu: str, memory: str) -> Tree:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return {"containers": [{"name": "c", "image": "i:1", "resources": resources}]}


async def furnish(it: World) -> None:
    """Two small nodes and a large one of a named type; three DaemonSets, one of them too hungry for the small ones."""
    for name in ("small-1", "small-2"):
        await it.node(name)
    size = {"cpu": "16", "memory": "64Gi", "pods": "250"}
    labels = {"node.kubernetes.io/instance-type": "m5.4xlarge"}
    status = {"capacity": size, "allocatable": size}
    await it.node("large-1", metadata={"name": "large-1", "labels": labels, "annotations": _SIMULATED}, status=status)
    await it.create(NAMESPACES, {"metadata": {"name": "system"}})
    await it.create(PODS, pod("other", **asking("1", "1Gi")))
    await it.create(DAEMON_SETS, daemon_set("logs", template=asking("200m", "256Mi")), "system")
    await it.create(DAEMON_SETS, daemon_set("metrics", template=asking("100m", "1Gi")))
    await it.create(DAEMON_SETS, daemon_set("hungry", template=asking("8", "1Gi")))
    await it.until_available("logs", 3, namespace="system")
    await it.until_available("metrics", 3)
    await asyncio.sleep(2)


_SIMULATED = {"eachnode.dev/simulated": "true"}


async def test_each_class_of_node_is_told_what_it_pays() -> None:
    async with world() as it:
        await furnish(it)
        assert_golden("top", await answer(it.door, ""))
        assert_golden("top-wide", await answer(it.door, "", output="wide"))
        assert_golden("top-json", await answer(it.door, "", output="json"))
        assert_golden("top-yaml", await answer(it.door, "", output="yaml"))
        assert_golden("top-one", await answer(it.door, "system", daemonset="ds/logs"))


async def test_shares_are_of_what_all_nodes_of_the_class_have() -> None:
    async with world() as it:
        await furnish(it)
        found = json.loads(await answer(it.door, "", output="json"))
        assert yaml.safe_load(await answer(it.door, "", output="yaml")) == found
        small, large = found["classes"]
        assert (small["nodes"], large["class"]) == (2, "m5.4xlarge")
        assert {each["name"]: each["share"]["cpu"] for each in small["daemonSets"]} == {"logs": 0.05, "metrics": 0.025}
        assert {each["name"]: each["share"]["cpu"] for each in large["daemonSets"]}["hungry"] == 0.5
        assert found["waiting"] == [{"namespace": "default", "name": "hungry", "pods": 2}]
        assert small["total"]["share"]["memory"] == pytest.approx((2 * 256 + 2 * 1024) / (2 * 8 * 1024), abs=1e-4)


async def test_a_namespace_without_daemonsets_says_so() -> None:
    async with world(nodes=1) as it:
        assert await answer(it.door, "default") == "no DaemonSet has a pod in namespace default"
        with pytest.raises(Failure, match="no DaemonSet 'x' in namespace default"):
            await answer(it.door, "default", daemonset="ds/x")


@pytest.mark.sockets
def test_it_works_over_http() -> None:
    with started("up", "--nodes", "1") as server:
        result = CliRunner().invoke(cli, ["top", "-A", "--kubeconfig", str(server.kubeconfig)])
        assert result.exit_code == 0, result.output
        assert result.output == "no DaemonSet has a pod\n"
