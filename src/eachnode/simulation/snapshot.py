"""A picture of a real cluster, taken through a door that only reads: what a forecast begins from.

Of the nodes: what decides where pods go, and the room that pods of others leave. Of the DaemonSet: itself, and how
long its pods took to start. Times come in whole seconds, rounded down; over many pods that cancels out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.client.door import Door
from eachnode.decisions.pod_stages.view import SIMULATED
from eachnode.objects.clock import seconds
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import (
    DAEMON_SETS,
    LIMIT_RANGES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    Resource,
)
from eachnode.objects.workload import WorkloadPod, amount, effective_requests

Tree = dict[str, Any]
PAGE = 500
_BY_HEALTH = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable")


@dataclass(frozen=True, slots=True)
class Start:
    """How long one pod took to start."""

    until_started: float  # From its creation until its last container ran: scheduling, sandbox, images.
    until_ready: float  # From then until it was ready.


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What of a cluster matters to one DaemonSet."""

    daemonset: Tree
    nodes: tuple[Tree, ...]
    around: tuple[Tree, ...] = ()  # Priority classes, quotas and limits that its pods are subject to.
    starts: tuple[Start, ...] = ()
    dead: tuple[str, ...] = ()  # Nodes that are not ready.
    broken: tuple[str, ...] = ()  # Nodes that are well, with a pod of it that is not.


async def take(door: Door, name: str, namespace: str) -> Snapshot:
    """A picture of the cluster as this DaemonSet finds it; raises NotFound."""
    daemonset = (await door.get(DAEMON_SETS, name, namespace)).tree()
    pods = await _all(door, PODS)
    mine = [pod for pod in pods if _owner(pod) == daemonset["metadata"]["uid"]]
    nodes = [each.tree() for each in await _all(door, NODES)]
    taken = _taken(each for each in pods if _owner(each) != daemonset["metadata"]["uid"])
    dead = tuple(sorted(each["metadata"]["name"] for each in nodes if not _is_ready(each)))
    trees = [each.tree() for each in mine]
    broken = {each["spec"].get("nodeName", "") for each in trees if not _is_ready(each)} - {*dead, ""}
    return Snapshot(
        daemonset=_daemonset(daemonset),
        nodes=tuple(_node(each, taken.get(each["metadata"]["name"], {})) for each in nodes),
        around=tuple([tree async for tree in _around(door, daemonset)]),
        starts=tuple(start for each in trees if (start := start_of(each)) is not None),
        dead=dead,
        broken=tuple(sorted(broken)),
    )


async def _all(door: Door, resource: Resource, namespace: str = "") -> list[Document]:
    found: list[Document] = []
    after = ""
    while True:
        page = await door.list(resource, namespace, limit=PAGE, after=after)
        found += page.documents
        after = page.continues
        if not after:
            return found


def _owner(pod: Document) -> str:
    controller = pod.read(MetadataOnly).metadata.controller
    return controller.uid if controller is not None else ""


def _is_ready(tree: Tree) -> bool:
    conditions = tree.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _taken(pods: Any) -> dict[str, dict[str, int]]:
    """What the pods of others take of each node."""
    found: dict[str, dict[str, int]] = {}
    for document in pods:
        pod = document.read(WorkloadPod)
        if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"):
            room = found.setdefault(pod.spec.node_name, {})
            for resource, wanted in {**effective_requests(pod), "pods": 1}.items():
                room[resource] = room.get(resource, 0) + wanted
    return found


def _node(tree: Tree, taken: Mapping[str, int]) -> Tree:
    """The node as a simulated one, as large as what others leave of it."""
    metadata, spec, status = tree["metadata"], tree.get("spec", {}), tree.get("status", {})
    free = {
        resource: _left(resource, quantity, taken.get(resource, 0))
        for resource, quantity in (status.get("allocatable") or {}).items()
    }
    taints = [each for each in spec.get("taints") or () if each["key"] not in _BY_HEALTH]
    annotations = {SIMULATED: "true"}
    about = {"name": metadata["name"], "labels": metadata.get("labels") or {}, "annotations": annotations}
    wanted = {"taints": taints, "unschedulable": spec.get("unschedulable", False)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": about, "spec": wanted, "status": _size(free)}


def _size(free: Mapping[str, str]) -> Tree:
    return {"capacity": dict(free), "allocatable": dict(free)} if free else {}


def _left(resource: str, quantity: str, taken: int) -> str:
    left = max(0, amount(resource, quantity) - taken)
    return f"{left}m" if resource == "cpu" else str(left)


def _daemonset(tree: Tree) -> Tree:
    metadata = tree["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if metadata.get(key)}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": kept, "spec": tree["spec"]}


async def _around(door: Door, daemonset: Tree) -> Any:
    """What admission asks of the DaemonSet's pods."""
    namespace = daemonset["metadata"]["namespace"]
    wanted = daemonset["spec"]["template"].get("spec", {}).get("priorityClassName")
    for document in await _all(door, PRIORITY_CLASSES):
        tree = document.tree()
        if tree["metadata"]["name"] == wanted or tree.get("globalDefault"):
            yield _bare(tree, PRIORITY_CLASSES)
    for resource in (RESOURCE_QUOTAS, LIMIT_RANGES):
        for document in await _all(door, resource, namespace):
            tree = document.tree()
            if resource is RESOURCE_QUOTAS:
                tree = _remaining(tree, daemonset)
            yield _bare(tree, resource)


def _bare(tree: Tree, resource: Resource) -> Tree:
    metadata = {key: tree["metadata"][key] for key in ("name", "namespace") if tree["metadata"].get(key)}
    kept = {key: value for key, value in tree.items() if key not in ("metadata", "status")}
    return {**kept, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def _remaining(quota: Tree, daemonset: Tree) -> Tree:
    """The quota, less the pods of others: only how many there are is known to be counted alike."""
    status = quota.get("status", {})
    scheduled = daemonset.get("status", {}).get("currentNumberScheduled", 0)
    hard = dict(quota["spec"].get("hard") or {})
    for name in ("pods", "count/pods"):
        if name in hard:
            used = amount("pods", (status.get("used") or {}).get(name, "0"))
            hard[name] = str(max(0, amount("pods", hard[name]) - max(0, used - scheduled)))
    return {**quota, "spec": {**quota["spec"], "hard": hard}}


def start_of(pod: Tree) -> Start | None:
    """How long a pod took to start; None when it has not, or when it started more than once."""
    status = pod.get("status", {})
    containers: Sequence[Tree] = status.get("containerStatuses") or ()
    if not containers or any(each.get("restartCount") for each in containers) or not _is_ready(pod):
        return None
    try:
        created = seconds(pod["metadata"]["creationTimestamp"])
        started = max(seconds(each["state"]["running"]["startedAt"]) for each in containers)
        ready = next(seconds(each["lastTransitionTime"]) for each in status["conditions"] if each["type"] == "Ready")
    except (KeyError, TypeError, ValueError):
        return None
    return Start(max(0.0, started - created), max(0.0, ready - started))


def with_images(daemonset: Tree, images: Mapping[str, str]) -> Tree:
    """The DaemonSet with other images for these containers; raises ValueError for a container that it does not have."""
    changed: Tree = msgspec.json.decode(msgspec.json.encode(daemonset))
    spec = changed["spec"]["template"]["spec"]
    containers = {each["name"]: each for each in (*(spec.get("initContainers") or ()), *spec["containers"])}
    for name, image in images.items():
        if name not in containers:
            raise ValueError(f"there is no container {name!r}; there are {', '.join(containers)}")
        containers[name]["image"] = image
    return changed
