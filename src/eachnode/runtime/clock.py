"""The time of day outside of tests and simulations; virtual time is in `virtual_time`."""

from __future__ import annotations

from eachnode.client.clock import SystemClock

__all__ = ["SystemClock"]
