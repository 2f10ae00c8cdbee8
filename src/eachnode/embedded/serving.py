"""A cluster behind HTTP: what `eachnode up` and `eachnode server` run, and what a test fixture starts."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.resources import NODES, SERVICE_ACCOUNTS
from eachnode.objects.status import NotFound
from eachnode.runtime.clock import SystemClock
from eachnode.server.http import Front, HttpOptions


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where the cluster is served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 0  # Any free one.
    token: str = ""  # Empty: a random one, kept in the data directory.
    kubeconfig: Path | None = None  # None: in the data directory.
    insecure_http: bool = False


@dataclass(frozen=True, slots=True)
class Serving:
    """A cluster that answers."""

    cluster: EmbeddedCluster
    url: str
    kubeconfig: Path

    async def takes_objects(self, patience: float = 20.0) -> bool:
        """Whether, within so many seconds, the first namespaces have what objects in them need."""
        try:
            async with asyncio.timeout(patience):
                await self._namespaces_ready()
        except TimeoutError:
            return False
        return True

    async def ready(self, patience: float = 20.0) -> bool:
        """Whether, within so many seconds, everything works together: accounts are there, nodes take pods."""
        try:
            async with asyncio.timeout(patience):
                await self._namespaces_ready()
                await self._nodes_ready()
        except TimeoutError:
            return False
        return True

    async def _namespaces_ready(self) -> None:
        while "namespaces" in self.cluster.options.components:
            try:
                await self.cluster.server.get(SERVICE_ACCOUNTS, "default", "default")
            except NotFound:
                await asyncio.sleep(0.01)
            else:
                return

    async def _nodes_ready(self) -> None:
        options = self.cluster.options
        if not options.nodes or not {"kubelet", "node-lifecycle"} <= set(options.components):
            return
        waited_for = {f"node-{number}" for number in range(1, options.nodes + 1)}
        stream = self.cluster.server.watch(NODES, initial=True)
        async for batch in stream:
            for event in batch:
                if event.type != "BOOKMARK":
                    tree = event.document.tree()
                    if not _is_fresh(tree):
                        waited_for.discard(tree["metadata"]["name"])
            if not waited_for:
                return


def _is_fresh(node: dict[str, object]) -> bool:
    """Whether the node still carries the taint that it is created with."""
    spec = node.get("spec")
    taints = spec.get("taints") or () if isinstance(spec, dict) else ()
    return any(taint.get("key") == "node.kubernetes.io/not-ready" for taint in taints)


@asynccontextmanager
async def serve(
    options: ClusterOptions, serving: ServingOptions, *, clock: Clock | None = None, chance: Chance | None = None
) -> AsyncIterator[Serving]:
    """A running cluster that answers at a URL, with the kubeconfig that leads to it."""
    clock, chance = clock or SystemClock(), chance or random.Random()
    with _directory(options.data_dir) as directory:
        cluster = EmbeddedCluster(options, clock=clock, chance=chance)
        try:
            front = Front(
                cluster.server,
                HttpOptions(
                    host=serving.host,
                    port=serving.port,
                    token=serving.token,
                    data_dir=directory,
                    insecure_http=serving.insecure_http,
                ),
            )
            url = await front.start()
            try:
                cluster.options = replace(options, root_certificates=front.ca_pem)
                kubeconfig = serving.kubeconfig or directory / "kubeconfig"
                front.write_kubeconfig(kubeconfig)
                await cluster.start()
                yield Serving(cluster, url, kubeconfig)
            finally:
                await front.stop()
        finally:
            await cluster.stop()


@contextmanager
def _directory(given: Path | None) -> Iterator[Path]:
    """The data directory, or a temporary one that goes when the cluster does."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield given
        return
    made = Path(tempfile.mkdtemp(prefix="eachnode-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
