"""The DaemonSet controller: sees to it that each node that should run a pod of a DaemonSet runs exactly one.

Informers tell the world of every change; the world wakes the DaemonSets that a change concerns; workers take one
after the other, decide upon everything that has gathered since, and carry it out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from eachnode.client.door import Door
from eachnode.controllers.daemonset.carry_out import Carrier
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.counters import Counters
from eachnode.controllers.daemonset.observe import World, concerns_daemonsets
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.controllers.daemonset.reconcile import Reconciler
from eachnode.controllers.daemonset.rooms import Rooms
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from eachnode.objects.revision import ControllerRevision
from eachnode.runtime.events import EventRecorder
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

if TYPE_CHECKING:
    from eachnode.runtime.metrics import Metrics

log = logging.getLogger(__name__)

COMPONENT = "daemonset-controller"  # As the reference signs its events.
TIDYING = 60.0  # Seconds between two looks for what can be forgotten.


class DaemonSetController:
    """Keeps exactly one pod on each node that should have one."""

    def __init__(
        self,
        door: Door,
        *,
        clock: Clock,
        chance: Chance,
        options: DaemonSetOptions | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.synced = asyncio.Event()
        self.counters = Counters()
        self.queue: WorkQueue[Key] = WorkQueue(clock)
        self._options = options = options or DaemonSetOptions()
        self._clock = clock
        self._events = EventRecorder(door, clock=clock, chance=chance, component=COMPONENT)
        where = options.namespace
        self._nodes = Informer(door, NODES, Node, clock=clock, chance=chance)
        self._daemonsets = Informer(
            door, DAEMON_SETS, DaemonSet, clock=clock, chance=chance, namespace=where, on_malformed=self._malformed
        )
        self._pods = Informer(door, PODS, Pod, clock=clock, chance=chance, namespace=where, keep=concerns_daemonsets)
        self._revisions = Informer(
            door, CONTROLLER_REVISIONS, ControllerRevision, clock=clock, chance=chance, namespace=where,
            keep=concerns_daemonsets,
        )  # fmt: skip
        self._world = World(self._nodes.items, self.queue.add, options)
        self._nodes.subscribe(self._world.node_changed)
        self._daemonsets.subscribe(self._world.daemonset_changed)
        self._pods.subscribe(self._world.pod_changed)
        self._revisions.subscribe(self._world.revision_changed)
        self._rooms: Rooms | None = None
        if options.placement == "direct":
            self._rooms = Rooms(door, self.charges, self.queue.add, clock=clock, chance=chance)
        carrier = Carrier(
            door, self._events, self.counters, clock=clock, chance=chance, bind=options.placement == "direct"
        )
        self._reconciler = Reconciler(
            door,
            self.charges,
            carrier,
            self.counters,
            clock=clock,
            seen=self._seen,
            wake_after=self.queue.add_after,
            rooms=self._rooms,
        )
        self._on_pass: Callable[[float, str], None] | None = None
        if metrics is not None:
            self._show(metrics)

    @property
    def charges(self) -> Mapping[Key, Charge]:
        """The DaemonSets that are looked after; to be read only."""
        return self._world.charges

    @property
    def trouble(self) -> str:
        """Why something is not seen at the moment, for people; empty when all is."""
        return "; ".join(each.trouble for each in self._informers() if each.trouble)

    async def run(self) -> None:
        """Look after DaemonSets until cancelled, or until `wind_down` and what was in flight is done."""
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(informer.run()) for informer in self._informers()]
            background.append(group.create_task(self._events.run()))
            background.append(group.create_task(self._tidy()))
            for informer in (self._nodes, self._pods, self._revisions, self._daemonsets):
                await informer.synced.wait()
            if self._rooms is not None:
                await self._rooms.synced()
            self.synced.set()
            await work(self.queue, self._reconciler.reconcile, self._options.workers, on_pass=self._on_pass)
            for task in background:
                task.cancel()
        await self._events.drain()

    def wind_down(self) -> None:
        """Begin no more passes; `run` returns when those in flight are done."""
        self.queue.close()

    def _informers(self) -> list[Informer[Any]]:
        ours: list[Informer[Any]] = [self._nodes, self._pods, self._revisions, self._daemonsets]
        return [*ours, self._rooms.pods, self._rooms.nodes] if self._rooms is not None else ours

    def _seen(self, plural: str) -> str:
        """How far the cache of a resource has come."""
        return next((each.version for each in self._informers() if each.resource.plural == plural), "")

    async def _tidy(self) -> None:
        """Forget back-off that would start anew anyway."""
        while True:
            await asyncio.sleep(TIDYING)
            now = self._clock.now()
            for charge in self.charges.values():
                if charge.fleet is not None:
                    charge.fleet.backoff.forget_idle(now)

    def _malformed(self, document: Document, error: Exception) -> None:  # noqa: ARG002 the informer says what it was
        self.counters.malformed += 1

    def _show(self, metrics: Metrics) -> None:
        from eachnode.controllers.daemonset.metrics import show

        show(self, metrics)
        self._on_pass = metrics.watch_queue("daemonset", self.queue)
        for informer in self._informers():
            metrics.watch_informer(informer)
