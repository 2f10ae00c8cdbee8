"""The board where there is no terminal: a line for each DaemonSet whose counters changed, at most one a second."""

from __future__ import annotations

import asyncio
import random
import select
import sys

import click

from eachnode.client.door import Door
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.resources import DAEMON_SETS
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer

PAUSE = 1.0  # Seconds between two lines about one DaemonSet.


async def tell_changes(door: Door) -> None:
    """Print what becomes of the DaemonSets until cancelled."""
    informer = Informer(door, DAEMON_SETS, DaemonSet, clock=SystemClock(), chance=random.Random())
    changed = asyncio.Event()
    informer.subscribe(lambda _old, _new: changed.set())
    told: dict[Key, str] = {}
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(informer.run())
        while True:
            await changed.wait()
            changed.clear()
            for key, daemonset in sorted(informer.items.items()):
                line = progress_line(daemonset)
                if told.get(key) != line and _somebody_reads():
                    told[key] = line
                    click.echo(line)
            await asyncio.sleep(PAUSE)


def progress_line(daemonset: DaemonSet) -> str:
    """How far a DaemonSet has come, in one line."""
    status = daemonset.status
    counts = (
        f"{status.desired_number_scheduled} wanted, {status.updated_number_scheduled} updated, "
        f"{status.number_available} available"
    )
    astray = f", {status.number_misscheduled} where none should be" if status.number_misscheduled else ""
    return f"daemonset {daemonset.metadata.key}: {counts}{astray}"


def _somebody_reads() -> bool:
    """Whether a line can be written without waiting for a reader who may have stopped reading."""
    try:
        return bool(select.select([], [sys.stdout.fileno()], [], 0)[1])
    except (OSError, ValueError):
        return False
