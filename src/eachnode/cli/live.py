"""DaemonSets as they are at this moment: what the controller sees, kept up to date, without acting on it.

The same informers, the same bookkeeping and the same decisions as the controller's, so that boards and explanations
cannot disagree with it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eachnode.client.door import Door
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.observe import World, concerns_daemonsets
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History, review
from eachnode.decisions.rollout import may_surge
from eachnode.decisions.slots import Aim
from eachnode.objects.clock import Clock
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from eachnode.objects.revision import ControllerRevision
from eachnode.runtime.informer import Informer


@dataclass(frozen=True, slots=True)
class Look:
    """One DaemonSet as it is now."""

    daemonset: DaemonSet
    fleet: Fleet
    history: History
    revisions: tuple[ControllerRevision, ...]


class LiveView:
    """All DaemonSets, or those of one namespace, kept up to date while `run` runs."""

    def __init__(self, door: Door, *, clock: Clock, namespace: str = "") -> None:
        self.changed = asyncio.Event()
        self._clock = clock
        common: dict[str, Any] = {"clock": clock, "chance": random.Random()}
        scoped: dict[str, Any] = {**common, "namespace": namespace}
        self.nodes = Informer(door, NODES, Node, **common)
        self._daemonsets = Informer(door, DAEMON_SETS, DaemonSet, **scoped)
        self._pods = Informer(door, PODS, Pod, keep=concerns_daemonsets, **scoped)
        self._revisions = Informer(door, CONTROLLER_REVISIONS, ControllerRevision, keep=concerns_daemonsets, **scoped)
        self._world = World(self.nodes.items, lambda _: self.changed.set(), DaemonSetOptions())
        self.nodes.subscribe(self._world.node_changed)
        self.nodes.subscribe(lambda _old, _new: self.changed.set())
        self._daemonsets.subscribe(self._world.daemonset_changed)
        self._pods.subscribe(self._world.pod_changed)
        self._revisions.subscribe(self._world.revision_changed)

    @property
    def _informers(self) -> tuple[Informer[Any], ...]:
        return self.nodes, self._daemonsets, self._pods, self._revisions

    async def run(self) -> None:
        """Keep up to date until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())

    async def synced(self) -> None:
        """Return when everything has been seen once."""
        for informer in self._informers:
            await informer.synced.wait()

    def keys_in_order(self) -> Iterator[Key]:
        """The DaemonSets there are, in order."""
        yield from sorted(self._world.charges)

    def problem(self, key: Key) -> str:
        """Why a DaemonSet cannot be processed; empty when it can, or is not there."""
        charge = self._world.charges.get(key)
        return charge.problem if charge is not None else ""

    @property
    def trouble(self) -> str:
        """Why changes do not reach us at the moment; empty when they do."""
        return next((informer.trouble for informer in self._informers if informer.trouble), "")

    def look(self, key: Key) -> Look | None:
        """One DaemonSet as it is now; None when it is gone or cannot be read."""
        charge = self._world.charges.get(key)
        return None if charge is None else look_at(charge, self._clock.now())


def look_at(charge: Charge, now: float) -> Look | None:
    """What a charge amounts to at a moment; None when its DaemonSet cannot be read."""
    if charge.fleet is None or charge.problem:
        return None
    daemonset = charge.daemonset
    revisions = tuple(sorted(charge.revisions.values(), key=lambda each: (each.revision, each.name)))
    history = review(daemonset, revisions, charge.fleet.pods.values())
    charge.fleet.take_aim(Aim.of(daemonset, history.hash, surges=may_surge(daemonset.spec.update_strategy)))
    charge.fleet.refresh(now)
    return Look(daemonset, charge.fleet, history, revisions)
