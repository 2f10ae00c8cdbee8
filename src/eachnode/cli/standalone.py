"""Runs one loop alone against any cluster: health, metrics, leader election and an orderly end around it."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eachnode.cli.running import connected, run
from eachnode.client.door import Door
from eachnode.embedded.loops import Loop
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.resources import Resource
from eachnode.objects.status import Unreachable
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.leader import LeaderElection
from eachnode.runtime.logs import start_logging
from eachnode.runtime.metrics import Metrics
from eachnode.runtime.serving import Endpoint
from eachnode.runtime.shutdown import until_told

log = logging.getLogger(__name__)


Maker = Callable[[Door, Clock, Chance, Metrics], Loop]


@dataclass(frozen=True, slots=True)
class Standalone:
    """How a loop is run alone."""

    name: str
    kubeconfig: str | None = None
    context: str | None = None
    metrics_listen: tuple[str, int] | None = None
    leader_elect: bool = False
    lease_namespace: str = "kube-system"
    max_in_flight: int = 64
    log_format: str = "text"
    log_level: str = "info"
    namespace: str = ""  # Where it works; everywhere when empty.
    must_list: tuple[Resource, ...] = ()  # Asked for at the start, so that a missing permission is said at once.


def run_alone(standalone: Standalone, make: Maker) -> None:
    """Run the loop until SIGTERM or SIGINT, then let it finish, give up its lease and return."""
    start_logging("json" if standalone.log_format == "json" else "text", standalone.log_level)
    running = _Running(standalone, make)
    run(lambda: until_told(running.run, running.wind_down))


class _Running:
    """One run of one loop."""

    def __init__(self, standalone: Standalone, make: Maker) -> None:
        self._options = standalone
        self._make = make
        self._clock = SystemClock()
        self._chance = random.Random()
        self._metrics = Metrics()
        self._loop: Loop | None = None
        self._election: LeaderElection | None = None
        self._trouble = ""
        self._main: asyncio.Task[None] | None = None

    def wind_down(self) -> None:
        """Let the loop finish what is in flight, if it can and there may be something; else end it."""
        finish = getattr(self._loop, "wind_down", None)
        if finish is not None and self._loop is not None and self._loop.synced.is_set():
            finish()
        elif self._main is not None:
            self._main.cancel()

    async def run(self) -> None:
        """Work until wound down."""
        self._main = asyncio.current_task()
        options = self._options
        agent = f"eachnode-{options.name}"
        async with connected(
            options.kubeconfig, options.context, max_in_flight=options.max_in_flight, user_agent=agent
        ) as (cluster, _):
            endpoint = Endpoint(self._metrics, ready=self._checks(), state=self._state)
            if options.metrics_listen is not None:
                port = await endpoint.start(*options.metrics_listen)
                log.info("health and metrics at port %d", port)
            try:
                await self._check_access(cluster)
                await self._lead_or_work(self._metrics.metered(cluster))
            finally:
                await endpoint.stop()

    async def _lead_or_work(self, door: Door) -> None:
        if not self._options.leader_elect:
            await self._work(door)
            return
        identity = f"{socket.gethostname()}_{os.getpid()}_{self._chance.getrandbits(32):08x}"
        self._election = LeaderElection(
            door,
            clock=self._clock,
            chance=self._chance,
            identity=identity,
            name=f"eachnode-{self._options.name}",
            namespace=self._options.lease_namespace,
        )
        fenced = self._election.fenced(door)
        await self._election.run(lambda: self._work(fenced))

    async def _work(self, door: Door) -> None:
        self._loop = self._make(door, self._clock, self._chance, self._metrics)
        try:
            await self._loop.run()
        finally:
            self._loop = None

    async def _check_access(self, door: Door) -> None:
        """A refusal ends the program with its sentence; a server that is only away is waited for."""
        while True:
            try:
                for resource in self._options.must_list:
                    await door.list(resource, self._options.namespace if resource.namespaced else "", limit=1)
            except Unreachable as error:
                self._trouble = f"the server cannot be reached: {error}"
                log.warning("waits for the server, because %s", error)
                await asyncio.sleep(1 + self._chance.random())
            else:
                self._trouble = ""
                return

    def _checks(self) -> Mapping[str, Callable[[], str]]:
        return {"server": self._server, "caches": self._caches}

    def _server(self) -> str:
        """Why the server cannot be worked with; of all that is heard of it the lease is heard of most often."""
        if self._trouble:
            return self._trouble
        return self._election.trouble if self._election is not None else self._trouble_of_loop()

    def _trouble_of_loop(self) -> str:
        return getattr(self._loop, "trouble", "")

    def _caches(self) -> str:
        if self._election is not None and not self._election.leading:
            return ""  # A follower is ready to take over; that is all it has to be.
        if self._loop is None or not self._loop.synced.is_set():
            why = self._trouble_of_loop()
            return f"the present objects have not all been seen yet{': ' if why else ''}{why}"
        return ""

    def _state(self) -> str:
        if self._election is None:
            return "works alone"
        if self._election.leading:
            return "leader"
        return f"follower of {self._election.leader or 'nobody yet'}"
