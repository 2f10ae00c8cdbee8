"""What is so on each node, and why: every slot of a DaemonSet in sentences.

The states are the controller's, the verdicts are eligibility's, what is in the way of an unplaced pod is the
scheduler's answer, and what keeps an outdated pod is the rollout's budget: nothing is judged here a second time. What
is added is what the objects tell of themselves: conditions of nodes, states of containers, events of failed creations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from eachnode.decisions.eligibility import Objection
from eachnode.decisions.explanation_of_pods import crash_of_late, ended, leaving, progress
from eachnode.decisions.explanation_of_rollouts import Pace, pace_of
from eachnode.decisions.explanation_views import NodeTold, PodTold, Word
from eachnode.decisions.explanation_words import Answer, Kind, Reason, and_others, moment
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History
from eachnode.decisions.scheduling import Landscape
from eachnode.decisions.slots import Slot, State, cast
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.pod import Pod


@dataclass(frozen=True)
class Scene:
    """Everything that is known about one DaemonSet at a moment; its fleet has been refreshed."""

    daemonset: DaemonSet
    fleet: Fleet
    history: History
    now: float
    nodes: Mapping[str, NodeTold] = field(default_factory=dict)
    pods: Mapping[str, PodTold] = field(default_factory=dict)  # By uid, at least those that do not serve.
    landscape: Landscape | None = None  # Needed where pods are not placed.
    words: Mapping[str, Word] = field(default_factory=dict)  # By uid of a pod on its way: what was told of it last.
    failed_create: str = ""  # What was said when a pod could not be created last.
    failed_create_at: float = 0.0
    failed_placements: Mapping[str, str] = field(default_factory=dict)  # By node: what the controller found lacking.

    @cached_property
    def pace(self) -> Pace:
        """What the rollout does next, and what it waits for."""
        return pace_of(self.daemonset, self.fleet, self.history, self.now)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the revisions by their hashes."""
        revisions = (*self.history.old, *((self.history.current,) if self.history.current else ()))
        return {revision.revision_hash or "": revision.revision for revision in revisions}

    def revision_of(self, pod: Pod) -> str:
        """The revision of a pod in words."""
        number = self.numbers.get(pod.revision_hash)
        return f"revision {number or pod.revision_hash}" if number or pod.revision_hash else "no revision"


def explain_fleet(scene: Scene) -> Iterator[Answer]:
    """The answer for each node, in order of their names."""
    for name in sorted(scene.fleet.slots):
        yield explain_slot(scene, scene.fleet.slots[name])


def explain_slot(scene: Scene, slot: Slot) -> Answer:
    """The answer for one node."""
    assert slot.reading is not None  # The fleet has been refreshed.
    match slot.reading.state:
        case State.REFUSED:
            return _refused(scene, slot)
        case State.VACANT:
            return _vacant(scene, slot)
        case State.SERVING:
            return _serving(scene, slot)
        case State.UNWANTED | State.LINGERING:
            return _misplaced(scene, slot)
        case State.LEAVING | State.STRANDED:
            return _leaving(scene, slot)
        case State.FAILED:
            return _failed(scene, slot)
        case State.CROWDED:
            return _crowded(slot)
        case State.SURGING:
            return _surging(scene, slot)
        case State.OUTDATED | State.BROKEN:
            return _outdated(scene, slot)
    return _starting(scene, slot, slot.alive[0])


def _reasons(objections: tuple[Objection, ...]) -> tuple[Reason, ...]:
    return tuple(Reason(objection.because, objection.remedy) for objection in objections)


def _refused(scene: Scene, slot: Slot) -> Answer:
    if slot.verdict is None:  # All that is left of the node is a pod that has ended and is being deleted.
        pod = slot.pods[0]
        kind, summary, reasons = leaving(pod, scene.pods.get(pod.uid), None, scene.now)
        return Answer(slot.node, kind, summary, reasons, pod.name)
    if trouble := _only_trouble(scene, slot, slot.verdict.objections):
        return Answer(slot.node, Kind.NODE_NOT_READY, "gets no pod until it is", trouble)
    return Answer(slot.node, Kind.REFUSED, slot.verdict.because, _reasons(slot.verdict.objections))


