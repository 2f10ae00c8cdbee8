"""Time and chance as things that are handed in, so that a whole world can run on virtual time from one seed."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Tells the time of day in seconds since 1970."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...


class Chance(Protocol):
    """The source of everything random; `random.Random` is one."""

    def random(self) -> float:
        """Between 0 and 1."""
        ...

    def randrange(self, stop: int, /) -> int:
        """A whole number below `stop`."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """`k` random bits."""
        ...


SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # No vowels: no words. The reference's alphabet for generated names.


def new_uid(chance: Chance) -> str:
    """A random UUID (version 4)."""
    bits = chance.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | (0x4 << 76) | (0x2 << 62)
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def name_suffix(chance: Chance, length: int = 5) -> str:
    """What is appended to a generateName."""
    return "".join(SUFFIX_LETTERS[chance.randrange(len(SUFFIX_LETTERS))] for _ in range(length))


def timestamp(now: float) -> str:
    """A moment as the API writes it, in whole seconds: `2026-01-31T12:00:00Z`."""
    return _timestamp(int(now))


@lru_cache(maxsize=64)  # Thousands of objects are written within one second.
def _timestamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(now: float) -> str:
    """A moment as leases and events write it, in microseconds."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def seconds(text: str) -> float:
    """The moment that an API timestamp means; raises ValueError when it is none."""
    return datetime.fromisoformat(text).timestamp()
