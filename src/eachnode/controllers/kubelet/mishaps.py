"""Lets mishaps befall nodes: what a person does with `eachnode node stop|start|reboot`, at the moments a file says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.kubelet.heartbeats import REBOOTED, STOPPED
from eachnode.decisions.pod_stages.mishaps import Deed, Mishap
from eachnode.decisions.pod_stages.stages import Delay
from eachnode.decisions.pod_stages.view import SimulatedNode
from eachnode.objects.clock import Chance, Clock, micro_timestamp
from eachnode.objects.resources import NODES
from eachnode.objects.status import ApiError, NotFound, Unreachable

log = logging.getLogger(__name__)


class Mishaps:
    """Everything that befalls the simulated nodes by itself."""

    def __init__(
        self,
        door: Door,
        nodes: Mapping[str, SimulatedNode],
        mishaps: tuple[Mishap, ...],
        *,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._door = door
        self._nodes = nodes
        self._mishaps = mishaps
        self._clock = clock
        self._chance = chance
        self._newcomers: asyncio.Queue[str] = asyncio.Queue()

    def notice(self, name: str) -> None:
        """A node was seen for the first time."""
        if self._mishaps:
            self._newcomers.put_nowait(name)

    async def run(self) -> None:
        """Let them happen until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                node = self._nodes.get(await self._newcomers.get())
                for mishap in self._mishaps:
                    if node is not None and mishap.befalls(node):
                        tasks.create_task(self._befall(node.name, mishap))

    async def _befall(self, name: str, mishap: Mishap) -> None:
        await self._pause(mishap.after)
        while name in self._nodes:
            await self._do(name, mishap.do, mishap.name)
            if mishap.lasts is not None:
                await self._pause(mishap.lasts)
                await self._do(name, "start", mishap.name)
            if mishap.every is None:
                return
            await self._pause(mishap.every)

    async def _pause(self, delay: Delay) -> None:
        await asyncio.sleep(delay.least + (delay.most - delay.least) * self._chance.random())

    async def _do(self, name: str, deed: Deed, because: str) -> None:
        log.info("node %s: %s, because %s", name, deed, because)
        annotation: dict[Deed, tuple[str, str | None]] = {
            "stop": (STOPPED, "true"),
            "start": (STOPPED, None),
            "reboot": (REBOOTED, micro_timestamp(self._clock.now())),
        }
        key, value = annotation[deed]
        body = msgspec.json.encode({"metadata": {"annotations": {key: value}}})
        try:
            await self._door.patch(NODES, name, body, PatchKind.MERGE)
        except NotFound:
            return
        except (ApiError, Unreachable) as error:
            log.warning("node %s was spared, because the API said: %s", name, error)