def _only_trouble(scene: Scene, slot: Slot, objections: tuple[Objection, ...]) -> tuple[Reason, ...]:
    """What ails the node, if all objections to it will go with that; empty when it is ready, or there are others."""
    node = scene.nodes.get(slot.node)
    trouble = node.trouble(scene.now) if node is not None else None
    if trouble is None or not all(objection.passes for objection in objections):
        return ()
    return trouble, *_reasons(objections)


def _vacant(scene: Scene, slot: Slot) -> Answer:
    daemonset = scene.daemonset
    if daemonset.is_going:
        return Answer(slot.node, Kind.VACANT, "the DaemonSet is being deleted, so no pod is started any more")
    if slot.node in scene.failed_placements:
        reason = Reason(
            f"the controller places pods itself, and found no room: {scene.failed_placements[slot.node]}",
            "make room on the node, or ask for less",
        )
        return Answer(slot.node, Kind.PENDING, "no room on the node", (reason,))
    if scene.failed_create:
        at = f" at {moment(scene.failed_create_at, scene.now)}" if scene.failed_create_at else ""
        reason = Reason(f"it was tried last{at}: {scene.failed_create}", _remedy_of_failed_create(scene))
        return Answer(slot.node, Kind.BLOCKED, "its pod could not be created", (reason,))
    if daemonset.status.observed_generation < daemonset.metadata.generation:
        reason = Reason(
            f"the controller has acted upon generation {daemonset.status.observed_generation} of the DaemonSet, "
            f"and it is generation {daemonset.metadata.generation}",
            "if this lasts, see to it that a DaemonSet controller runs",
        )
    else:
        reason = Reason(
            "no pod of it is on the node, and the controller creates one in its next pass",
            "if this lasts, see to it that a DaemonSet controller runs",
        )
    return Answer(slot.node, Kind.VACANT, reason.because, (reason,))


_QUOTA = re.compile(r"exceeded quota: ([^,]+),")


def _remedy_of_failed_create(scene: Scene) -> str:
    quota = _QUOTA.search(scene.failed_create)
    if quota is None:
        return "see to what the message names; it is tried again and again"
    where = scene.daemonset.metadata.namespace
    return f"raise the ResourceQuota {quota[1]} of namespace {where}, or free what counts against it; it is tried again"


def _serving(scene: Scene, slot: Slot) -> Answer:
    pod = slot.alive[0]
    node = scene.nodes.get(slot.node)
    if node is not None and (trouble := node.trouble(scene.now)) is not None:
        because = f"{trouble.because}; its pod counts as available still"
        reason = Reason(because, trouble.remedy)
        return Answer(slot.node, Kind.NODE_NOT_READY, "node not ready", (reason,), pod.name)
    told = scene.pods.get(pod.uid)
    if told is not None and (crash := crash_of_late(told, scene.now)):
        return Answer(
            slot.node, Kind.RUNNING, "runs the newest template, after a crash", (Reason(crash, ""),), pod.name
        )
    return Answer(slot.node, Kind.RUNNING, "runs the newest template", (), pod.name)


def _misplaced(scene: Scene, slot: Slot) -> Answer:
    """A pod where none would be started: it must leave, or may stay."""
    assert slot.verdict is not None
    pod = slot.alive[0]
    if slot.tolerated:
        if passing := _only_trouble(scene, slot, slot.verdict.objections):
            return Answer(slot.node, Kind.NODE_NOT_READY, "keeps its pod, and would get no new one", passing, pod.name)
        summary = f"keeps its pod, but would get no new one: {slot.verdict.because}"
        reasons = _reasons(slot.verdict.objections)
        if scene.fleet.aim.available_from(pod) > scene.now:
            besides = _starting(scene, slot, pod)
            summary, reasons = f"{summary}; and it does not serve: {besides.summary}", (*reasons, *besides.reasons)
        return Answer(slot.node, Kind.LINGERING, summary, reasons, pod.name)
    objections = tuple(objection for objection in slot.verdict.objections if objection.evicts)
    because = "; ".join(objection.because for objection in objections)
    summary = f"has a pod that must leave: {because}"
    return Answer(slot.node, Kind.MISPLACED, summary, _reasons(objections), pod.name)


