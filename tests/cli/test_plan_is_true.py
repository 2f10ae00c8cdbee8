"""What `plan` says, held against what then really happens in a running cluster."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
import yaml

from eachnode.cli.manifests import apply_manifest, read_manifests
from eachnode.cli.plan import look, say
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from tests.worlds import Tree, World, daemon_set, world

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
SICK = {"key": "sick", "effect": "NoExecute"}
TOLERATIONS = {"gpu": {"key": "dedicated", "operator": "Exists"}, "sick": {"key": "sick", "operator": "Exists"}}
STRATEGIES: tuple[Tree, ...] = (
    {"maxUnavailable": 1},
    {"maxUnavailable": 2},
    {"maxUnavailable": "50%"},
    {"maxUnavailable": 0, "maxSurge": 1},
    {"maxUnavailable": 0, "maxSurge": 3},
)


def drawn(chance: random.Random, image: str) -> Tree:
    """A DaemonSet with a strategy and a placement drawn at random."""
    template: Tree = {"tolerations": [TOLERATIONS[name] for name in TOLERATIONS if chance.random() < 0.5]}
    if chance.random() < 0.3:
        template["nodeSelector"] = {"zone": "x"}
    strategy = {"type": "RollingUpdate", "rollingUpdate": chance.choice(STRATEGIES)}
    ready = chance.choice([0, 0, 5])
    return daemon_set("d", image, template, updateStrategy=strategy, minReadySeconds=ready)


async def pods(it: World) -> dict[str, str]:
    """The node of each pod, by uid."""
    return {tree["metadata"]["uid"]: tree["spec"]["nodeName"] for tree in await it.pods(labels="app=d")}


async def settled(it: World) -> bool:
    tree = await it.get(DAEMON_SETS, "d") or {}
    status, metadata = tree["status"], tree["metadata"]
    wanted = status["desiredNumberScheduled"]
    counts = (status.get("numberAvailable", 0), status.get("updatedNumberScheduled", 0))
    return bool(status.get("observedGeneration") == metadata["generation"] and counts == (wanted, wanted))


@pytest.mark.parametrize("seed", range(16))
async def test_nodes_pods_and_revisions_become_as_it_was_told(seed: int, tmp_path: Path) -> None:
    chance, path = random.Random(seed), tmp_path / "d.yaml"

    def write(image: str) -> None:
        path.write_text(yaml.safe_dump({"apiVersion": "apps/v1", "kind": "DaemonSet", **drawn(chance, image)}))

    async with world() as it:
        for number in range(6):
            taints = [taint for taint in (TAINT, SICK) if chance.random() < 0.3]
            labels = {"zone": chance.choice("xxy")}
            metadata = {"name": f"n{number}", "labels": labels, "annotations": {"eachnode.dev/simulated": "true"}}
            await it.node(f"n{number}", metadata=metadata, spec={"taints": taints})
        await asyncio.sleep(3)
        write("i:1")
        await apply_manifest(it.door, read_manifests([path])[0])
        await it.until(lambda: settled(it))
        before = await pods(it)
        write("i:2")
        text, _ = say(await look(it.door, it.cluster.clock, "default", files=[path]), "json")
        told = json.loads(text)
        await apply_manifest(it.door, read_manifests([path])[0])
        await it.until(lambda: settled(it), within=300.0)
        await asyncio.sleep(5)
        after = await pods(it)
        assert told["apiCalls"]["createPods"] == len(after.keys() - before.keys())
        assert told["apiCalls"]["deletePods"] == len(before.keys() - after.keys())
        assert {each["node"] for each in told["gained"]} == set(after.values()) - set(before.values())
        assert {each["node"] for each in told["lost"]} >= set(before.values()) - set(after.values())
        revisions = {tree["metadata"]["name"]: tree["revision"] for tree in await it.all(CONTROLLER_REVISIONS)}
        assert revisions[told["history"]["name"]] == told["history"]["revision"]
