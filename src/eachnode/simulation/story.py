"""What happened in a world, in the order in which it happened, as a person can read it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened."""

    at: float  # Seconds since the world began.
    who: str
    what: str

    def __str__(self) -> str:
        hours, rest = divmod(self.at, 3600)
        minutes, seconds = divmod(rest, 60)
        return f"{int(hours):02d}:{int(minutes):02d}:{seconds:06.3f}  {self.who:<22} {self.what}"


@dataclass(slots=True)
class Story:
    """All of it."""

    lines: list[Line] = field(default_factory=list)

    def tell(self, who: str, what: str) -> None:
        """Something happened now."""
        self.lines.append(Line(asyncio.get_running_loop().time(), who, what))

    def __str__(self) -> str:
        return "\n".join(str(line) for line in self.lines)


class _Listener(logging.Handler):
    """Takes what the loops log into the story: each action with its because."""

    def __init__(self, story: Story, on_error: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._story = story
        self._on_error = on_error

    def emit(self, record: logging.LogRecord) -> None:
        about = getattr(record, "about", None) or {}
        pairs = "".join(f" {key}={value}" for key, value in about.items())
        who = record.name.removeprefix("eachnode.").removeprefix("controllers.").removeprefix("runtime.")
        trouble = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        try:
            self._story.tell(who.split(".")[0], record.getMessage() + pairs + trouble)
        except RuntimeError:
            return  # Said after the world had ended.
        if record.levelno >= logging.ERROR:
            self._on_error(record.getMessage() + trouble)


@contextmanager
def listening(story: Story, on_error: Callable[[str], None]) -> Iterator[None]:
    """Within the block everything that eachnode logs becomes part of the story; `on_error` hears of errors too."""
    logger = logging.getLogger("eachnode")
    listener = _Listener(story, on_error)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
        logger.propagate = propagate
