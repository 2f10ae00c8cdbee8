"""Follows one rollout: sees every change, judges whether it is done, failed or stuck, and hands on what it sees."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from eachnode.cli.board.picture import picture_of
from eachnode.cli.errands import find
from eachnode.cli.explaining.observing import observe_now, scene_of
from eachnode.cli.explaining.rooms import Glances, Unplaced
from eachnode.cli.explaining.telling import grouped
from eachnode.cli.failures import FAILED, Failure
from eachnode.cli.live import LiveView, Look
from eachnode.cli.rollout.progress import IN_THE_WAY, Progress, Tempo, is_done, is_observed
from eachnode.client.door import Door
from eachnode.decisions.explanation import Scene, explain_slot
from eachnode.decisions.explanation_views import NodeTold, PodTold
from eachnode.decisions.explanation_words import SEVERITY, Answer, Kind, and_others
from eachnode.decisions.slots import Slot
from eachnode.objects.clock import Clock
from eachnode.objects.daemonset import ROLLING_UPDATE, DaemonSet
from eachnode.objects.durations import human_duration
from eachnode.objects.meta import Key
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS, Resource
from eachnode.objects.status import ApiError, Unreachable

STUCK = 3  # The exit code for a rollout that does not get on.
EXPLAINED = 8  # Nodes in the way whose reasons are looked into.
PAUSE = 0.25  # Seconds between two looks at the least.
GLANCE = 1.0  # Seconds between two looks at the most: ages and paces change though nothing happens.

Told = TypeVar("Told")
Show = Callable[[Progress, Tempo, float], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long it may take (seconds; 0: for ever), and whether to look only once."""

    timeout: float = 0.0
    stuck_after: float = 0.0
    once: bool = False


async def follow(door: Door, name: str, namespace: str, *, clock: Clock, patience: Patience, show: Show) -> Progress:
    """Show every change until the rollout is done; raises Failure when it failed or is stuck."""
    daemonset = (await find(door, DAEMON_SETS, name, namespace)).read(DaemonSet)
    _must_roll(daemonset)
    await door.list(NODES, limit=1)  # Without this permission nothing could be followed: better told at once.
    view = LiveView(door, clock=clock, namespace=namespace)
    running = asyncio.create_task(view.run())
    try:
        synced = asyncio.create_task(view.synced())
        await asyncio.wait({running, synced}, return_when=asyncio.FIRST_COMPLETED)
        synced.cancel()
        follower = _Follower(door, view, Key(namespace, name), daemonset.uid, clock, patience)
        return await follower.to_the_end(show)
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def _must_roll(daemonset: DaemonSet) -> None:
    strategy = daemonset.spec.update_strategy.type
    if strategy != ROLLING_UPDATE:
        raise Failure(
            f"rollout status is only available for RollingUpdate strategy type: {daemonset.name} has {strategy}, "
            "whose pods follow the template when somebody deletes them"
        )


