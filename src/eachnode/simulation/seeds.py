"""Chance from one seed, split by purpose: a draw more in one place leaves all other places as they were."""

from __future__ import annotations

import random


class Seeds:
    """The sources of chance of one world."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._sources: dict[str, random.Random] = {}

    def of(self, purpose: str) -> random.Random:
        """The source for this purpose; the same each time."""
        if purpose not in self._sources:
            self._sources[purpose] = random.Random(f"{self.seed}/{purpose}")
        return self._sources[purpose]
