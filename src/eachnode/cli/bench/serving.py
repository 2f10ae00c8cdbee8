"""The API server under load, over HTTP: writes, watchers, and beginning anew."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from eachnode.cli.bench.clusters import NO_PROC
from eachnode.cli.bench.measures import Goal, Sample
from eachnode.cli.bench.processes import Program, program, workplace
from eachnode.cli.running import connected
from eachnode.client.cluster import Cluster
from eachnode.objects.resources import CONFIG_MAPS, PODS

IN_FLIGHT = 50
WATCHERS = 1_000
CHANGES = 50


def creations(count: int) -> Iterator[Sample]:
    """Pods created over HTTP, fifty requests at a time; then the server is begun anew on what it has kept."""
    with workplace() as folder:
        with _server(folder) as server:
            server.until_ready()
            before = server.cpu_seconds
            begun = time.perf_counter()
            latencies = asyncio.run(_create_pods(folder / "kubeconfig", count))
            seconds = time.perf_counter() - begun
            yield Sample(
                f"pod creations per second, {IN_FLIGHT} in flight", count / seconds, "/s", Goal(1500, at_least=True)
            )
            yield Sample("a creation, median", statistics.median(latencies) * 1000, "ms")
            yield Sample("a creation, 99 of 100", statistics.quantiles(latencies, n=100)[98] * 1000, "ms")
            after = server.cpu_seconds
            known = None if before is None or after is None else (after - before) * 1000 / count
            yield Sample("server CPU per creation", known, "ms", why_not=NO_PROC)
            yield Sample(f"server memory, {count:,} pods", server.megabytes, "MB", why_not=NO_PROC)
        with _server(folder) as server:
            yield Sample(f"restart with {count:,} objects, until ready", server.until_ready(), "s", Goal(1.0))


def watchers(count: int) -> Iterator[Sample]:
    """One kind, many watchers: what a change costs, and how long until the last of them has it."""
    with workplace() as folder, _server(folder) as server:
        server.until_ready()
        lags, spent, grown = asyncio.run(_watch(folder / "kubeconfig", count, server))
        yield Sample(f"a change reaches {count:,} watchers, median", statistics.median(lags) * 1000, "ms")
        yield Sample(f"a change reaches {count:,} watchers, slowest", max(lags) * 1000, "ms")
        yield Sample("server CPU for each event told", spent and spent * 1e6 / (CHANGES * count), "µs", why_not=NO_PROC)
        yield Sample("server memory for each watcher", grown and grown * 1000 / count, "kB", why_not=NO_PROC)


def _server(folder: Path) -> AbstractContextManager[Program]:
    return program("server", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data"),
                   "--kubeconfig", str(folder / "kubeconfig"))  # fmt: skip


async def _create_pods(kubeconfig: Path, count: int) -> list[float]:
    """How long each took."""
    latencies: list[float] = []
    numbers = iter(range(count))

    async def work(cluster: Cluster) -> None:
        for number in numbers:
            begun = time.perf_counter()
            await cluster.create(PODS, _pod(f"p{number}"), "default")
            latencies.append(time.perf_counter() - begun)

    async with connected(str(kubeconfig), None, max_in_flight=IN_FLIGHT) as (cluster, _):
        await asyncio.gather(*(work(cluster) for _ in range(IN_FLIGHT)))
    return latencies


async def _watch(kubeconfig: Path, count: int, server: Program) -> tuple[list[float], float | None, float | None]:
    """How long each change took to reach everybody, and what it all cost the server."""
    async with connected(str(kubeconfig), None) as (cluster, _):
        await cluster.create(CONFIG_MAPS, _config_map(0), "default")
        before = server.megabytes
        crowd = _Crowd(cluster, count)
        async with crowd:
            after, cpu = server.megabytes, server.cpu_seconds
            lags = [await crowd.lag_of(number) for number in range(1, CHANGES + 1)]
            cpu_after = server.cpu_seconds
    spent = None if cpu is None or cpu_after is None else cpu_after - cpu
    return lags, spent, None if before is None or after is None else after - before


class _Crowd:
    """Many watchers of one object, who count what they have been told."""

    def __init__(self, cluster: Cluster, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._told = 0
        self._all_told = asyncio.Event()
        self._watchers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> _Crowd:
        self._watchers = [asyncio.create_task(self._follow()) for _ in range(self._count)]
        await self._all_told.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)

    async def lag_of(self, number: int) -> float:
        """Changes the object; answers with how long it took until all have heard of it."""
        self._told = 0
        self._all_told.clear()
        begun = time.perf_counter()
        await self._cluster.update(CONFIG_MAPS, "watched", _config_map(number), "default")
        await self._all_told.wait()
        return time.perf_counter() - begun

    async def _follow(self) -> None:
        async for batch in self._cluster.watch(CONFIG_MAPS, "default", fields="metadata.name=watched", initial=True):
            self._told += sum(event.type in ("ADDED", "MODIFIED") for event in batch)
            if self._told == self._count:
                self._all_told.set()


def _pod(name: str) -> bytes:
    spec = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "10m"}}}]}
    return msgspec.json.encode({"metadata": {"name": name, "labels": {"app": "p"}}, "spec": spec})


def _config_map(number: int) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "watched"}, "data": {"number": str(number)}})
