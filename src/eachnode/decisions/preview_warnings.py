"""What is to be thought of before a DaemonSet is changed: things that are allowed and will hurt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from eachnode.decisions.eligibility import Placement, judge
from eachnode.decisions.explanation_views import NodeTold
from eachnode.decisions.explanation_words import and_others
from eachnode.decisions.rollout import BadBudget, budget, may_surge
from eachnode.decisions.scheduling import Landscape, explain
from eachnode.decisions.template import pod_body
from eachnode.objects.daemonset import ON_DELETE, DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.workload import WorkloadPod


@dataclass(frozen=True, slots=True)
class Warned:
    """Something to think of, what to do about it, and the nodes on which new pods will not start because of it."""

    sentence: str
    remedy: str
    nodes: tuple[str, ...] = ()


def warnings(
    before: DaemonSet | None,
    changed: DaemonSet,
    nodes: Mapping[str, Node],
    told: Mapping[str, NodeTold],
    landscape: Landscape | None,
    now: float,
) -> list[Warned]:
    """Everything to think of; the landscape without the pods that are replaced, if room is to be looked at."""
    placement = Placement.of(changed.template)
    wanted = sorted(name for name, node in nodes.items() if judge(placement, node).should_run)
    found: list[Warned] = []
    if before is not None and before.spec.selector != changed.spec.selector:
        found.append(
            Warned(
                "spec.selector changes, and the server refuses that: it cannot be changed",
                "give the DaemonSet another name, or delete it with --cascade=orphan and create it anew",
            )
        )
    found += _surge_with_host_ports(changed, wanted)
    found += _nodes_not_ready(changed, wanted, told, now)
    if landscape is not None:
        found += _no_room(changed, wanted, landscape)
    return found


def _pod_on(changed: DaemonSet, node: str) -> WorkloadPod:
    return msgspec.json.decode(pod_body(changed, "preview").on(node, "preview"), type=WorkloadPod)


def _surge_with_host_ports(changed: DaemonSet, wanted: Iterable[str]) -> Iterable[Warned]:
    ports = _pod_on(changed, "").host_ports
    if ports and may_surge(changed.spec.update_strategy):
        named = ", ".join(f"{port.port}/{port.protocol}" for port in ports)
        yield Warned(
            f"maxSurge with host ports ({named}): the second pod of a node cannot start while the first has the port, "
            "so an update never gets beyond its first nodes",
            "set maxSurge to 0 and maxUnavailable to 1 or more",
            tuple(wanted),
        )


def _nodes_not_ready(
    changed: DaemonSet, wanted: Iterable[str], told: Mapping[str, NodeTold], now: float
) -> Iterable[Warned]:
    dark = tuple(name for name in wanted if name in told and told[name].trouble(now) is not None)
    if not dark:
        return
    held = ""
    if changed.spec.update_strategy.type != ON_DELETE:
        try:
            allowed = budget(changed.spec.update_strategy, len(list(wanted)))
        except BadBudget:
            return  # Told as the trouble of the rollout.
        size = allowed.surge or allowed.unavailable
        held = f", and they hold {len(dark)} of the {size} that the update strategy allows at a time"
    yield Warned(
        f"{_nodes(len(dark))} not ready ({and_others(dark)}): pods there do not become available{held}",
        "repair these nodes first, remove them, or allow more at a time",
        dark,
    )


def _no_room(changed: DaemonSet, wanted: Iterable[str], landscape: Landscape) -> Iterable[Warned]:
    """Nodes that have not enough for a pod of the changed template, by what they lack."""
    body = pod_body(changed, "preview")
    short: dict[str, list[str]] = {}
    examples: dict[str, str] = {}
    for node in wanted:
        if node not in landscape.rooms:
            continue
        pod = msgspec.json.decode(body.on(node, "preview"), type=WorkloadPod)
        (answer,) = explain(pod, landscape, (node,))
        if answer.objections:
            what = ", ".join(reason for each in answer.objections for reason in each.reasons)
            facts = "; ".join(fact.sentence for each in answer.objections for fact in each.facts)
            short.setdefault(what, []).append(node)
            examples.setdefault(what, f"{node}: {facts}" if facts else node)
    for what, names in sorted(short.items()):
        yield Warned(
            f"no room on {and_others(names)} ({what}): {examples[what]}",
            "ask for less, make room there, or give the pods a priority class that may displace others",
            tuple(names),
        )


def _nodes(count: int) -> str:
    return "1 node is" if count == 1 else f"{count} nodes are"
