"""A cluster in another process, acted on over HTTP as tests act on one in their own."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from eachnode.client.cluster import Cluster
from eachnode.client.kubeconfig import load
from tests.processes import PROGRAM
from tests.worlds import World


class Remote(World):
    """A World behind a connection."""

    def __init__(self, cluster: Cluster) -> None:
        self.door = cluster  # type: ignore[assignment]  # both are Doors, and World uses no more of them


@asynccontextmanager
async def reaching(kubeconfig: Path) -> AsyncIterator[Remote]:
    """The cluster that the kubeconfig leads to."""
    async with Cluster(load(str(kubeconfig), None)) as cluster:
        yield Remote(cluster)


@contextmanager
def component(words: Sequence[str], kubeconfig: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A loop in a process of its own, as a user starts it, until the block ends."""
    command = [str(PROGRAM), *words, "--kubeconfig", str(kubeconfig), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


@asynccontextmanager
async def task(coroutine: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """A coroutine that runs beside the block."""
    running = asyncio.create_task(coroutine)
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
