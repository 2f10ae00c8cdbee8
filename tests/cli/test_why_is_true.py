"""What `why` says, held against a running cluster: what runs, runs, and who acts upon a reason is rid of it."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any

import msgspec
import pytest

from eachnode.cli.why import answer
from eachnode.controllers.daemonset.controller import DaemonSetController
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.controllers.kubelet import KubeletOptions
from eachnode.decisions.pod_stages.stages import read_stages
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from tests.worlds import Tree, World, daemon_set, pod, world

TAINTS = ({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, {"key": "sick", "effect": "NoExecute"})
CHAOS = {"stages": [{"name": "crashes", "when": {"state": "ready", "nodes": ["n5"]}, "delay": "1s", "next": "crashed"}]}


async def told(it: World) -> dict[str, Tree]:
    text = await answer(it.door, it.cluster.clock, "ds/d", "default", output="json")
    return {each["node"]: each for each in json.loads(text)["nodes"]}


async def furnish(it: World, chance: random.Random) -> None:
    """Six nodes on which this and that is wrong, and a DaemonSet for them."""
    for number in range(6):
        taints = [taint for taint in TAINTS if chance.random() < 0.25]
        labels = {"zone": chance.choice(["x", "x", "x", "y"])}
        metadata = {"name": f"n{number}", "labels": labels, "annotations": {"eachnode.dev/simulated": "true"}}
        await it.node(f"n{number}", metadata=metadata, spec={"taints": taints})
    await asyncio.sleep(3)
    for number in range(6):
        if chance.random() < 0.4:
            ports = [{"containerPort": 1, "hostPort": chance.choice([80, 81])}]
            cpu = {"requests": {"cpu": chance.choice(["1", "3500m"])}}
            hog = {"name": "c", "image": "i", "resources": cpu, "ports": ports}
            await it.create(PODS, pod(f"hog-{number}", nodeName=f"n{number}", containers=[hog]))
    await asyncio.sleep(1)
    container: Tree = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}
    container["ports"] = [{"containerPort": 1, "hostPort": 80}]
    template: Tree = {"containers": [container], "nodeSelector": {"zone": "x"}}
    if chance.random() < 0.5:
        template["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    await it.create(DAEMON_SETS, daemon_set("d", template=template))
    await asyncio.sleep(2)


async def really_runs(it: World, node: str) -> bool:
    pods = await it.pods(labels="app=d", fields=f"spec.nodeName={node}")
    conditions = [each for tree in pods for each in tree["status"].get("conditions", ())]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def act_upon(it: World, node: str, reason: Tree) -> bool:
    """Take the cause of a reason away; False when it is none that a user takes away."""
    if match := re.search(r"taint (\S+) is not tolerated", reason["because"]):
        spec = (await it.get(NODES, node) or {})["spec"]
        kept = [taint for taint in spec.get("taints", []) if match[1].split("=")[0].split(":")[0] != taint["key"]]
        await it.patch(NODES, node, {"spec": {"taints": kept}})
    elif match := re.search(r"nodeSelector wants (\S+)=(\S+), but", reason["because"]):
        await it.patch(NODES, node, {"metadata": {"labels": {match[1]: match[2]}}})
    elif reason["holders"]:
        for holder in reason["holders"]:
            if await it.get(PODS, holder["name"], holder["namespace"]) is not None:
                options = DeleteOptions(grace_period_seconds=0)
                await it.delete(PODS, holder["name"], holder["namespace"], options)
    else:
        return False
    return True


@pytest.mark.parametrize("seed", range(16))
async def test_what_is_said_to_run_runs_and_acting_upon_all_reasons_makes_it_run(seed: int) -> None:
    stages = read_stages(CHAOS)
    async with world(kubelet=KubeletOptions(chaos=(stages,))) as it:
        await furnish(it, random.Random(seed))
        for node, said in (await told(it)).items():
            assert (said["answer"] == "running") == await really_runs(it, node), said
            for _ in range(4):
                reasons = said["reasons"]
                acted = [reason for reason in reasons if await act_upon(it, node, reason)]
                if not acted:
                    break
                await asyncio.sleep(3)
                said = (await told(it))[node]
                again = {reason["because"] for reason in said["reasons"]}
                assert not again & {reason["because"] for reason in acted}
            assert said["answer"] in ("running", "crash-looping", "starting"), said
            assert (said["answer"] == "crash-looping") <= (node == "n5")


async def test_a_failed_pod_is_replaced_when_it_is_said_to_be() -> None:
    fails = {"state": "over", "phase": "Failed"}
    stages = read_stages({"stages": [{"name": "fails", "when": {"state": "ready"}, "delay": "1s", "next": fails}]})
    async with world(nodes=1, kubelet=KubeletOptions(chaos=(stages,))) as it:
        await it.create(DAEMON_SETS, daemon_set("d"))
        seen = 0
        while seen < 3:
            said = (await told(it)).get("node-1", {})
            match = re.search(r"replaced at \S+ \(in (\d+)s\)", str(said.get("reasons")))
            if match is None:
                await asyncio.sleep(0.25)
                continue
            seen += 1
            (failed,) = [tree["metadata"]["name"] for tree in await it.pods(labels="app=d")]
            early = max(0.0, float(match[1]) - 1.5)
            await asyncio.sleep(early)
            assert await it.get(PODS, failed) is not None
            await asyncio.sleep(3.5)
            assert await it.get(PODS, failed) is None


async def test_without_a_scheduler_the_controller_says_itself_what_is_lacking() -> None:
    async with world(nodes=1, without=("controller", "scheduler")) as it:
        await asyncio.sleep(3)
        hungry = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "64"}}}]}
        await it.create(DAEMON_SETS, daemon_set("d", template=hungry))
        options = DaemonSetOptions(placement="direct")
        chance: Any = random.Random(1)
        controller = DaemonSetController(it.door, clock=it.cluster.clock, chance=chance, options=options)
        task = asyncio.create_task(controller.run())
        await asyncio.sleep(3)
        said = (await told(it))["node-1"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert said["answer"] == "pending"
        assert (
            "Insufficient cpu (64 of cpu is asked for and the node has 3900m altogether)"
            in msgspec.json.encode(said).decode()
        )
