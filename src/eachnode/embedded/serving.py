"""A cluster behind HTTP: what `eachnode up` and `eachnode server` run, and what a test fixture starts."""

from __future__ import annotations

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
from eachnode.runtime.clock import SystemClock
from eachnode.server.http import Front, HttpOptions
from eachnode.server.http.kubeconfig import write_kubeconfig


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where the cluster is served, and to whom."""

    listen: str = "127.0.0.1:0"
    token: str = ""  # Empty: a random one.
    kubeconfig: Path | None = None  # None: in the data directory.
    insecure_http: bool = False


@dataclass(frozen=True, slots=True)
class Serving:
    """A cluster that answers."""

    cluster: EmbeddedCluster
    url: str
    kubeconfig: Path


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
                    listen=serving.listen,
                    token=serving.token,
                    data_dir=directory,
                    insecure_http=serving.insecure_http,
                ),
                clock=clock,
            )
            url = await front.start()
            cluster.options = replace(options, root_certificates=front.authority_pem)
            kubeconfig = serving.kubeconfig or directory / "kubeconfig"
            write_kubeconfig(kubeconfig, url, front.authority_pem, front.token)
            await cluster.start()
            try:
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
