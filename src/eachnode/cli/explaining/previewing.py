"""A preview, from what the cluster says, and how it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from eachnode.cli.errands import each
from eachnode.cli.explaining.changing import Wanted
from eachnode.cli.explaining.observing import list_nodes, observe_with
from eachnode.client.door import Door
from eachnode.decisions.explanation_views import NodeTold
from eachnode.decisions.explanation_words import and_others
from eachnode.decisions.preview import Before, NodeChange, Preview, preview
from eachnode.decisions.preview_warnings import Rank, Warned, warnings
from eachnode.decisions.rollout import may_surge
from eachnode.decisions.scheduling import Landscape, survey
from eachnode.decisions.template import pod_body
from eachnode.objects.clock import Clock
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Metadata
from eachnode.objects.resources import PODS, PRIORITY_CLASSES
from eachnode.objects.status import Forbidden
from eachnode.objects.workload import Amounts, HostPort, WorkloadPod

if TYPE_CHECKING:
    from eachnode.simulation.forecast import Forecast

SHOWN_WAVES = 5
UNSEEN = "the pods of other namespaces may not be listed, so it is not known whether the nodes have room"
BUILT_IN = "kube-controller-manager"
OTHER_ORDER = f"{BUILT_IN} looks after it: it replaces as many at a time, in an order of its own"
NAMED = 12


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a change of one DaemonSet would do, and what is to be thought of."""

    wanted: Wanted
    preview: Preview
    warnings: tuple[Warned, ...]

    @property
    def _unplaced(self) -> int:
        """How many of the created pods get no node."""
        roomless = {node for warned in self.warnings if warned.unplaced for node in warned.nodes}
        return sum(count for node, count in self.preview.creates_on.items() if node in roomless)

    @property
    def calls(self) -> dict[str, int]:
        """How many requests to the API the change is followed by; writes of the status come on top."""
        return {
            "apply": int(self.wanted.is_change),
            "createPods": self.preview.creates,
            "deletePods": self.preview.deletes,
            "bindPods": self.preview.creates - self._unplaced,
            "writeRevisions": self.preview.revision_writes,
        }


async def look_ahead(door: Door, clock: Clock, wanted: Wanted) -> Outlook:
    """What the change would do to the cluster as it is."""
    nodes, told = await list_nodes(door)
    by_name = {node.name: node for node in nodes.values()}
    now = clock.now()
    before = Before(None, by_name)
    if wanted.before is not None:
        look = (await observe_with(door, clock, wanted.before, nodes, told)).look
        before = Before(wanted.before, by_name, tuple(look.fleet.pods.values()), look.revisions)
    first = preview(before, wanted.after, now)
    landscape = None
    if _needs_room(wanted, first):
        try:
            landscape = await _landscape(door, wanted, told)
        except Forbidden:
            wanted = replace(wanted, notes=(*wanted.notes, UNSEEN))
    rank = await _rank(door, wanted.after) if landscape is not None else Rank()
    warned = warnings(wanted.before, wanted.after, by_name, told, landscape, now, rank)
    hopeless = {node for each in warned for node in each.nodes}
    found = preview(before, wanted.after, now, hopeless) if hopeless else first
    if len(found.waves) > 1 and wanted.carried_out_by == BUILT_IN:
        wanted = replace(wanted, notes=(*wanted.notes, OTHER_ORDER))
    return Outlook(wanted, found, tuple(warned))


def _room(daemonset: DaemonSet) -> tuple[Amounts, tuple[HostPort, ...]]:
    pod = _pod(daemonset)
    return pod.requests, pod.host_ports


def _pod(daemonset: DaemonSet) -> WorkloadPod:
    return msgspec.json.decode(pod_body(daemonset, "preview").on("", "preview"), type=WorkloadPod)


def _needs_room(wanted: Wanted, found: Preview) -> bool:
    """Whether pods come to nodes that had none, or need more than those before."""
    if wanted.before is None or found.gained:
        return True
    doubled = may_surge(wanted.after.spec.update_strategy)  # Two pods at a time need the room of two.
    return bool(found.creates) and (doubled or _room(wanted.before) != _room(wanted.after))


