"""Each invariant can fail: production code with one mistake in it, and the invariant that catches it.

A check that nothing breaks proves nothing. All of `invariants.ALWAYS`, and every rule about rest, is shown here.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from eachnode.controllers.daemonset import expectations, reconcile, report
from eachnode.controllers.daemonset.reconcile import Reconciler
from eachnode.decisions import eligibility, fleet, history, placement, rollout, slots, status
from eachnode.decisions import plan as planning
from eachnode.decisions.rollout import Budget
from eachnode.objects.daemonset import Counts
from eachnode.objects.meta import Key
from eachnode.runtime import queue, virtual_time
from eachnode.server.store import database
from eachnode.simulation.invariants import ALWAYS
from eachnode.simulation.run import simulate
from eachnode.simulation.scenario import Scenario
from tests.simulation.scenes import rules, scene, told

Mutant = Callable[[pytest.MonkeyPatch], None]
COMPLETE = {"expect": {"complete": True}, "within": "3m"}
UPDATE = {"setImage": {"d": "agent:2"}}


def daemon(**fields: Any) -> dict[str, Any]:
    """A step that applies a DaemonSet."""
    return {"apply": [{"daemonSet": "d", "image": "agent:1", **fields}]}


ROLLOUT = scene(daemon(), COMPLETE, UPDATE, COMPLETE)
ALL_AT_ONCE = scene(daemon(maxUnavailable="100%"), COMPLETE, UPDATE, COMPLETE)
LONG_GOODBYE = scene(
    daemon(container={"lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}), COMPLETE, UPDATE, COMPLETE
)
SURGE = scene(daemon(maxUnavailable=0, maxSurge=1, minReadySeconds=10), COMPLETE, UPDATE, COMPLETE)
TAINTED = scene(
    {"taint": "closed=now:NoSchedule", "nodes": ["node-2"]}, {"after": "10s", **daemon()}, COMPLETE, UPDATE, COMPLETE
)
WAITING = scene(
    daemon(maxUnavailable=0, maxSurge=1, minReadySeconds=10),
    {"after": "2m", **UPDATE},
    {"after": "1s"},
    settleWithin="4m",
)
FORGETFUL = scene(daemon(revisionHistoryLimit=0), COMPLETE, UPDATE, COMPLETE)
BRIEF = scene(daemon(), COMPLETE, nodes=2, restFor="10s")
DISK = scene(daemon(), COMPLETE, {"after": "5s", "restartServer": True, "away": "2s"}, UPDATE, COMPLETE)


def creates_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that is terminating no longer counts as being there."""
    monkeypatch.setattr(slots.Slot, "present", slots.Slot.alive)


def spends_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is out of service already is not counted."""
    monkeypatch.setattr(rollout, "out_of_service", lambda fleet: 0)


def surges_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """The surge is three more than allowed."""
    right = rollout.budget
    monkeypatch.setattr(planning, "budget", lambda strategy, desired: _wider(right(strategy, desired)))


def _wider(right: Budget) -> Budget:
    return Budget(right.unavailable, right.surge + 3)


def minds_no_taints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node is welcoming."""
    monkeypatch.setattr(fleet, "judge", lambda placement, node: eligibility.WELCOME)


def reports_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status claims a generation that is yet to come."""
    right = status.status_body
    monkeypatch.setattr(report, "status_body", lambda daemonset, truth, seen: right(daemonset, truth, seen + 1))


def records_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is never found again in the history, and each time named differently."""
    numbers = itertools.count()
    monkeypatch.setattr(history, "same_meaning", lambda template, data: False)
    monkeypatch.setattr(history, "revision_hash", lambda meaning, collisions: f"hash{next(numbers)}")


def loses_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database does not keep pods."""
    right = database.SqliteFile.commit

    def commit(self: database.SqliteFile, rows: Iterable[Any], removed: Iterable[int], version: int) -> None:
        right(self, [row for row in rows if row.resource != "pods"], removed, version)

    monkeypatch.setattr(database.SqliteFile, "commit", commit)


def forgets_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's lost wake-up: nothing looks again when a pod becomes available by waiting alone."""
    monkeypatch.setattr(fleet.Fleet, "next_change", property(lambda self: slots.NEVER))
    monkeypatch.setattr(queue.WorkQueue, "add_after", lambda self, key, seconds: None)


