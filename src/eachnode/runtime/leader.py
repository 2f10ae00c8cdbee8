"""Leader election: of several instances one works, and when it is lost another takes over.

The leader renews a Lease. A candidate watches it, and counts a lease as expired when *it has seen* no renewal for the
lease's duration on its own clock: what clocks elsewhere say is never compared. The leader in turn stops trusting its
own lease a margin earlier than anybody may take it over, counted from the moment it *sent* its last successful renewal.
A process that was stopped for a while therefore finds, before its first write, that it leads no longer (`fenced`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.client.intercepting import Call, Intercepting
from eachnode.objects.clock import Chance, Clock, micro_timestamp
from eachnode.objects.document import Document
from eachnode.objects.meta import Metadata
from eachnode.objects.resources import LEASES
from eachnode.objects.status import ApiError, Conflict, Unreachable
from eachnode.runtime.clock import elapsed
from eachnode.runtime.informer import Informer
from eachnode.runtime.versions import older

log = logging.getLogger(__name__)

RELEASE_WITHIN = 5.0  # Seconds that a farewell may take.


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Who holds a lease, and for how long after each renewal."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a Lease that an election reads."""

    metadata: Metadata
    spec: LeaseSpec = LeaseSpec()


class NotLeading(Unreachable):
    """A write that was refused here, before it was sent, because another instance may lead by now."""


