"""Observe, decide, act: one pass over one DaemonSet, the only place where its decisions meet the API."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from eachnode.client.door import Door
from eachnode.controllers.daemonset.carry_out import Carrier
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.claims import claim
from eachnode.controllers.daemonset.counters import Counters
from eachnode.controllers.daemonset.failures import Failure
from eachnode.controllers.daemonset.report import Reporter
from eachnode.controllers.daemonset.rooms import Rooms, tell_unplaced
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History, review
from eachnode.decisions.plan import SELECTING_ALL, Notice, Plan, decide
from eachnode.decisions.rollout import may_surge
from eachnode.decisions.slots import NEVER, Aim
from eachnode.objects.clock import Clock
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.status import ApiError, Unreachable

log = logging.getLogger(__name__)

FIRST_LOOK, LONGEST_LOOK = 0.005, 1.0  # Seconds until a lagging cache is looked at again.
TICK = 0.001  # Seconds: just after a moment, not just at it.


class Reconciler:
    """Brings DaemonSets one step closer to their specs."""

    def __init__(
        self,
        door: Door,
        charges: Mapping[Key, Charge],
        carrier: Carrier,
        counters: Counters,
        *,
        clock: Clock,
        seen: Callable[[str], str],
        wake_after: Callable[[Key, float], None],
        rooms: Rooms | None = None,
    ) -> None:
        self._door, self._charges, self._carrier, self._counters = door, charges, carrier, counters
        self._clock = clock
        self._seen = seen  # How far the cache of a resource has come.
        self._wake_after = wake_after
        self._rooms = rooms  # Asked only where we place pods ourselves.
        self._reporter = Reporter(door, counters, clock=clock)

    async def reconcile(self, key: Key) -> float | None:
        """One pass; answers in how many seconds to look again, if nothing happens before."""
        charge = self._charges.get(key)
        if charge is None or not self._may_be_processed(charge):
            return None
        try:
            wake_at = self._put_off(charge) or await self._claim(charge) or await self._pass(charge)
        except Exception:
            self._wake_in_time(charge)
            raise
        if wake_at == NEVER:
            return None
        return max(0.0, wake_at - self._clock.now())

    def _wake_in_time(self, charge: Charge) -> None:
        """A pass that failed is repeated after a growing pause; what changes by itself does not wait for that."""
        fleet, now = charge.fleet, self._clock.now()
        if fleet is not None:
            fleet.refresh(now)
            if fleet.next_change < NEVER:
                self._wake_after(charge.key, fleet.next_change - now)

    def _put_off(self, charge: Charge) -> float:
        """When to look again, if a cache has not seen our last write: nothing is decided upon it. Zero if all have."""
        lagging = charge.versions.behind(self._seen)
        if not lagging:
            charge.stale_looks = 0
            return 0.0
        self._counters.stale_skips += 1
        charge.stale_looks += 1
        log.debug("%s: waits, because the cache of %s has not seen our last write", charge.key, lagging)
        return self._clock.now() + min(FIRST_LOOK * 2.0 ** min(charge.stale_looks - 1, 30), LONGEST_LOOK)

    def _may_be_processed(self, charge: Charge) -> bool:
        if charge.problem:
            self._tell_problem(charge, charge.problem)
            return False
        if charge.selector.empty:
            self._carrier.tell(charge, Notice("Warning", "SelectingAll", SELECTING_ALL))
            return False
        return not charge.daemonset.is_going

    def _tell_problem(self, charge: Charge, problem: str) -> None:
        """Say once what is wrong with a DaemonSet that cannot be processed, or not in full."""
        if charge.told_problem == problem:
            return
        charge.told_problem = problem
        self._counters.malformed += 1
        log.warning("%s: left alone, because %s", charge.key, problem)
        self._carrier.tell(charge, Notice("Warning", "Malformed", f"Left alone, because {problem}"))

    async def _claim(self, charge: Charge) -> float:
        """Adopt and release; answers when to go on if anything was: whoever does not know of it makes another."""
        return (self._put_off(charge) or self._clock.now()) if await claim(charge, self._door) else 0.0

    async def _pass(self, charge: Charge) -> float:
        daemonset, fleet = charge.daemonset, charge.fleet  # The world may move on while we write.
        assert fleet is not None  # There is no problem with its spec.
        history = await self._settled_history(charge, daemonset, fleet)
        if later := self._put_off(charge):
            return later  # A pod that was moved to the current revision looks outdated until then.
        expectations = charge.expectations
        if not expectations.satisfied(self._clock.now()):
            return min(await self._reporter.report(charge), expectations.deadline + TICK)
        plan = self._decide(charge, daemonset, fleet, history)
        if plan.trouble:
            self._tell_problem(charge, plan.trouble)
        failure = await self._carry_out(charge, daemonset, plan, history)
        due = await self._report(charge, daemonset.metadata.generation, failure)
        # What has changed by itself since the decision is in the report already, but nobody has decided upon it.
        due = min(due, plan.wake_at, fleet.next_change)
        if not expectations.satisfied(self._clock.now()):
            return min(due, expectations.deadline + TICK)
        return self._clock.now() if plan.postponed else due

    def _decide(self, charge: Charge, daemonset: DaemonSet, fleet: Fleet, history: History) -> Plan:
        now = self._clock.now()
        if self._rooms is None:
            return decide(daemonset, fleet, history, now)
        body = self._carrier.body(charge, daemonset, history.hash)
        plan = decide(daemonset, fleet, history, now, self._rooms.question(charge, body))
        tell_unplaced(charge, plan)
        self._rooms.book(charge, body, plan)
        return plan

    async def _settled_history(self, charge: Charge, daemonset: DaemonSet, fleet: Fleet) -> History:
        """The history, in order: the current revision is known, and the fleet aims at it."""
        history = charge.history
        if history is None:
            history = review(daemonset, charge.revisions.values(), fleet.pods.values())
            if history.writes:
                recorded = await self._carrier.write_history(charge, daemonset, history.writes)
                # What was written comes back through the cache, and is reviewed again then.
                history = replace(history, hash=recorded or history.hash, writes=())
            else:
                charge.history = history
        surges = may_surge(daemonset.spec.update_strategy)
        fleet.take_aim(Aim.of(daemonset, history.hash, surges=surges))
        return history

    async def _carry_out(self, charge: Charge, daemonset: DaemonSet, plan: Plan, history: History) -> Failure | None:
        """Do what is planned; answers with what failed instead of raising it, so that the status is reported."""
        try:
            await self._carrier.write_pods(charge, daemonset, plan, history.hash)
            if plan.prunes:
                await self._carrier.write_history(charge, daemonset, plan.prunes)
        except (ApiError, Unreachable) as error:
            return error
        return None

    async def _report(self, charge: Charge, processed: int, failure: Failure | None) -> float:
        """Report, and raise what failed before, or else what fails now."""
        due = NEVER
        try:
            due = await self._reporter.report(charge, processed, in_trouble=failure is not None)
        except (ApiError, Unreachable) as error:
            if failure is None:
                raise
            log.warning("%s: could not write the status either, because: %s", charge.key, error)
        if failure is not None:
            raise failure
        return due
