"""Slots: one node as one DaemonSet sees it, and the words for what is there.

A slot is read twice. Its *state* is the one word for people and counters. Its *role* is what it is to a rollout, which
looks at nothing but how many current and how many outdated pods live there and whether they are available.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from eachnode.decisions.eligibility import Verdict
from eachnode.objects.daemonset import ON_DELETE, DaemonSet
from eachnode.objects.pod import GENERATION_LABEL, Pod

NEVER = math.inf


class State(StrEnum):
    """The one word for what is on a node."""

    REFUSED = "refused"  # No pod is wanted here and none is here.
    VACANT = "vacant"  # A pod is wanted and none is here.
    STARTING = "starting"  # A current pod, not available yet.
    SERVING = "serving"  # A current pod, available.
    OUTDATED = "outdated"  # A pod of an older revision, available.
    BROKEN = "broken"  # A pod of an older revision, not available.
    SURGING = "surging"  # An outdated pod and its replacement side by side.
    FAILED = "failed"  # All that lives here has ended, though a daemon pod is to run always.
    CROWDED = "crowded"  # More pods than may be.
    LINGERING = "lingering"  # A pod that may stay, where none would be started.
    UNWANTED = "unwanted"  # A pod that must leave.
    LEAVING = "leaving"  # Pods whose deletion has begun, and no other.
    STRANDED = "stranded"  # Pods of a node that does not exist.


class Role(StrEnum):
    """What a slot is to a rollout."""

    OUTSIDE = "outside"  # Not counted: no pod is here and none is wanted, or the node was lost before its pods were.
    EMPTY = "empty"  # It counts, but nothing lives here.
    EXCESS = "excess"  # Several current or several outdated pods.
    WAITING = "waiting"  # A current pod, not available.
    DONE = "done"  # A current pod, available.
    BROKEN = "broken"  # An outdated pod, not available.
    OUTDATED = "outdated"  # An outdated pod, available.
    PAIRED = "paired"  # Both, and the current one is not available yet.
    OVERTAKEN = "overtaken"  # Both, and the current one is available.


@dataclass(frozen=True, slots=True)
class Aim:
    """What a DaemonSet wants of every slot, besides its placement."""

    revision: str = ""  # The label of current pods.
    generation: str | None = None  # The other label of current pods, on clusters that still have it.
    min_ready_seconds: int = 0
    surges: bool = False  # Two pods may share a node while one replaces the other.
    follows: bool = True  # Outdated pods are replaced; not so with OnDelete.
    observed_generation: int = 0  # Which generation the back-off of failed pods belongs to.

    @classmethod
    def of(cls, daemonset: DaemonSet, revision: str, *, surges: bool) -> Aim:
        """What this DaemonSet wants while `revision` is the current one."""
        spec = daemonset.spec
        return cls(
            revision=revision,
            generation=daemonset.template_generation,
            min_ready_seconds=spec.min_ready_seconds,
            surges=surges,
            follows=spec.update_strategy.type != ON_DELETE,
            observed_generation=daemonset.status.observed_generation,
        )

    def is_current(self, pod: Pod) -> bool:
        """Whether the pod is as the template wants it: by revision, or by template generation."""
        labels = pod.labels
        if self.revision and pod.revision_hash == self.revision:
            return True
        return self.generation is not None and labels.get(GENERATION_LABEL) == self.generation

    def available_from(self, pod: Pod) -> float:
        """When the pod counts, or counted, as available; NEVER when it is not ready."""
        since = pod.available_since(self.min_ready_seconds)
        return NEVER if since is None else since


class Reading(NamedTuple):
    """What a slot adds to the tally of its fleet."""

    state: State
    role: Role
    wanted: bool
    unsettled: bool  # Something is to be created or deleted here whatever the rollout does.
    present: bool = False
    ready: bool = False
    available: bool = False
    current: bool = False  # The pod that is counted is of the current revision.
    still_serves: bool = False  # The outdated pod if there is one, else the current one, is available.


class Slot:
    """One node as one DaemonSet sees it: the verdict on it, and the pods there that are ours."""

    __slots__ = ("node", "pods", "reading", "unreachable", "until", "verdict")

    def __init__(self, node: str) -> None:
        self.node = node
        self.verdict: Verdict | None = None  # None: the node does not exist.
        self.unreachable = False  # The node is not heard of.
        self.pods: tuple[Pod, ...] = ()  # In keep order.
        self.reading: Reading | None = None  # As it was last read by its fleet.
        self.until = NEVER  # When the reading changes by itself.

    @property
    def wanted(self) -> bool:
        """Whether a pod is to run here."""
        return self.verdict is not None and self.verdict.should_run

    @property
    def tolerated(self) -> bool:
        """Whether a pod may stay here."""
        return self.verdict is not None and self.verdict.should_stay

    @property
    def present(self) -> tuple[Pod, ...]:
        """Its pods without those that have ended and are being deleted: nothing is left to do about them."""
        for pod in self.pods:
            if pod.is_over and pod.is_terminating:
                return tuple(pod for pod in self.pods if not (pod.is_over and pod.is_terminating))
        return self.pods

    @property
    def alive(self) -> tuple[Pod, ...]:
        """Its pods whose deletion has not begun."""
        for pod in self.pods:
            if pod.is_terminating:
                return tuple(pod for pod in self.pods if not pod.is_terminating)
        return self.pods

    @property
    def was_lost_first(self) -> bool:
        """Whether the node is not heard of, and its pods served nobody any more when their deletion began.

        What is out of service there is so by nobody's hand, and may stay so for ever.
        """
        return self.unreachable and bool(self.present) and not any(pod.served_to_the_end for pod in self.present)

    def put(self, pod: Pod) -> None:
        """The pod is here, as it now is."""
        others = [other for other in self.pods if other.uid != pod.uid]
        self.pods = (pod,) if not others else tuple(sorted((*others, pod), key=lambda each: each.keep_order))

    def drop(self, uid: str) -> None:
        """The pod is no longer here."""
        self.pods = tuple(pod for pod in self.pods if pod.uid != uid)


class Cast(NamedTuple):
    """The living pods of a slot as a rollout sees them."""

    role: Role
    current: Pod | None = None
    outdated: Pod | None = None


def cast(slot: Slot, aim: Aim, now: float) -> Cast:
    """Who plays which part in a rollout."""
    current: Pod | None = None
    outdated: Pod | None = None
    for pod in slot.alive:
        if aim.is_current(pod):
            if current is not None:
                return Cast(Role.EXCESS)
            current = pod
        else:
            if outdated is not None:
                return Cast(Role.EXCESS)
            outdated = pod
    if current is None and outdated is None:
        counts = (slot.wanted or slot.present) and not slot.was_lost_first
        return Cast(Role.EMPTY if counts else Role.OUTSIDE)
    if outdated is None:
        assert current is not None
        return Cast(Role.DONE if aim.available_from(current) <= now else Role.WAITING, current)
    if current is None:
        return Cast(Role.OUTDATED if aim.available_from(outdated) <= now else Role.BROKEN, None, outdated)
    return Cast(Role.OVERTAKEN if aim.available_from(current) <= now else Role.PAIRED, current, outdated)


def state_of(slot: Slot, role: Role) -> State:
    """The one word for what is on the node."""
    if not slot.present:
        return State.VACANT if slot.wanted else State.REFUSED
    if slot.verdict is None:
        return State.STRANDED
    alive = slot.alive
    if not alive:
        return State.LEAVING
    if not slot.tolerated:
        return State.UNWANTED
    if all(pod.is_over for pod in alive):
        return State.FAILED
    if not slot.wanted:
        return State.LINGERING
    return _BY_ROLE[role]


_BY_ROLE = {
    Role.EXCESS: State.CROWDED,
    Role.WAITING: State.STARTING,
    Role.DONE: State.SERVING,
    Role.BROKEN: State.BROKEN,
    Role.OUTDATED: State.OUTDATED,
    Role.PAIRED: State.SURGING,
    Role.OVERTAKEN: State.SURGING,
}


def next_availability(pods: Iterable[Pod], aim: Aim, now: float) -> float:
    """When the next of these pods becomes available by waiting alone."""
    if not aim.min_ready_seconds:
        return NEVER
    return min((since for pod in pods if (since := aim.available_from(pod)) > now), default=NEVER)


def classify(slot: Slot, aim: Aim, now: float, *, unsettled: bool) -> Reading:
    """What the slot adds to the tally."""
    present = slot.present
    role, current, outdated = cast(slot, aim, now)
    state = state_of(slot, role)
    if not present:
        return Reading(state, role, slot.wanted, unsettled)
    first = present[0]
    since = aim.available_from(first)
    still_serving = outdated or current
    return Reading(
        state,
        role,
        slot.wanted,
        unsettled,
        present=True,
        ready=first.is_ready,
        available=since <= now,
        current=aim.is_current(first),
        still_serves=still_serving is not None and aim.available_from(still_serving) <= now,
    )