class _Follower:
    """Looks at one rollout again and again."""

    def __init__(self, door: Door, view: LiveView, key: Key, uid: str, clock: Clock, patience: Patience) -> None:
        self._door, self._view, self._key, self._uid = door, view, key, uid
        self._clock, self._patience = clock, patience
        self._began = clock.now()
        self._tempo = Tempo(self._began, self._began)
        self._generation = 0
        self._glances = Glances(door, clock)

    async def to_the_end(self, show: Show) -> Progress:
        """Look and show until it is done, or must be given up."""
        while True:
            self._view.changed.clear()
            look = self._look()
            progress = await self._progress(look)
            now = self._clock.now()
            if look.daemonset.metadata.generation != self._generation:  # Another rollout than the one before.
                self._generation, self._tempo = look.daemonset.metadata.generation, Tempo(now, now)
            self._tempo.saw(progress, now)
            show(progress, self._tempo, now)
            if progress.done or self._patience.once:
                return progress
            await self._give_up_when_stuck(progress, now)
            await self._next_change(look, now)

    def _look(self) -> Look:
        look = self._view.look(self._key)
        if look is None or look.daemonset.uid != self._uid:
            problem = self._view.problem(self._key)
            what = f"is left alone by the controller, because {problem}" if problem else "has been deleted"
            raise Failure(f"daemonset {self._key} {what}", FAILED)
        return look

    async def _progress(self, look: Look) -> Progress:
        slots = sorted(_in_the_way(look), key=lambda slot: (_oldest(slot), slot.node))
        answers = await self._explained(look, slots[:EXPLAINED])
        return Progress(
            picture_of(look),
            is_observed(look.daemonset),
            is_done(look.daemonset),
            {state: count for state, count in look.fleet.tally.states.items() if count},
            tuple(sorted(answers, key=lambda each: (SEVERITY[each.kind], each.node))),
            max(0, len(slots) - EXPLAINED),
            self._view.trouble,
        )

    async def _explained(self, look: Look, slots: list[Slot]) -> list[Answer]:
        """Why these nodes do not serve; only their own pods and nodes are asked for."""
        keys = [pod.metadata.key for slot in slots for pod in slot.pods if not pod.is_ready]
        told = [pod for key in keys if (pod := await self._asked(PODS, key, PodTold)) is not None]
        nodes = [node for slot in slots if (node := await self._asked(NODES, Key("", slot.node), NodeTold)) is not None]
        by_uid = {pod.metadata.uid: pod for pod in told}
        by_name = {node.metadata.name: node for node in nodes}
        landscape = await self._glances.at(_unplaced(slots, by_uid), by_name)
        now = self._clock.now()
        look.fleet.refresh(now)  # While others were asked, pods and nodes changed.
        slots = [slot for slot in slots if look.fleet.slots.get(slot.node) is slot]
        scene = Scene(look.daemonset, look.fleet, look.history, now, by_name, by_uid, landscape)
        answers = (explain_slot(scene, slot) for slot in slots)
        return [answer for answer in answers if answer.kind is not Kind.RUNNING]

    async def _asked(self, resource: Resource, key: Key, view: type[Told]) -> Told | None:
        try:
            return (await self._door.get(resource, key.name, key.namespace)).read(view)
        except (ApiError, Unreachable):
            return None  # Explanations do without; that the server is away is told by the view.

    async def _give_up_when_stuck(self, progress: Progress, now: float) -> None:
        timeout, stuck_after = self._patience.timeout, self._patience.stuck_after
        if timeout and now >= self._began + timeout:
            raise await self._stuck(progress, f"is not rolled out after {human_duration(timeout)}")
        if stuck_after and now >= self._tempo.moved + stuck_after:
            raise await self._stuck(progress, f"got no further for {human_duration(stuck_after)}")

    async def _stuck(self, progress: Progress, told: str) -> Failure:
        """What is told of a rollout that does not get on: which nodes are in the way, and why."""
        picture = progress.picture
        counts = f"{picture.updated} of {picture.desired} updated, {picture.available} available"
        lines = [f"daemonset {self._key} {told}: {counts}"]
        observed = await observe_now(self._door, self._clock, self._key.name, self._key.namespace)
        scene = await scene_of(self._door, self._clock, observed)
        answers = [explain_slot(scene, slot) for slot in _in_the_way(observed.look)]
        for group in grouped(answers):
            first = group[0]
            lines.append(f"  {and_others([answer.node for answer in group])}: {first.summary}")
            if first.because != first.summary:
                lines.append(f"    {first.because}")
            lines += [
                f"    → {remedy}" for remedy in dict.fromkeys(reason.remedy for reason in first.reasons) if remedy
            ]
        return Failure("\n".join(lines), STUCK)

    async def _next_change(self, look: Look, now: float) -> None:
        """Return at the next change, or when time alone may have changed something; not before a short pause."""
        patience = self._patience
        moments = [now + GLANCE, look.fleet.next_change]
        moments += [self._began + patience.timeout] if patience.timeout else []
        moments += [self._tempo.moved + patience.stuck_after] if patience.stuck_after else []
        await asyncio.sleep(PAUSE)
        wait = min(moments) - self._clock.now()
        if wait > 0 and math.isfinite(wait):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._view.changed.wait(), wait)


def _in_the_way(look: Look) -> list[Slot]:
    """The nodes that should serve and do not, and are not merely waiting for their turn."""
    return [
        slot
        for _, slot in sorted(look.fleet.slots.items())
        if slot.wanted and slot.reading is not None and slot.reading.state in IN_THE_WAY
    ]


def _unplaced(slots: list[Slot], told: Mapping[str, PodTold]) -> list[Unplaced]:
    """The pods there that no scheduler has placed, though it tried."""
    pods = ((told.get(pod.uid), pod.target) for slot in slots for pod in slot.alive if not pod.spec.node_name)
    return [Unplaced(pod, target) for pod, target in pods if pod is not None and _was_tried(pod)]


def _was_tried(pod: PodTold) -> bool:
    scheduled = pod.condition("PodScheduled")
    return scheduled is not None and scheduled.status == "False"


def _oldest(slot: Slot) -> float:
    """Since when there is a pod; what lasts longest is the likeliest trouble."""
    return min((pod.created for pod in slot.pods), default=math.inf)
