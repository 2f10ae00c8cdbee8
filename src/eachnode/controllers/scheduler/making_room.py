"""Making room: the victims of a preemption are asked to leave, and the pod they leave for waits until they have."""

from __future__ import annotations

import asyncio
import logging

from eachnode.controllers.scheduler.line import Line, Waiting
from eachnode.controllers.scheduler.writes import Writes, reference
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.preemption import PREEMPTED, Sacrifice
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.status import ApiError, Conflict, NotFound, Unreachable
from eachnode.objects.workload import WorkloadPod
from eachnode.runtime.clock import elapsed
from eachnode.runtime.events import EventRecorder

log = logging.getLogger(__name__)


class MakingRoom:
    """The preemptions that are under way."""

    def __init__(
        self, landscape: Landscape, line: Line, writes: Writes, events: EventRecorder, news: asyncio.Event, name: str
    ) -> None:
        self._landscape = landscape
        self._line = line
        self._writes = writes
        self._events = events
        self._news = news
        self._name = name
        # Pods for which victims are being asked; true if something happened meanwhile that may help them.
        self._for: dict[str, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._for)

    def is_for(self, waiting: Waiting) -> bool:
        """Whether victims are being asked to leave for this pod."""
        return waiting.uid in self._for

    def keep_for_later(self, waiting: Waiting) -> None:
        """Remember that the pod is to be tried again as soon as its victims have been asked."""
        self._for[waiting.uid] = True

    def announce(self, waiting: Waiting) -> None:
        """Say that `ask` is about to be run for this pod."""
        self._for[waiting.uid] = False

    async def ask(self, waiting: Waiting, sacrifice: Sacrifice) -> None:
        """Ask the victims to leave; the pod is tried again when they have left."""
        pod, node = waiting.pod, sacrifice.node
        leaving = [victim for victim in sacrifice.victims if victim.metadata.deletion_timestamp is None]
        try:
            await asyncio.gather(
                *(self._end(victim, pod, node) for victim in leaving),
                *(self._withdraw(other) for other in self._landscape.nominated_below(node, pod.priority)),
            )
        except (ApiError, Unreachable) as error:
            log.warning("room for pod %s on %s could not be made: %s", pod.metadata.key, node, error)
            self._line.rest(waiting)
            self._news.set()
        finally:
            if self._for.pop(waiting.uid):
                self._wake(waiting)

    async def _end(self, victim: WorkloadPod, preemptor: WorkloadPod, node: str) -> None:
        try:
            left = await self._writes.end(victim, self._name)
        except NotFound:
            return
        message = f"Preempted by pod {preemptor.metadata.uid} on node {node}"
        self._events.record(reference(victim), "Normal", PREEMPTED, message)
        self._notice_leaving(victim, left)

    def _notice_leaving(self, victim: WorkloadPod, left: Document) -> None:
        """Take the API's answer for what the watch will tell a moment later: nobody is sacrificed twice."""
        uid = victim.metadata.uid
        node = self._landscape.node_of(uid)
        if node is not None and left.read(MetadataOnly).metadata.uid == uid:
            self._landscape.put(left.read(WorkloadPod), node)

    async def _withdraw(self, pod: WorkloadPod) -> None:
        """A pod of lower priority must look for another place."""
        self._landscape.nominate(pod, "")
        try:
            await self._writes.withdraw_nomination(pod)
        except (NotFound, Conflict):
            return
        finally:
            waiting = self._line.get(pod.metadata.uid)
            if waiting is not None:
                self._wake(waiting)

    def _wake(self, waiting: Waiting) -> None:
        self._line.wake(waiting, elapsed())
        self._news.set()
