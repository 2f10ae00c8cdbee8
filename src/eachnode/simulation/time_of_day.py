"""The wall clock of a world: the running loop's time as a real clock would tell it, until somebody sets it."""

from __future__ import annotations

import asyncio
import random
import re

from eachnode.runtime.virtual_time import LoopClock

EARLY = 0.001  # Seconds by which a timer may ring before its time is told: real loops count milliseconds.
BETWEEN_READS = 0.000_2  # Seconds that pass at the most between two looks at the clock.


class SettableClock(LoopClock):
    """Tells time to all loops and to the server; a jump changes it under their hands.

    Virtual time stands still while anybody works; a real clock does not. So two looks in one pass see different times,
    and a loop that was woken for a moment may find that it has not come yet.
    """

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._ahead = 0.0
        self._chance = chance
        self._moment = -1.0  # On the loop's clock.
        self._off = 0.0

    def now(self) -> float:
        """Seconds since 1970, as the world believes."""
        moment = asyncio.get_running_loop().time()
        if moment != self._moment:
            self._moment, self._off = moment, -EARLY * self._chance.random()
        else:
            self._off += BETWEEN_READS * self._chance.random()
        return super().now() + self._ahead + self._off

    def jump(self, seconds: float) -> None:
        """Set the clock forward, or back when negative; timers that run are not touched by it."""
        self._ahead += seconds


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(text: str | int | float) -> float:
    """Seconds of `90`, `500ms`, `1m30s`, `24h` or `-2s`; raises ValueError."""
    if isinstance(text, int | float):
        return float(text)
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", rest):
        raise ValueError(f"a duration is written like 30s, 1m30s or 24h, not {text!r}")
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", rest)
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)
