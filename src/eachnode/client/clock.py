"""The time of day, as the machine has it."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()