class LeaderElection:
    """One instance's part in the election for one Lease."""

    def __init__(
        self,
        door: Door,
        *,
        clock: Clock,
        chance: Chance,
        identity: str,
        name: str,
        namespace: str,
        lease_seconds: int = 15,
        renew_within: float = 10.0,
        retry_every: float = 2.0,
    ) -> None:
        if not lease_seconds > renew_within > retry_every * 1.2:
            raise ValueError("a lease must outlast the time to renew it in, and that several attempts")
        self._door, self._clock, self._chance = door, clock, chance
        self.identity, self._name, self._namespace = identity, name, namespace
        self._lease_seconds, self._renew_within, self._retry_every = lease_seconds, renew_within, retry_every
        self._lease: Lease | None = None
        self._seen_at = 0.0  # On the loop's clock: when we saw the lease as it is.
        self._changed = asyncio.Event()
        self._renewed_at = self._renewed_at_wall = float("-inf")
        self._unheard = False  # Whether our last claim got no answer.
        self._informer: Informer[Lease] | None = None

    @property
    def trouble(self) -> str:
        """Why the lease cannot be followed at the moment, for people; empty when it can."""
        return self._informer.trouble if self._informer is not None else ""

    @property
    def leading(self) -> bool:
        """Whether the lease is surely ours at this moment."""
        # Two clocks, because the monotonic one may stand still while the machine sleeps, and the other may be set.
        lasted = elapsed() - self._renewed_at
        lasted_by_wall = self._clock.now() - self._renewed_at_wall
        return max(lasted, lasted_by_wall) < self._renew_within and self.leader == self.identity

    @property
    def leader(self) -> str:
        """Who holds the lease, as far as we have seen; empty when nobody does."""
        return (self._lease.spec.holder_identity or "") if self._lease is not None else ""

    def fenced(self, door: Door) -> Door:
        """The door, but writes are refused (`NotLeading`) unless the lease is surely ours."""
        return _Fenced(door, self)

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Call `lead` whenever we lead, cancel it when we do not any more; return when it returns by itself."""
        informer = self._informer = Informer(
            self._door,
            LEASES,
            Lease,
            clock=self._clock,
            chance=self._chance,
            namespace=self._namespace,
            fields=f"metadata.name={self._name}",
            keep=lambda lease: lease.metadata.name == self._name,
        )
        informer.subscribe(lambda _old, new: self._see(new))
        watching = asyncio.create_task(informer.run())
        try:
            await informer.synced.wait()
            finished = False
            while not finished:
                await self._become_leader()
                finished = await self._lead(lead)
        finally:
            await _stopped(watching)

    # Candidate

    async def _become_leader(self) -> None:
        while True:
            self._changed.clear()
            wait = self._free_in()
            if wait <= 0:
                if await self._claim():
                    log.info("%s: leads, because the lease %s was free", self.identity, self._name)
                    return
                wait = self._retry_every * (1 + self._chance.random() / 5)
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                pass

    def _free_in(self) -> float:
        """Seconds until the lease may be taken, as far as we have seen; none when it is free or ours."""
        ours = self.leader == self.identity
        if self._lease is None or not self.leader or (ours and not self._unheard):
            return 0.0
        duration = self._lease.spec.lease_duration_seconds or self._lease_seconds
        # Our claims may arrive although no answer does: renewing a lease that we cannot use would keep all others out.
        behind_others = self._retry_every if ours else 0.0
        return self._seen_at + duration + behind_others - elapsed()

    def _see(self, lease: Lease | None) -> None:
        known = self._lease.metadata.resource_version if self._lease is not None else ""
        version = lease.metadata.resource_version if lease is not None else ""
        if version and (version == known or older(version, known)):
            return  # The echo of our own write, or of what was there before it.
        self._lease = lease
        self._seen_at = elapsed()
        self._changed.set()

    # Leader

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Lead until the work is finished (True) or the lease is lost (False)."""
        working = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._keep_renewing())
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()  # Its failure is ours.
                return True
            log.warning("%s: leads no longer, because the lease %s was lost", self.identity, self._name)
            return False
        finally:
            await _stopped(working)
            await _stopped(renewing)
            await self._release()

    async def _keep_renewing(self) -> None:
        """Return when the lease is lost."""
        while True:
            await asyncio.sleep(self._retry_every)
            deadline = self._renewed_at + self._renew_within
            if elapsed() >= deadline or self.leader != self.identity:
                return
            try:
                async with asyncio.timeout_at(deadline):
                    await self._claim()
            except TimeoutError:
                return

    async def _claim(self) -> bool:
        """Write the lease in our name; whether that succeeded."""
        sent, sent_wall = elapsed(), self._clock.now()
        self._unheard = True
        try:
            written = await self._write_lease(micro_timestamp(sent_wall))
        except Conflict:
            self._unheard = False
            await self._look()  # Somebody was faster, or touched it: what now holds decides about the next attempt.
            return False
        except (ApiError, Unreachable) as error:
            self._unheard = isinstance(error, Unreachable)
            log.warning("%s: could not write the lease %s, because: %s", self.identity, self._name, error)
            return False
        self._lease, self._seen_at = written.read(Lease), sent
        self._renewed_at, self._renewed_at_wall = sent, sent_wall
        self._unheard = False
        return True

    async def _write_lease(self, now: str) -> Document:
        spec: dict[str, Any] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._lease_seconds,
            "renewTime": now,
        }
        lease = self._lease
        if lease is None:
            spec |= {"acquireTime": now, "leaseTransitions": 0}
            metadata = {"name": self._name, "namespace": self._namespace}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            return await self._door.create(LEASES, msgspec.json.encode(body), self._namespace)
        if lease.spec.holder_identity != self.identity:
            spec |= {"acquireTime": now, "leaseTransitions": (lease.spec.lease_transitions or 0) + 1}
        return await self._patch(lease, spec)

    async def _patch(self, lease: Lease, spec: dict[str, Any]) -> Document:
        """Change the lease if it still is as we have seen it."""
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._door.patch(LEASES, self._name, msgspec.json.encode(body), PatchKind.MERGE, self._namespace)

    async def _look(self) -> None:
        try:
            self._see((await self._door.get(LEASES, self._name, self._namespace)).read(Lease))
        except (ApiError, Unreachable) as error:
            log.info("%s: could not look at the lease %s: %s", self.identity, self._name, error)

    async def _release(self) -> None:
        """Let another lead at once, if the lease is still ours."""
        lease = self._lease if self.leading else None
        self._renewed_at = float("-inf")  # Nothing is written in the leader's name from here on.
        if lease is None:
            return
        spec = {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": micro_timestamp(self._clock.now())}
        try:
            async with asyncio.timeout(RELEASE_WITHIN):
                self._see((await self._patch(lease, spec)).read(Lease))
        except (ApiError, Unreachable, TimeoutError) as error:
            log.info("%s: could not release the lease %s: %s", self.identity, self._name, error)


Answer = TypeVar("Answer")


class _Fenced(Intercepting):
    """Writes pass only while the lease is surely ours."""

    def __init__(self, door: Door, election: LeaderElection) -> None:
        super().__init__(door)
        self._election = election

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        if call.writes and not self._election.leading:
            raise NotLeading(f"{call}: not sent, because {self._election.identity} may not lead any more")
        return await send()


async def _stopped(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait until it has ended; how it ended is somebody else's business."""
    task.cancel()
    await asyncio.wait({task})
