"""Ending well: the first SIGTERM or SIGINT lets finish what is in flight, a second one does not wait for it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from typing import Any

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def until_told(
    work: Callable[[], Awaitable[None]], wind_down: Callable[[], None], *, grace: float = 25.0
) -> None:
    """Run `work`; when told to end, call `wind_down` and give the work `grace` seconds to return by itself."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    working: asyncio.Future[None] = asyncio.ensure_future(work())

    def tell(name: str) -> None:
        if told.is_set():
            log.warning("ends at once, because %s came a second time", name)
            working.cancel()
        told.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, tell, number.name)
    telling = asyncio.create_task(told.wait())
    try:
        either: set[asyncio.Future[Any]] = {working, telling}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            log.info("finishes what is in flight, because it was told to end")
            wind_down()
            _, unfinished = await asyncio.wait({working}, timeout=grace)
            if unfinished:
                log.warning("gives up what is in flight, because it took longer than %.0f s", grace)
        await _ended(working, by_us=told.is_set())
    finally:
        telling.cancel()
        working.cancel()
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _ended(working: asyncio.Future[None], *, by_us: bool) -> None:
    """Raise what the work failed with; having been cancelled by us is no failure."""
    if not working.done():
        working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        if not by_us:
            raise
