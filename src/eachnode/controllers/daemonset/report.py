"""Reporting: the status of a DaemonSet is written when it is worth it, and is never wrong for long."""

from __future__ import annotations

import logging

from eachnode.client.door import Door
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.counters import Counters
from eachnode.decisions.slots import NEVER
from eachnode.decisions.status import counts, is_settled, needs_write, status_body
from eachnode.objects.clock import Clock
from eachnode.objects.daemonset import Counts, DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.status import ApiError, Unreachable

log = logging.getLogger(__name__)


class Reporter:
    """Writes statuses."""

    def __init__(self, door: Door, counters: Counters, *, clock: Clock) -> None:
        self._door, self._counters, self._clock = door, counters, clock

    async def report(self, charge: Charge, processed: int = 0, *, in_trouble: bool = False) -> float:
        """Write the status if that is due; answers when it will be due (NEVER when it is the truth).

        `processed` is the generation that a full pass acted upon; none did when it is zero.
        """
        daemonset, fleet = charge.daemonset, charge.fleet
        assert fleet is not None  # Only charges whose spec could be read get here.
        now = self._clock.now()
        fleet.refresh(now)
        truth = counts(fleet)
        if not needs_write(daemonset.status, truth, processed):
            charge.pacing.written()
            return NEVER
        lags = daemonset.status.observed_generation < processed
        due = charge.pacing.due(truth, now, at_once=lags or in_trouble or is_settled(fleet))
        if due > now:
            return due
        document = await self._write(daemonset, truth, processed)
        self._counters.status_writes += 1
        charge.versions.wrote(DAEMON_SETS.plural, document.read(MetadataOnly).metadata.resource_version)
        charge.pacing.written()
        return NEVER

    async def _write(self, daemonset: DaemonSet, truth: Counts, processed: int) -> Document:
        """PUT it; once more upon the live object when that fails, keeping what others wrote there."""
        try:
            return await self._put(daemonset, truth, processed)
        except (ApiError, Unreachable) as error:
            log.info("%s: writes its status upon the live object, because: %s", daemonset.metadata.key, error)
            live = await self._door.get(DAEMON_SETS, daemonset.name, daemonset.metadata.namespace)
            return await self._put(live.read(DaemonSet), truth, processed)

    async def _put(self, daemonset: DaemonSet, truth: Counts, processed: int) -> Document:
        body = status_body(daemonset, truth, processed)
        return await self._door.update(
            DAEMON_SETS, daemonset.name, body, daemonset.metadata.namespace, subresource="status"
        )
