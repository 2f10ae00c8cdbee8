"""How the progress of a rollout is shown: a line for each change, or a board that stays in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eachnode.cli.rollout.progress import Progress, Tempo

if TYPE_CHECKING:
    from rich.live import Live


class Lines:
    """A line whenever there is news."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: tuple[object, ...] = ()

    def show(self, progress: Progress, tempo: Tempo, now: float) -> None:  # noqa: ARG002 boards show the tempo
        """Say where it stands, unless that was said just now."""
        if progress.news != self._told:
            self._told = progress.news
            self._say(progress.line)


class Board:
    """The live board."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, progress: Progress, tempo: Tempo, now: float) -> None:
        """Draw it anew."""
        from eachnode.cli.rollout.drawing import draw

        self._live.update(draw(progress, tempo, now, self._live.console.width), refresh=True)


@contextmanager
def live_board() -> Iterator[Board]:
    """A board on the terminal; its last picture stays when the block ends."""
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        yield Board(live)
