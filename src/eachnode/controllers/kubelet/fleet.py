"""Nodes that look like a real fleet: zones, instance types and sizes."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from eachnode.client.door import Door
from eachnode.decisions.pod_stages.view import SIMULATED
from eachnode.objects.resources import NODES
from eachnode.objects.status import AlreadyExists

AT_ONCE = 64  # Nodes created together.
REGION = "simulated-1"
ZONES = ("simulated-1a", "simulated-1b", "simulated-1c")
# Name, cores, GiB, pods; three of four nodes are of the middle size.
TYPES = (("standard-4", 4, 16, 110), ("standard-4", 4, 16, 110), ("standard-8", 8, 32, 110), ("standard-4", 4, 16, 110))


def node_trees(count: int, template: Mapping[str, Any] | None = None, *, first: int = 1) -> Iterator[dict[str, Any]]:
    """`count` nodes named node-1, node-2, …; a template's own labels, taints and sizes go before the built-in ones."""
    for number in range(first, first + count):
        yield _merged(_node(f"node-{number}", number - 1), template or {})


def _node(name: str, index: int) -> dict[str, Any]:
    kind, cores, gibibytes, pods = TYPES[index % len(TYPES)]
    size = {"cpu": str(cores), "memory": f"{gibibytes}Gi", "pods": str(pods), "ephemeral-storage": "100Gi"}
    free = {**size, "cpu": f"{cores * 1000 - 100}m", "memory": f"{gibibytes * 1024 - 512}Mi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",  # As kubelets still do: many node selectors ask for these two.
        "beta.kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {SIMULATED: "true"}},
        "status": {"capacity": size, "allocatable": free},
    }


def _merged(node: dict[str, Any], template: Mapping[str, Any]) -> dict[str, Any]:
    """The node with the template laid over it: maps are merged, everything else is replaced; the name stays."""
    name = node["metadata"]["name"]
    _lay_over(node, template)
    node["metadata"]["name"] = name
    return node


def _lay_over(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), dict):
            _lay_over(below[key], value)
        else:
            below[key] = copy.deepcopy(value)


async def create_nodes(door: Door, trees: Sequence[Mapping[str, Any]]) -> int:
    """Create those of the nodes that are not there yet; how many that were."""
    created = 0
    for start in range(0, len(trees), AT_ONCE):
        created += sum(await asyncio.gather(*(_create_node(door, tree) for tree in trees[start : start + AT_ONCE])))
    return created


async def _create_node(door: Door, tree: Mapping[str, Any]) -> bool:
    try:
        await door.create(NODES, msgspec.json.encode(tree))
    except AlreadyExists:
        return False
    return True
