"""How long-running commands run: on uvloop, until told to end, with a second signal for the impatient."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from eachnode.client.cluster import Cluster
from eachnode.client.kubeconfig import Access, load
from eachnode.runtime.shutdown import until_told

Result = TypeVar("Result")


def run(main: Callable[[], Awaitable[Result]]) -> Result:
    """Run a command's coroutine to its end."""

    async def begin() -> Result:
        return await main()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(begin())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # Not to be had on every platform; the built-in loop does the same, slower.
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def work_until_told(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run until SIGTERM or SIGINT; then the work is cancelled, and cleans up."""
    task = asyncio.create_task(work())

    async def follow() -> None:
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise

    def wind_down() -> None:
        task.cancel()

    await until_told(follow, wind_down)


@asynccontextmanager
async def connected(
    kubeconfig: str | None, context: str | None, *, max_in_flight: int = 64, user_agent: str = "eachnode"
) -> AsyncIterator[tuple[Cluster, Access]]:
    """A door to the cluster that the options name."""
    access = load(kubeconfig, context)
    async with Cluster(access, max_in_flight=max_in_flight, user_agent=user_agent) as cluster:
        yield cluster, access
