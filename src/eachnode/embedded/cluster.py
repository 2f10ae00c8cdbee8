"""A whole cluster in one process: the server, and the loops that call it directly, without sockets.

The HTTP front is not part of it: `embedded.serving` puts one before a cluster, the simulation does without.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from eachnode.client.door import Door
from eachnode.controllers.kubelet import create_nodes, node_trees
from eachnode.embedded.loops import Loop, make_loop
from eachnode.embedded.options import COMPONENTS, ClusterOptions, Component
from eachnode.objects.clock import Chance, Clock
from eachnode.server.api_server import ApiServer
from eachnode.server.setup import furnish, make_server
from eachnode.server.store import IN_MEMORY, Store

log = logging.getLogger(__name__)

RESTART_PAUSE = 1.0  # Seconds until a loop that failed is begun anew.
DATABASE = "cluster.sqlite"


class EmbeddedCluster:
    """The server and its loops; an async context manager that runs them."""

    def __init__(
        self,
        options: ClusterOptions,
        *,
        clock: Clock,
        chance: Chance,
        door_for: Callable[[Component, Door], Door] = lambda _, door: door,
    ) -> None:
        """`door_for` may put something between a component and the server."""
        self.options = options
        self.clock = clock
        self._chance = chance
        self._door_for = door_for
        self.store, self.server = self._open()
        self.loops: dict[Component, Loop] = {}
        self._tasks: dict[Component, asyncio.Task[None]] = {}

    def _open(self) -> tuple[Store, ApiServer]:
        options = self.options
        path: str | Path = IN_MEMORY
        if options.data_dir is not None:
            options.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = options.data_dir / DATABASE
        store = Store.open(path, clock=self.clock, synchronous=options.synchronous)
        return store, make_server(store, clock=self.clock, chance=self._chance)

    async def __aenter__(self) -> EmbeddedCluster:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Begin all loops, and create the nodes asked for that are not there yet."""
        await furnish(self.server)
        for component in COMPONENTS:
            if component in self.options.components:
                self.begin(component)
        if self.options.nodes:
            trees = list(node_trees(self.options.nodes, self.options.node_template))
            await create_nodes(self.server, trees)

    async def stop(self) -> None:
        """End all loops, then close the store."""
        for component in list(self._tasks):
            await self.end(component)
        self.store.close()

    def kill_server(self) -> None:
        """End the server as a killed process ends: what was not committed is lost. The loops are left to themselves."""
        self.store.abandon()

    async def reopen_server(self) -> None:
        """Begin the server anew, from its database; `door_for` decides whether the loops find it."""
        self.store, self.server = self._open()
        await furnish(self.server)

    def begin(self, component: Component) -> None:
        """Run a component that does not run."""
        self._tasks[component] = asyncio.create_task(self._supervise(component), name=component)

    @property
    def running(self) -> tuple[Component, ...]:
        """The components that were begun and not ended."""
        return tuple(self._tasks)

    async def end(self, component: Component) -> None:
        """End a component, wherever it is."""
        task = self._tasks.pop(component)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _supervise(self, component: Component) -> None:
        """Run one loop; should it fail, that is told and it begins anew, and the others go on."""
        while True:
            door = self._door_for(component, self.server)
            loop = make_loop(component, door, self.clock, self._chance, self.options)
            self.loops[component] = loop
            try:
                await loop.run()
            except Exception:
                log.exception("%s failed and begins anew", component)
            await asyncio.sleep(RESTART_PAUSE)