def _leaving(scene: Scene, slot: Slot) -> Answer:
    pod = slot.present[0]
    kind, summary, reasons = leaving(pod, scene.pods.get(pod.uid), scene.nodes.get(slot.node), scene.now)
    return Answer(slot.node, kind, summary, reasons, pod.name)


def _failed(scene: Scene, slot: Slot) -> Answer:
    pod = slot.alive[0]
    summary, because = ended(pod, scene.pods.get(pod.uid))
    return Answer(slot.node, Kind.FAILED, summary, (Reason(because, ""), _next_try(scene, slot, pod)), pod.name)


def _next_try(scene: Scene, slot: Slot, pod: Pod) -> Reason:
    """When a failed pod is replaced."""
    if pod.status.phase == "Succeeded":
        return Reason("a daemon pod is to run always, so it is replaced", "")
    fleet = scene.fleet
    until = fleet.backoff.until(slot.node, fleet.aim.observed_generation, scene.now)
    if until > scene.now:
        wait = moment(until, scene.now)
        return Reason(
            f"pods failed here before, so it is replaced at {wait}",
            "repair what makes it fail; a changed spec is tried at once",
        )
    because = "it is replaced in the controller's next pass; where pods fail again and again, up to 15 minutes later"
    return Reason(because, "repair what makes it fail; a changed spec is tried at once")


def replay_failures(fleet: Fleet, told: Mapping[str, tuple[float, ...]], now: float) -> None:
    """Open the windows again that the controller opened, from the moments at which it told of failed pods."""
    for node in sorted(told):
        for when in sorted(told[node]):
            fleet.failed_pod_goes(node, when)
    fleet.refresh(now)


def _crowded(slot: Slot) -> Answer:
    kept, *others = slot.alive
    names = and_others([pod.name for pod in others])
    reason = Reason(f"{kept.name} is on the node already, so {names} must leave", "")
    return Answer(slot.node, Kind.CROWDED, "has more pods than it may have", (reason,), kept.name)


def _surging(scene: Scene, slot: Slot) -> Answer:
    _, current, outdated = cast(slot, scene.fleet.aim, scene.now)
    assert current is not None
    assert outdated is not None
    if scene.fleet.aim.available_from(current) <= scene.now:
        reason = Reason(f"{current.name} is available, so {outdated.name} leaves next", "")
        return Answer(slot.node, Kind.STARTING, "is being replaced by surge", (reason,), current.name)
    answer = _starting(scene, slot, current)
    reason = Reason(f"{outdated.name} of {scene.revision_of(outdated)} stays until {current.name} is available", "")
    summary = f"is being replaced by surge: {answer.summary}"
    return Answer(slot.node, answer.kind, summary, (*answer.reasons, reason), current.name)


def _outdated(scene: Scene, slot: Slot) -> Answer:
    _, _, pod = cast(slot, scene.fleet.aim, scene.now)
    assert pod is not None
    why = scene.pace.why_not_yet(slot.node)
    runs = scene.revision_of(pod)
    if scene.fleet.aim.available_from(pod) <= scene.now:
        return Answer(slot.node, Kind.OUTDATED, f"runs {runs}, not the newest template", why, pod.name)
    answer = _starting(scene, slot, pod)
    return Answer(slot.node, answer.kind, f"{answer.summary} (of {runs})", (*answer.reasons, *why), pod.name)


def _starting(scene: Scene, slot: Slot, pod: Pod) -> Answer:
    """A pod that is not available yet, or no longer."""
    available_from = scene.fleet.aim.available_from(pod)
    told, word = scene.pods.get(pod.uid), scene.words.get(pod.uid)
    node = scene.nodes.get(slot.node)
    kind, summary, reasons = progress(pod, told, node, scene.landscape, word, available_from, scene.now)
    return Answer(slot.node, kind, summary, reasons, pod.name)
