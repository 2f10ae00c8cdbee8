"""An event loop on which a day passes in milliseconds: its clock jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class Deadlock(RuntimeError):
    """Every task waits, no timer is set and nothing outside can wake anybody."""


class Livelock(RuntimeError):
    """The loop turns and turns while no time passes."""


TURNS_AT_ONE_MOMENT = 1_000_000


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs tasks as the ordinary loop does, on a clock that never makes anybody wait."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.now


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop
        self._turns = 0  # Since the clock last moved.

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        self._turns = 0 if timeout else self._turns + 1
        if self._turns > TURNS_AT_ONE_MOMENT:
            self._turns = 0
            raise Livelock(f"{TURNS_AT_ONE_MOMENT} turns, and no time has passed")
        if ready:
            return ready
        if timeout is None:
            raise Deadlock("every task waits and no timer is set")
        self._loop.now += max(timeout, 0.0)
        return ready


class LoopClock:
    """The time of day that belongs to the running loop's time: virtual on a virtual loop."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z, an arbitrary fixed morning
        self._start = start

    def now(self) -> float:
        """Seconds since 1970, as the running loop counts them."""
        return self._start + asyncio.get_running_loop().time()
