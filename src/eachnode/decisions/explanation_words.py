"""The words of an explanation: answers, their kinds from bad to good, and how moments and lists are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from eachnode.decisions.scheduling import Holder
from eachnode.objects.clock import timestamp
from eachnode.objects.durations import human_duration


class Kind(StrEnum):
    """What is so on a node, in one word or a few; worst first."""

    CRASHING = "crash-looping"
    IMAGE = "image cannot be pulled"
    BLOCKED = "cannot start"
    FAILED = "failed"
    PORT_TAKEN = "host port taken"
    PENDING = "pending"
    DEAD = "terminating on a dead node"
    NODE_NOT_READY = "node not ready"
    MISPLACED = "misplaced, must leave"
    CROWDED = "crowded"
    OUTDATED = "outdated"
    VACANT = "no pod yet"
    PULLING = "pulling image"
    STARTING = "starting"
    LEAVING = "leaving"
    NODE_GONE = "node gone"
    LINGERING = "misplaced, may stay"
    REFUSED = "not to run"
    RUNNING = "running"


SEVERITY = {kind: place for place, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class Reason:
    """A fact that causes an answer, what would change it, and who is in the way."""

    because: str
    remedy: str
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is so on a node, and why."""

    node: str
    kind: Kind
    summary: str  # The same for all nodes on which the same is so.
    reasons: tuple[Reason, ...] = ()
    pod: str = ""

    @property
    def because(self) -> str:
        """The facts in one line; the summary when there are none."""
        return "; ".join(reason.because for reason in self.reasons) or self.summary


def moment(when: float, now: float) -> str:
    """A moment, and how far from now it is: `2026-01-01T00:00:00Z (3m20s ago)`."""
    if when > now:
        return f"{timestamp(when + 0.999)} (in {human_duration(when - now + 0.999)})"
    return f"{timestamp(when)} ({human_duration(now - when)} ago)"


def times(count: int) -> str:
    """How often: `once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


SHOWN = 5


def and_others(names: Sequence[str], shown: int = SHOWN) -> str:
    """Some names, and how many more there are."""
    if len(names) <= shown:
        return ", ".join(names)
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"
