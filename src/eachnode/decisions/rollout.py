"""One step of a rolling update: which outdated pods may go now, and which nodes get a second pod.

Without surge an outdated pod goes first and its replacement follows. Invariant: an available pod is removed only
while fewer slots than `unavailable` are out of service. With surge the replacement comes first, on at most `surge`
nodes at a time, and the outdated pod goes when it is available. What serves nobody may always be replaced: keeping it
helps no one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eachnode.decisions.fleet import Fleet
from eachnode.decisions.slots import Role, Slot, cast
from eachnode.objects.daemonset import ROLLING_UPDATE, UpdateStrategy
from eachnode.objects.pod import Pod


class BadBudget(ValueError):
    """A budget that is neither a number nor a percentage."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many slots may be out of service, and how many may hold two pods."""

    unavailable: int
    surge: int


@dataclass(frozen=True, slots=True)
class Replace:
    """An outdated pod that goes."""

    pod: Pod
    because: str


@dataclass(frozen=True, slots=True)
class Accompany:
    """A node that gets a current pod beside its outdated one."""

    node: str
    because: str


def scaled(amount: int | str, total: int) -> int:
    """A number as it is, a percentage of the total rounded up."""
    if isinstance(amount, int):
        return amount
    digits = amount.removesuffix("%")
    if digits == amount or not digits.isascii() or not digits.isdigit():
        raise BadBudget(f"{amount!r} is neither a number nor a percentage")
    return -(-int(digits) * total // 100)


def may_surge(strategy: UpdateStrategy) -> bool:
    """Whether two pods may share a node while one replaces the other."""
    try:
        return _surge(strategy, 1) > 0
    except BadBudget:
        return False


def _surge(strategy: UpdateStrategy, total: int) -> int:
    rolling = strategy.rolling_update
    if strategy.type != ROLLING_UPDATE or rolling is None or rolling.max_surge is None:
        return 0
    return scaled(rolling.max_surge, total)


def budget(strategy: UpdateStrategy, desired: int) -> Budget:
    """What the strategy allows for so many wanted pods; raises BadBudget."""
    rolling = strategy.rolling_update
    unavailable = 1  # What the API fills in.
    if rolling is not None and rolling.max_unavailable is not None:
        unavailable = scaled(rolling.max_unavailable, desired)
    surge = _surge(strategy, desired)
    if desired > 0 and unavailable == 0 and surge == 0:
        unavailable = 1  # Otherwise nothing could ever move.
    return Budget(unavailable, surge)


def roll(fleet: Fleet, allowed: Budget, now: float) -> Iterator[Replace | Accompany]:
    """The next step; nothing when the fleet is current, or when the budget is spent."""
    if allowed.surge > 0:
        return _roll_with_surge(fleet, allowed.surge, now)
    return _roll_in_place(fleet, allowed.unavailable, now)


# A slot with none, both or several pods is out of service too: it is being settled.
OUT_OF_SERVICE = (Role.EMPTY, Role.EXCESS, Role.WAITING, Role.BROKEN, Role.PAIRED, Role.OVERTAKEN)


def out_of_service(fleet: Fleet) -> int:
    """How many slots count against maxUnavailable now."""
    return sum(fleet.tally.roles[role] for role in OUT_OF_SERVICE)


def _roll_in_place(fleet: Fleet, unavailable: int, now: float) -> Iterator[Replace]:
    for node in fleet.tally.nodes_in(Role.BROKEN):
        yield Replace(_outdated(fleet, node, now), "it is outdated and not available")
    spent = out_of_service(fleet)
    spare = max(0, unavailable - spent)
    for node, _ in zip(fleet.tally.nodes_in(Role.OUTDATED), range(spare), strict=False):
        yield Replace(
            _outdated(fleet, node, now), f"it is outdated, and {spent} of {unavailable} are out of service now"
        )


def _roll_with_surge(fleet: Fleet, surge: int, now: float) -> Iterator[Replace | Accompany]:
    yield from _replace_or_accompany_broken(fleet, now)
    for node in fleet.tally.nodes_in(Role.OVERTAKEN):
        yield Replace(_outdated(fleet, node, now), "it is outdated, and its replacement is available")
    surging = fleet.tally.roles[Role.PAIRED] + fleet.tally.roles[Role.EXCESS]
    spare = max(0, surge - surging)
    beyond = fleet.tally.still_serving - fleet.tally.desired
    for node in fleet.tally.nodes_in(Role.OUTDATED):
        slot = fleet.slots[node]
        if slot.verdict is None:
            continue  # Its pods are the pod garbage collector's.
        if slot.wanted:
            if spare > 0:
                spare -= 1
                yield Accompany(node, f"its pod is outdated, and {surging} of {surge} nodes surge now")
        elif beyond > 0:
            beyond -= 1
            because = f"{slot.verdict.because}, and enough pods serve elsewhere"
            yield Replace(_outdated(fleet, node, now), because)
        if spare <= 0 and beyond <= 0:
            return


def _replace_or_accompany_broken(fleet: Fleet, now: float) -> Iterator[Replace | Accompany]:
    for node in fleet.tally.nodes_in(Role.BROKEN):
        slot = fleet.slots[node]
        if slot.verdict is None:
            continue
        if slot.wanted:
            yield Accompany(node, "its pod is outdated and not available")
        else:
            yield Replace(_outdated(fleet, node, now), f"it is outdated and not available; {slot.verdict.because}")


def _outdated(fleet: Fleet, node: str, now: float) -> Pod:
    slot: Slot = fleet.slots[node]
    pod = cast(slot, fleet.aim, now).outdated
    assert pod is not None  # The roles that get here have one.
    return pod