def looks_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is decided upon a world that does not know the last writes."""
    monkeypatch.setattr(expectations.Expectations, "satisfied", lambda self, now: True)
    monkeypatch.setattr(expectations.Versions, "behind", lambda self, seen: "")


def forgets_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits until a pod that was deleted is seen to go."""
    right = expectations.Expectations.satisfied

    def satisfied(self: expectations.Expectations, now: float) -> bool:
        self.deletes.clear()
        return right(self, now)

    monkeypatch.setattr(expectations.Expectations, "satisfied", satisfied)


def rejoices_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pod counts as one of the newest template."""
    right = status.counts

    def counts(each: fleet.Fleet) -> Counts:
        truth = right(each)
        return msgspec.structs.replace(truth, updated_number_scheduled=truth.desired_number_scheduled)

    monkeypatch.setattr(report, "counts", counts)


def forgets_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old revisions go although pods of them still run."""
    right = history.prune
    monkeypatch.setattr(planning, "prune", lambda history, limit, in_use: right(history, limit, {}))


def never_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status is written every few seconds though it is right."""
    right = Reconciler.reconcile

    async def and_again(self: Reconciler, key: Key) -> float:
        await right(self, key)
        return 5.0

    monkeypatch.setattr(report, "needs_write", lambda reported, truth, processed: True)
    monkeypatch.setattr(Reconciler, "reconcile", and_again)


def overlooks_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was created is not recognised when it comes."""
    monkeypatch.setattr(expectations.Expectations, "saw", lambda self, key, uid, *, leaving: None)


def fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule raises what it should not."""

    def settle(*_: object) -> placement.Settlement:
        raise KeyError("a mistake")

    monkeypatch.setattr(fleet, "settle", settle)


def stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that has nothing to do is repeated in the same moment, for ever."""

    async def at_once(self: Reconciler, key: Key) -> float:
        await asyncio.sleep(0)
        return 0.0

    monkeypatch.setattr(virtual_time, "TURNS_AT_ONE_MOMENT", 20_000)
    monkeypatch.setattr(Reconciler, "reconcile", at_once)


CAUGHT: list[tuple[str, Mutant, Scenario]] = [
    ("OneServingPodOnEachNode", creates_too_early, LONG_GOODBYE),
    ("BudgetIsKept", spends_too_much, ROLLOUT),
    ("SurgeIsKept", surges_too_much, SURGE),
    ("NoSecondPod", looks_away, ROLLOUT),
    ("NothingTwice", forgets_deletions, ALL_AT_ONCE),
    ("NoPodWhereRefused", minds_no_taints, TAINTED),
    ("ObservedIsNotAhead", reports_ahead, ROLLOUT),
    ("DoneIsDone", rejoices_early, ROLLOUT),
    ("RevisionsAreUnique", records_twice, ROLLOUT),
    ("NoRevisionInUseGoes", forgets_what_runs, FORGETFUL),
    ("NothingIsLost", loses_rows, DISK),
    ("EverythingSettles", forgets_time, WAITING),
    ("EverythingRests", never_content, BRIEF),
    ("NobodyWaitsInVain", overlooks_pods, ROLLOUT),
    ("NoLoopFails", fails, ROLLOUT),
    ("NothingStandsStill", stands_still, BRIEF),
]


@pytest.mark.parametrize(("rule", "mutant", "where"), CAUGHT, ids=[rule for rule, _, _ in CAUGHT])
def test_a_mistake_in_the_code_breaks_the_rule(
    rule: str, mutant: Mutant, where: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = simulate(where, 3)
    assert before.ok, told(before)
    mutant(monkeypatch)
    after = simulate(where, 3)
    assert rule in rules(after), told(after)


def test_what_changes_between_a_decision_and_its_report_is_decided_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes within a pass. A pod that becomes available after the decision, and is counted in the report, must
    wake somebody: nothing else will. It happens by chance, in some of several runs."""
    runs = [simulate(WAITING, seed) for seed in range(1, 9)]
    assert all(run.ok for run in runs), [told(run) for run in runs if not run.ok]
    right = planning.decide

    def decide(*arguments: Any) -> planning.Plan:
        plan = right(*arguments)
        plan.wake_at = slots.NEVER
        return plan

    monkeypatch.setattr(reconcile, "decide", decide)
    assert any("EverythingSettles" in rules(simulate(WAITING, seed)) for seed in range(1, 9))


def test_every_invariant_has_a_mutant() -> None:
    assert {each.__name__ for each in ALWAYS} <= {rule for rule, _, _ in CAUGHT}
