"""DaemonSets that are created and rolled out on a cluster behind HTTP, watched until all is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from eachnode.cli.bench.processes import PATIENCE
from eachnode.cli.running import connected
from eachnode.client.cluster import Cluster
from eachnode.client.door import PatchKind
from eachnode.objects.meta import Metadata
from eachnode.objects.pod import Pod
from eachnode.objects.resources import DAEMON_SETS, PODS


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    number_available: int = 0
    updated_number_scheduled: int = 0
    observed_generation: int = 0


class _DaemonSet(msgspec.Struct, frozen=True):
    metadata: Metadata
    status: _Status = _Status()


@dataclass(slots=True)
class Finish:
    """How something went: how long it took, and how long after the last pod the status told the truth."""

    seconds: float
    lag: float


class Stopwatch:
    """Creates and changes one DaemonSet, and sees when it is done."""

    def __init__(self, cluster: Cluster, nodes: int, *, watch_pods: bool) -> None:
        self._cluster, self._nodes, self._watch_pods = cluster, nodes, watch_pods
        self._last_ready = 0.0

    async def create(self, name: str = "d") -> Finish:
        """All its pods available, and its status saying so."""
        body = msgspec.json.encode(daemon_set(name))
        await self._cluster.create(DAEMON_SETS, body, "default")
        return await self._until_done(name, generation=1)

    async def roll_out(self, name: str = "d") -> Finish:
        """All its pods replaced, a tenth at a time."""
        change = b'{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}}'
        await self._cluster.patch(DAEMON_SETS, name, change, PatchKind.STRATEGIC, "default")
        return await self._until_done(name, generation=2)

    async def _until_done(self, name: str, generation: int) -> Finish:
        begun = self._last_ready = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                pods = asyncio.create_task(self._note_ready_pods()) if self._watch_pods else None
                try:
                    await self._until_status(name, generation)
                    done = time.perf_counter()
                    await asyncio.sleep(0.3)  # What this process has yet to read of the pods' watch.
                finally:
                    if pods is not None:
                        pods.cancel()
        except TimeoutError:
            raise click.ClickException(f"DaemonSet {name}: not done within {PATIENCE:.0f} s") from None
        return Finish(done - begun, max(0.0, done - self._last_ready))

    async def _until_status(self, name: str, generation: int) -> None:
        async for batch in self._cluster.watch(DAEMON_SETS, "default", fields=f"metadata.name={name}", initial=True):
            for event in batch:
                if event.type in ("ADDED", "MODIFIED"):
                    status = event.document.read(_DaemonSet).status
                    counts = (status.number_available, status.updated_number_scheduled, status.observed_generation)
                    if counts == (self._nodes, self._nodes, generation):
                        return

    async def _note_ready_pods(self) -> None:
        """Notes when the last pod became ready; what was ready before does not count."""
        ready: set[str] = set()
        present = True
        async for batch in self._cluster.watch(PODS, "default", initial=True):
            for event in batch:
                if event.type == "BOOKMARK":
                    present = present and not event.initial_end
                elif event.type != "DELETED":
                    pod = event.document.read(Pod)
                    if pod.is_ready and pod.uid not in ready:
                        ready.add(pod.uid)
                        if not present:
                            self._last_ready = time.perf_counter()


@asynccontextmanager
async def stopwatch(kubeconfig: Path, nodes: int, *, watch_pods: bool = False) -> AsyncIterator[Stopwatch]:
    """A connection to the cluster that the kubeconfig names."""
    async with connected(str(kubeconfig), None) as (cluster, _):
        yield Stopwatch(cluster, nodes, watch_pods=watch_pods)


def daemon_set(name: str) -> dict[str, Any]:
    """A small DaemonSet that rolls out a tenth at a time."""
    labels = {"app": name}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
            },
        },
    }
