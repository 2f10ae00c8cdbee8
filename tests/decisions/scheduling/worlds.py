"""Pods and nodes for tests, written as briefly as they can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from eachnode.decisions.scheduling import Landscape, survey
from eachnode.objects.workload import DisruptionBudget, WorkloadNode, WorkloadPod

Json = dict[str, Any]


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    cordoned: bool = False,
    more: Mapping[str, str] | None = None,
) -> WorkloadNode:
    """A node; taints are written `key=value:Effect`."""
    tree = {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"unschedulable": cordoned, "taints": [_taint(text) for text in taints]},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})}},
    }
    return msgspec.convert(tree, WorkloadNode)


def _taint(text: str) -> Json:
    pair, effect = text.rsplit(":", 1)
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    *,
    on: str = "",
    cpu: str = "",
    memory: str = "",
    port: int = 0,
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    namespace: str = "default",
    owner: str = "",
    started: str | None = None,
    pinned_to: Iterable[str] = (),
    affinity: Json | None = None,
    status: Json | None = None,
    metadata: Json | None = None,
    **spec: Any,
) -> WorkloadPod:
    """A pod with one container; further fields of its spec by their API names."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    owners = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}] if owner else None
    pins = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [each]}]} for each in pinned_to]
    if pins:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": pins}}
        affinity = {**(affinity or {}), "nodeAffinity": required}
    tree = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-of-{namespace}-{name}",
            "labels": dict(labels or {}),
            "ownerReferences": owners,
            **(metadata or {}),
        },
        "spec": {
            "nodeName": on,
            "priority": priority,
            "containers": [container],
            "affinity": affinity,
            **spec,
        },
        "status": {"phase": "Running" if on else "Pending", "startTime": started, **(status or {})},
    }
    return msgspec.convert(tree, WorkloadPod)


def tolerating(*texts: str) -> list[Json]:
    """Tolerations, written `key=value:Effect`, or `key:Effect` for any value."""
    found = []
    for text in texts:
        taint = _taint(text)
        match = {"value": taint["value"]} if taint["value"] else {"operator": "Exists"}
        found.append({"key": taint["key"], "effect": taint["effect"], **match})
    return found


def near(key: str, *, namespaces: Iterable[str] | None = None, selector: Json | None = None, **labels: str) -> Json:
    """A pod affinity term about pods with these labels."""
    term: Json = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    if namespaces is not None:
        term["namespaces"] = list(namespaces)
    if selector is not None:
        term["namespaceSelector"] = selector
    return term


def must(kind: str, *terms: Json) -> Json:
    """Required `podAffinity` or `podAntiAffinity`."""
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(key: str, skew: int = 1, *, when: str = "DoNotSchedule", more: Json | None = None, **labels: str) -> Json:
    """A topology spread constraint over pods with these labels."""
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": labels},
        **(more or {}),
    }


def budget(name: str, allowed: int, **labels: str) -> DisruptionBudget:
    """A disruption budget over pods with these labels."""
    tree = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(tree, DisruptionBudget)


def world(nodes: Iterable[WorkloadNode], pods: Iterable[WorkloadPod] = ()) -> Landscape:
    """The landscape of these."""
    return survey(nodes, pods)
