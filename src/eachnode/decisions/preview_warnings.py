"""What is to be thought of before a DaemonSet is changed: things that are allowed and will hurt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from eachnode.decisions.eligibility import Placement, judge
from eachnode.decisions.explanation_views import NodeTold
from eachnode.decisions.explanation_words import and_others
from eachnode.decisions.rollout import BadBudget, budget, may_surge
from eachnode.decisions.scheduling import Answer, Diagnosis, Landscape, Sacrifice, explain, place, preempt
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
    unplaced: bool = False  # They do not even get a node.


@dataclass(frozen=True, slots=True)
class Rank:
    """Before which other pods those of the template go."""

    priority: int = 0
    preempts: str | None = None  # The preemption policy.


def warnings(
    before: DaemonSet | None,
    changed: DaemonSet,
    nodes: Mapping[str, Node],
    told: Mapping[str, NodeTold],
    landscape: Landscape | None,
    now: float,
    rank: Rank = Rank(),
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
    surging = tuple(_surge_with_host_ports(changed, wanted))
    found += surging
    found += _nodes_not_ready(changed, wanted, told, now)
    if landscape is not None and not surging:  # That the ports are taken is told already.
        found += _no_room(changed, wanted, landscape, rank)
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


def _no_room(changed: DaemonSet, wanted: Iterable[str], landscape: Landscape, rank: Rank) -> Iterable[Warned]:
    """Nodes that have not enough for a pod of the changed template: by what they lack, or by whom it displaces."""
    body = pod_body(changed, "preview")
    short: dict[str, list[_Short]] = {}
    displacing: dict[str, list[_Short]] = {}
    for node in wanted:
        if node not in landscape.rooms:
            continue
        pod = _ranked(msgspec.json.decode(body.on(node, "preview"), type=WorkloadPod), rank)
        (answer,) = explain(pod, landscape, (node,))
        if answer.objections:
            found = _Short(node, answer, _victims(pod, landscape))
            (displacing if found.victims else short).setdefault(found.what, []).append(found)
    for what, lacking in sorted(short.items()):
        names = tuple(each.node for each in lacking)
        yield Warned(
            f"no room on {and_others(names)} ({what}): {lacking[0].node}: {lacking[0].facts}",
            "; ".join(lacking[0].remedies) or "make room there",
            names,
            unplaced=True,
        )
    for what, lacking in sorted(displacing.items()):
        victims = [f"{pod.metadata.key} (priority {pod.priority})" for pod in lacking[0].victims]
        yield Warned(
            f"room on {and_others([each.node for each in lacking])} ({what}) only in place of pods of lower priority: "
            f"on {lacking[0].node} in place of {and_others(victims)}",
            "ask for less, or make room there, if those pods are needed",
        )


@dataclass(frozen=True, slots=True)
class _Short:
    """A node that has not enough for a pod."""

    node: str
    answer: Answer
    victims: tuple[WorkloadPod, ...]  # Who would make room, being of lower priority.

    @property
    def what(self) -> str:
        return ", ".join(reason for each in self.answer.objections for reason in each.reasons)

    @property
    def facts(self) -> str:
        return "; ".join(fact.sentence for each in self.answer.objections for fact in each.facts) or self.what

    @property
    def remedies(self) -> tuple[str, ...]:
        facts = (fact for each in self.answer.objections for fact in each.facts)
        return tuple(dict.fromkeys(fact.remedy for fact in facts if fact.remedy))


def _ranked(pod: WorkloadPod, rank: Rank) -> WorkloadPod:
    spec = msgspec.structs.replace(pod.spec, priority=rank.priority, preemption_policy=rank.preempts)
    return msgspec.structs.replace(pod, spec=spec)


def _victims(pod: WorkloadPod, landscape: Landscape) -> tuple[WorkloadPod, ...]:
    """The pods that the scheduler would displace for this one; disruption budgets it may break, if it must."""
    diagnosis = place(pod, landscape)
    outcome = preempt(pod, landscape, diagnosis) if isinstance(diagnosis, Diagnosis) else None
    return outcome.victims if isinstance(outcome, Sacrifice) else ()


def _nodes(count: int) -> str:
    return "1 node is" if count == 1 else f"{count} nodes are"
