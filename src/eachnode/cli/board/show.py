"""Keeps the board on the terminal until `q` or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import termios
import tty
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from rich.console import Console, ConsoleDimensions, RenderableType
from rich.live import Live

from eachnode.cli.board.drawing import draw
from eachnode.cli.board.picture import Told, picture_of
from eachnode.cli.live import LiveView
from eachnode.client.door import Door
from eachnode.objects.clock import Clock, seconds
from eachnode.objects.durations import human_duration
from eachnode.objects.meta import Metadata
from eachnode.objects.resources import EVENTS
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer

PAUSE = 0.1  # Seconds between pictures at the least: the eye sees no more.
SHOWN_EVENTS = 8


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


class BoardEvent(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An event, as far as the board shows it."""

    metadata: Metadata
    involved_object: _Subject = _Subject()
    type: str = ""
    message: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def when(self) -> str:
        """When it happened last."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""

    @property
    def version(self) -> tuple[int, str]:
        """Which of those of one second was written last."""
        return len(self.metadata.resource_version), self.metadata.resource_version


def events_of(door: Door, clock: Clock) -> Informer[BoardEvent]:
    """All events, kept up to date."""
    return Informer(door, EVENTS, BoardEvent, clock=clock, chance=random.Random())


async def show(door: Door, kubeconfig: Path) -> None:
    """Show the board until the user has seen enough."""
    where = str(kubeconfig.absolute())  # noqa: ASYNC240 works out a name, and waits for no disk
    clock = SystemClock()
    view = LiveView(door, clock=clock)
    events = events_of(door, clock)
    events.subscribe(lambda _old, _new: view.changed.set())
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(view.run()), tasks.create_task(events.run())]
        await view.synced()
        with _keys() as quit_pressed, Live(console=Console(), screen=True, auto_refresh=False) as live:
            while not quit_pressed.is_set():
                view.changed.clear()
                live.update(draw_now(view, events, where, clock, live.console.size), refresh=True)
                await asyncio.sleep(PAUSE)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(_either(view.changed, quit_pressed), 1.0)
        for task in running:
            task.cancel()


async def _either(first: asyncio.Event, second: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(first.wait()), asyncio.ensure_future(second.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def draw_now(
    view: LiveView, events: Informer[BoardEvent], kubeconfig: str, clock: Clock, size: ConsoleDimensions
) -> RenderableType:
    """The board as it is at this moment."""
    looks = [look for key in view.keys_in_order() if (look := view.look(key)) is not None]
    told = [_told(event, clock.now()) for event in _newest(events.items.values())]
    return draw([picture_of(look) for look in looks], told, kubeconfig, size.width, size.height)


def _newest(events: Iterable[BoardEvent]) -> list[BoardEvent]:
    """The newest event of each subject, newest first: every step of one pod would hide all others."""
    by_subject: dict[str, BoardEvent] = {}
    for event in sorted(events, key=lambda event: (event.when, event.version), reverse=True):
        by_subject.setdefault(str(event.involved_object), event)
    return list(by_subject.values())[:SHOWN_EVENTS]


def _told(event: BoardEvent, now: float) -> Told:
    age = human_duration(max(0.0, now - seconds(event.when))) if event.when else ""
    return Told(
        age, event.type == "Warning", str(event.involved_object), event.message.splitlines()[0] if event.message else ""
    )


@contextlib.contextmanager
def _keys() -> Iterator[asyncio.Event]:
    """Listen to single keys; the event is set when `q` was pressed."""
    pressed = asyncio.Event()
    if not sys.stdin.isatty():
        yield pressed
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    loop = asyncio.get_running_loop()

    def read() -> None:
        if sys.stdin.read(1) in ("q", "Q"):
            pressed.set()

    tty.setcbreak(handle)
    loop.add_reader(handle, read)
    try:
        yield pressed
    finally:
        loop.remove_reader(handle)
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
