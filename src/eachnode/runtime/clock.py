"""The time of day outside of simulations, and the time that nobody can set; virtual time is in `virtual_time`."""

from __future__ import annotations

import asyncio

from eachnode.client.clock import SystemClock

__all__ = ["SystemClock", "elapsed"]


def elapsed() -> float:
    """Seconds of the running loop, for what is to last so long: a clock that jumps makes nothing early or late."""
    return asyncio.get_running_loop().time()