class _PriorityClass(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    metadata: Metadata
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


async def _rank(door: Door, changed: DaemonSet) -> Rank:
    """The priority that the server will give to pods of the template; none if that may not be known."""
    name = _pod(changed).spec.priority_class_name
    try:
        known = [document.read(_PriorityClass) async for document in each(door, PRIORITY_CLASSES)]
    except Forbidden:
        return Rank()
    meant = (found for found in known if (found.metadata.name == name if name else found.global_default))
    return next((Rank(found.value, found.preemption_policy) for found in meant), Rank())


async def _landscape(door: Door, wanted: Wanted, told: dict[str, NodeTold]) -> Landscape:
    """All nodes and what is on them, without the pods that make room for their own replacements."""
    leaving = "" if wanted.before is None or may_surge(wanted.after.spec.update_strategy) else wanted.before.uid
    pods = [pod async for pod in _pods_besides(door, leaving)]
    return survey(told.values(), pods)


async def _pods_besides(door: Door, owner: str) -> AsyncIterator[WorkloadPod]:
    async for document in each(door, PODS):
        pod = document.read(WorkloadPod)
        controller = pod.metadata.controller
        if not owner or controller is None or controller.uid != owner:
            yield pod


# For people


def tell(outlook: Outlook, forecast: Forecast | None = None) -> Iterator[str]:
    """Everything, in the order in which it happens."""
    wanted, found = outlook.wanted, outlook.preview
    key = wanted.after.metadata.key
    if not wanted.is_change:
        yield f"daemonset {key}: nothing to do"
        if found.moves_pods:
            yield f"  an update is under way: {found.deletes} pods are to be deleted still, {found.creates} created"
    else:
        yield f"daemonset {key} would be {'created' if wanted.before is None else 'changed'}"
        yield from (f"  {change}" for change in wanted.changes)
        yield from _told_nodes(found)
        yield from _told_pods(found)
        yield from _told_history(outlook)
    if forecast is not None:
        yield ""
        yield f"forecast: {next(iter(forecast.lines()))}"
        yield from (f"  {line}" for line in forecast.lines()[1:])
    for note in wanted.notes:
        yield f"note: {note}"
    for warned in outlook.warnings:
        yield f"warning: {warned.sentence}"
        yield f"  → {warned.remedy}"


def _told_nodes(found: Preview) -> Iterator[str]:
    yield from _grouped("gained", found.gained)
    yield from _grouped("lost", found.lost)


def _grouped(word: str, changed: Sequence[NodeChange]) -> Iterator[str]:
    if not changed:
        return
    yield ""
    yield f"{_count(len(changed), 'node')} {word}"
    together: dict[str, list[str]] = {}
    for change in changed:
        together.setdefault(change.because, []).append(change.node)
    for because, names in together.items():
        yield f"  {and_others(names, NAMED)}: {because}"


def _told_pods(found: Preview) -> Iterator[str]:
    yield ""
    if not found.moves_pods:
        yield "no pod is created, deleted or replaced"
    elif found.waves:
        steps = "" if len(found.waves) == 1 else f", in {len(found.waves)} steps"
        at_once = "at once" if len(found.waves) == 1 else f"at most {found.at_a_time} at a time"
        yield f"{_count(found.replaced, 'pod')} replaced, {at_once}{steps}"
        for number, wave in enumerate(found.waves[:SHOWN_WAVES], 1):
            yield f"  {number}. {and_others(wave, NAMED)}"
        if len(found.waves) > SHOWN_WAVES:
            yield f"  … and {len(found.waves) - SHOWN_WAVES} steps more, the last one {and_others(found.waves[-1])}"
        created, deleted = found.creates - found.replaced, found.deletes - found.replaced
        if created > 0 or deleted > 0:
            yield f"besides, {_moved(created, deleted)}"
    else:
        yield f"no pod replaced; {_moved(found.creates, found.deletes)}"
    if found.left:
        yield from _grouped("left with an outdated pod", found.left)
    if found.trouble:
        yield f"the update stops: {found.trouble}"


def _moved(created: int, deleted: int) -> str:
    """How many come and go."""
    moved = ((created, "created"), (deleted, "deleted"))
    return ", ".join(f"{_count(number, 'pod')} {word}" for number, word in moved if number > 0)


def _told_history(outlook: Outlook) -> Iterator[str]:
    history, calls = outlook.preview.history, outlook.calls
    yield ""
    match history.kind:
        case "new":
            yield f"history: the template is recorded as revision {history.number} ({history.name})"
        case "reused":
            yield f"history: revision {history.was} ({history.name}) has this template, and becomes {history.number}"
        case _:
            yield f"history: stays as it is, at revision {history.number} ({history.name})"
    if history.forgotten:
        yield f"  forgotten: {', '.join(history.forgotten)}"
    writes = _count(calls["writeRevisions"], "revision")
    yield (
        f"API calls: {calls['apply']} to apply, {calls['createPods']} to create pods, {calls['bindPods']} to bind "
        f"them, {calls['deletePods']} to delete pods, {writes} written; writes of the status come on top"
    )


def _count(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


# For programs


def values(outlook: Outlook, forecast: Forecast | None = None) -> dict[str, Any]:
    """All of it as plain values."""
    wanted, found, metadata = outlook.wanted, outlook.preview, outlook.wanted.after.metadata
    return {
        "daemonSet": metadata.name,
        "namespace": metadata.namespace,
        "action": "none" if not wanted.is_change else "create" if wanted.before is None else "change",
        "changes": [change.tree() for change in wanted.changes],
        "gained": [_value(change) for change in found.gained],
        "lost": [_value(change) for change in found.lost],
        "replaced": {"pods": found.replaced, "atATime": found.at_a_time, "steps": [list(wave) for wave in found.waves]},
        "left": [_value(change) for change in found.left],
        "history": {
            "kind": found.history.kind,
            "name": found.history.name,
            "revision": found.history.number,
            "was": found.history.was or None,
            "forgotten": list(found.history.forgotten),
        },
        "warnings": [
            {"sentence": each.sentence, "remedy": each.remedy, "nodes": list(each.nodes)} for each in outlook.warnings
        ],
        "notes": list(wanted.notes),
        "trouble": found.trouble,
        "apiCalls": outlook.calls,
        **({"forecast": _forecast_value(forecast)} if forecast is not None else {}),
    }


def _forecast_value(forecast: Forecast) -> dict[str, Any]:
    return {
        "worlds": len(forecast.courses),
        "startTimesOfPods": forecast.starts,
        "medianSeconds": forecast.median,
        "ninetyPercentSeconds": forecast.ninety,
        "outOfService": forecast.worst,
        "outOfServiceByZone": forecast.worst_by_zone,
        "controllerCalls": forecast.calls,
        "stoppedBy": list(forecast.stopped_by),
        "assumed": list(forecast.assumptions),
    }


def _value(change: NodeChange) -> dict[str, str]:
    return {"node": change.node, "because": change.because}
