"""Small worlds for tests: DaemonSets, nodes, pods and revisions with only what the test is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from eachnode.decisions.eligibility import Placement
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History
from eachnode.decisions.plan import Plan, decide
from eachnode.decisions.rollout import may_surge
from eachnode.decisions.slots import Aim
from eachnode.objects.clock import timestamp
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.revision import ControllerRevision

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
UID = "11111111-1111-4111-8111-111111111111"
OLD, NEW = "old", "new"  # Revision hashes.

Tree = dict[str, Any]


def daemonset(
    name: str = "d",
    *,
    template: Tree | None = None,
    strategy: Tree | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Tree | None = None,
    metadata: Tree | None = None,
    **spec: Any,
) -> DaemonSet:
    """A DaemonSet that selects app=<name>; `template` is its pods' spec."""
    tree = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": UID,
            "generation": 1,
            "resourceVersion": "7",
            **({"annotations": dict(annotations)} if annotations else {}),
            **(metadata or {}),
        },
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i:1", "resources": {}}], **(template or {})},
            },
            "updateStrategy": strategy or rolling(),
            "revisionHistoryLimit": 10,
            **spec,
        },
        "status": status or {},
    }
    return msgspec.json.decode(msgspec.json.encode(tree), type=DaemonSet)


def rolling(unavailable: int | str | None = 1, surge: int | str | None = None) -> Tree:
    """A RollingUpdate strategy."""
    amounts = {"maxUnavailable": unavailable, "maxSurge": surge}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {key: value for key, value in amounts.items() if value is not None},
    }


def node(name: str = "n1", taints: Sequence[str] = (), **labels: str) -> Node:
    """A node; a taint is written `key=value:Effect`."""
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": {"taints": [taint(text) for text in taints]}}, Node
    )


def taint(text: str) -> Tree:
    """A taint from `key=value:Effect` or `key:Effect`."""
    named, _, effect = text.rpartition(":")
    key, _, value = named.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    on: str = "n1",
    *,
    revision: str = NEW,
    phase: str = "Running",
    ready: bool | float = True,
    going: bool = False,
    bound: bool = True,
    made: float = START,
    generation: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """A pod of the DaemonSet on a node; `ready` may be the moment since when."""
    since = ready if isinstance(ready, float) and not isinstance(ready, bool) else START
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
            }
        }
    }
    all_labels = {"app": "d", "controller-revision-hash": revision, **(labels or {})}
    if generation is not None:
        all_labels["pod-template-generation"] = generation
    metadata: Tree = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "creationTimestamp": timestamp(made),
        "labels": all_labels,
    }
    if going:
        metadata["deletionTimestamp"] = timestamp(START)
    is_ready = bool(ready) and phase == "Running"
    condition = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": timestamp(since)}
    tree: Tree = {
        "metadata": metadata,
        "spec": {"affinity": affinity, **({"nodeName": on} if bound and on else {})},
        "status": {"phase": phase, "conditions": [condition]},
    }
    if not on:
        del tree["spec"]["affinity"]
    return msgspec.json.decode(msgspec.json.encode(tree), type=Pod)


def fleet_of(
    owner: DaemonSet, nodes: Iterable[Node], pods: Iterable[Pod] = (), *, revision: str = NEW, now: float = START
) -> Fleet:
    """The fleet of a DaemonSet, built at once."""
    surges = may_surge(owner.spec.update_strategy)
    fleet = Fleet(Placement.of(owner.template), Aim.of(owner, revision, surges=surges))
    for each in nodes:
        fleet.see_node(each)
    for seen in pods:
        fleet.see_pod(seen)
    fleet.refresh(now)
    return fleet


NO_HISTORY = History(hash=NEW, current=None, old=(), writes=())


def plan_of(
    owner: DaemonSet,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    *,
    now: float = START,
    history: History = NO_HISTORY,
) -> Plan:
    """What is decided for this world."""
    return decide(owner, fleet_of(owner, nodes, pods, now=now), history, now)


def created(plan: Plan) -> list[str]:
    """The nodes that get a pod."""
    return [action.node for action in plan.creates]


def deleted(plan: Plan) -> list[str]:
    """The names of the pods that go."""
    return [action.pod.name for action in plan.deletes]


def nodes_named(*names: str) -> list[Node]:
    """Nodes without labels and taints."""
    return [node(name) for name in names]


def revision(name: str, number: int, data: bytes, *, label: str | None = None, **metadata: Any) -> ControllerRevision:
    """A revision with these data bytes."""
    tree = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "3", **metadata}
    if label is not None:
        tree["labels"] = {"app": "d", "controller-revision-hash": label}
    body = b'{"metadata":%b,"data":%b,"revision":%d}' % (msgspec.json.encode(tree), data, number)
    return msgspec.json.decode(body, type=ControllerRevision)
