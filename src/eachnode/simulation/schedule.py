"""The trouble of a run, drawn from its seed beforehand: which faults, whose, from when to when.

It is a list of values, so a failing run can be told, repeated and shortened: leaving one out changes no other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from eachnode.client.faulty import Faults

FAULT_NAMES = tuple(each.name for each in fields(Faults))

# A network as it is on a good day: a few milliseconds either way, different each time.
CALM = Faults(slow=1.0, slowest=0.006, watch_late=1.0, latest=0.006)

# Which faults an episode may bring, how likely each is within it, and how often such an episode is drawn.
KINDS: tuple[tuple[dict[str, float | bool], int], ...] = (
    ({"conflict": 0.2}, 2),
    ({"too_many": 0.2}, 2),
    ({"internal": 0.2}, 2),
    ({"unavailable": 0.3}, 2),
    ({"lost_request": 0.2}, 2),
    ({"lost_answer": 0.3}, 4),
    ({"slow": 0.3, "slowest": 5.0}, 2),
    ({"stale_list": 0.5, "too_old": 0.5, "no_initial": True, "watch_lost": 0.3}, 2),  # Who has another way lists never.
    ({"too_old": 0.5, "watch_lost": 0.2}, 2),
    ({"no_initial": True, "too_old": 0.5, "watch_lost": 0.2}, 1),
    ({"watch_lost": 0.3}, 3),
    ({"watch_ends": 0.3}, 1),
    ({"watch_late": 0.5, "latest": 5.0}, 4),
    ({"watch_repeats": 0.5}, 2),
    ({"unavailable": 1.0, "watch_lost": 1.0}, 1),  # Cut off.
)


@dataclass(frozen=True, slots=True)
class Episode:
    """Faults of one component's connection for a while."""

    start: float
    until: float
    who: str
    faults: dict[str, float | bool] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:g}" for name, value in self.faults.items())
        return f"{self.start:.1f} s to {self.until:.1f} s: {self.who}: {told}"


@dataclass(frozen=True, slots=True)
class Strike:
    """A blow: a component or the server is killed and comes back after a while, or the wall clock is set."""

    start: float
    what: Literal["kill", "restart-server", "set-clock"]
    who: str
    away: float
    request: int = 0  # It falls amid the n-th request from then on; 0: at that very moment.
    jump: float = 0.0  # Seconds by which the clock is set.

    def __str__(self) -> str:
        if self.what == "set-clock":
            return f"{self.start:.1f} s: the clock is set by {self.jump:+.1f} s"
        amid = f" amid its request {self.request} from then" if self.request else ""
        return f"{self.start:.1f} s: {self.what} {self.who}{amid}, back after {self.away:.1f} s"


Trouble = Episode | Strike


def draw(chance: random.Random, components: Sequence[str], horizon: float, *, restarts: bool) -> tuple[Trouble, ...]:
    """The trouble of one run."""
    count = 4 + chance.randrange(6) + int(horizon // 1200)
    found: list[Trouble] = []
    for _ in range(count):
        start = chance.random() * horizon
        who = _victim(chance, components)
        blow = chance.random()
        if blow < 0.25:
            request = 1 + chance.randrange(30) if chance.random() < 0.7 else 0
            found.append(Strike(start, "kill", who, 0.5 + 10 * chance.random(), request))
        elif blow < 0.4 and restarts:
            found.append(Strike(start, "restart-server", "server", 0.2 + 5 * chance.random()))
        elif blow > 0.94:
            found.append(Strike(start, "set-clock", "clock", 0.0, jump=_jump(chance)))
        else:
            faults, _ = chance.choices(KINDS, [weight for _, weight in KINDS])[0]
            until = min(start + 2 + 40 * chance.random(), horizon)
            found.append(Episode(start, until, who, faults))
    return tuple(sorted(found, key=lambda each: (each.start, str(each))))


def _jump(chance: random.Random) -> float:
    """By how much the clock is set: a little as time services do, or as on a machine that wakes up after hours.

    Not far back: what was to happen at a certain time of day then rightly waits for it once more.
    """
    return chance.uniform(-5.0, 5.0) if chance.random() < 0.7 else chance.uniform(-30.0, 7200.0)


def _victim(chance: random.Random, components: Sequence[str]) -> str:
    """The component that is to suffer: mostly it is the controller."""
    if "controller" in components and chance.random() < 0.6:
        return "controller"
    return components[chance.randrange(len(components))]
