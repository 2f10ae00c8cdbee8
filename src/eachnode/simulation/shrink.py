"""A failing run made short: the least trouble with which it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eachnode.simulation.run import Outcome
from eachnode.simulation.schedule import Trouble

ATTEMPTS = 60

Again = Callable[[Sequence[Trouble]], Outcome]


def shrunk(failed: Outcome, again: Again, attempts: int = ATTEMPTS) -> Outcome:
    """The shortest failing run found by leaving out troubles, half of them first, then fewer and fewer."""
    best, size = failed, max(1, len(failed.troubles) // 2)
    while size >= 1 and attempts > 0 and best.troubles:
        start = 0
        while start < len(best.troubles) and attempts > 0:
            fewer = (*best.troubles[:start], *best.troubles[start + size :])
            attempts -= 1
            outcome = again(fewer)
            if same_failure(outcome, failed):
                best = outcome
            else:
                start += size
        size //= 2
    return best


def same_failure(one: Outcome, other: Outcome) -> bool:
    """Whether both broke the same rule first."""
    return not one.ok and not other.ok and rule_of(one) == rule_of(other)


def rule_of(outcome: Outcome) -> str:
    """What a failed run broke first, in one word."""
    return outcome.violations[0].partition(":")[0]
