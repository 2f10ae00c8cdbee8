"""Numbers about a running loop, in the format every monitoring system reads.

Loops, queues and informers count for themselves and know nothing of this module; here their counts are given names.
Each `Metrics` is a registry of its own, so that several loops in one process, and tests, do not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from eachnode.client.door import Door
from eachnode.client.intercepting import Call
from eachnode.client.metered import Metered
from eachnode.runtime.informer import HasMetadata, Informer
from eachnode.runtime.queue import WorkQueue

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1000)


class Metrics:
    """A registry, and the metrics that every loop has."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.wait = self.histogram("workqueue_wait_seconds", "How long keys wait in a work queue", "queue")
        self.passes = self.histogram("sync_seconds", "How long a pass over one key takes", "queue", "outcome")
        self.calls = self.counter("api_calls", "Calls of the API", "verb", "resource", "code")
        self.call_seconds = self.histogram("api_call_seconds", "How long calls of the API take", "verb")
        self._sources = _Sources()
        self.registry.register(self._sources)

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        """A number that only grows; `_total` is appended to its name."""
        return Counter(f"eachnode_{name}", meaning, labels, registry=self.registry)

    def histogram(self, name: str, meaning: str, *labels: str) -> Histogram:
        """How often something took how long."""
        return Histogram(f"eachnode_{name}", meaning, labels, registry=self.registry, buckets=SECONDS)

    def computed(self, name: str, meaning: str, labels: tuple[str, ...], compute: Compute) -> None:
        """Gauges whose label sets come and go: computed at each look as {label values: number}."""
        self._sources.computed.append((name, meaning, labels, compute))

    def metered(self, door: Door) -> Door:
        """The door, its calls counted."""

        def tally(call: Call, code: str, seconds: float) -> None:
            self.calls.labels(call.verb, call.resource.qualified, code).inc()
            if call.verb != "watch":
                self.call_seconds.labels(call.verb).observe(seconds)

        return Metered(door, tally)

    def watch_queue(self, name: str, queue: WorkQueue[Any]) -> Callable[[float, str], None]:
        """Show a work queue; the answer is the `on_pass` for its workers."""
        self._sources.queues[name] = queue
        queue.on_taken = self.wait.labels(name).observe

        def on_pass(seconds: float, outcome: str) -> None:
            self.passes.labels(name, outcome).observe(seconds)

        return on_pass

    def watch_informer(self, informer: Informer[Any]) -> None:
        """Show an informer."""
        self._sources.informers[informer.resource.qualified] = informer

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)


Compute = Callable[[], Mapping[tuple[str, ...], float]]


class _Sources(Collector):
    """Reads queues, informers and computed gauges at the moment somebody looks."""

    def __init__(self) -> None:
        self.queues: dict[str, WorkQueue[Any]] = {}
        self.informers: dict[str, Informer[HasMetadata]] = {}
        self.computed: list[tuple[str, str, tuple[str, ...], Compute]] = []

    def collect(self) -> Iterable[Metric]:
        """The numbers as they are now."""
        yield _gauges("workqueue_depth", "Keys that wait", "queue", {n: len(q) for n, q in self.queues.items()})
        yield _gauges("workqueue_working", "Keys in work", "queue", {n: q.working for n, q in self.queues.items()})
        yield _counts("workqueue_adds", "Keys added", "queue", {n: q.added for n, q in self.queues.items()})
        yield _counts("workqueue_retries", "Keys that failed", "queue", {n: q.retried for n, q in self.queues.items()})
        seen = self.informers.items()
        yield _gauges("cache_objects", "Objects kept", "resource", {n: len(i.items) for n, i in seen})
        yield _gauges("cache_synced", "Whether all was seen", "resource", {n: i.synced.is_set() for n, i in seen})
        yield _gauges("cache_heard_timestamp_seconds", "When the server last told of it", "resource",
                      {n: i.heard_at for n, i in seen})  # fmt: skip
        yield _counts(
            "watches_opened", "Watches opened, restarts included", "resource", {n: i.watches for n, i in seen}
        )
        yield _counts("relists", "Times everything was read anew", "resource", {n: i.relists for n, i in seen})
        yield _counts(
            "malformed_objects", "Objects that could not be read", "resource", {n: i.malformed for n, i in seen}
        )
        for name, meaning, labels, compute in self.computed:
            family = GaugeMetricFamily(f"eachnode_{name}", meaning, labels=labels)
            for values, number in sorted(compute().items()):
                family.add_metric(values, number)
            yield family


def _gauges(name: str, meaning: str, label: str, numbers: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"eachnode_{name}", meaning, labels=[label])
    for value, number in sorted(numbers.items()):
        family.add_metric([value], number)
    return family


def _counts(name: str, meaning: str, label: str, numbers: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(f"eachnode_{name}", meaning, labels=[label])
    for value, number in sorted(numbers.items()):
        family.add_metric([value], number)
    return family
