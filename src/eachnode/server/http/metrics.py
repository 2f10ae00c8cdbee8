"""What the server counts about itself, in the text form that Prometheus reads, under the reference's names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0)
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, str, str]  # verb, resource, code


@dataclass(slots=True)
class Metrics:
    """Counters; adding to one is a dictionary lookup."""

    requests: dict[Labels, int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)  # By verb: one count per bucket, then sum and count.
    in_flight: int = 0
    watchers: int = 0
    cut_off: int = 0
    refused_connections: int = 0

    def done(self, verb: str, resource: str, code: int, elapsed: float | None) -> None:
        """One request was answered; None for a watch, whose duration says nothing."""
        labels = (verb, resource, str(code))
        self.requests[labels] = self.requests.get(labels, 0) + 1
        if elapsed is None:
            return
        cells = self.seconds.get(verb)
        if cells is None:
            cells = self.seconds[verb] = [0.0] * (len(BUCKETS) + 2)
        for index, limit in enumerate(BUCKETS):
            if elapsed <= limit:
                cells[index] += 1
                break
        cells[-2] += elapsed
        cells[-1] += 1

    def text(self, objects: Mapping[str, int], version: int) -> str:
        """The page; `objects` counts the stored objects of each resource."""
        return "\n".join([*self._request_lines(), *_state_lines(self, objects, version), *_process_lines(), ""])

    def _request_lines(self) -> Iterator[str]:
        yield from _head("apiserver_request_total", "counter", "Requests answered, by verb, resource and code.")
        for (verb, resource, code), count in sorted(self.requests.items()):
            labels = f'verb="{verb}",resource="{resource}",code="{code}"'
            yield f"apiserver_request_total{{{labels}}} {count}"
        name = "apiserver_request_duration_seconds"
        yield from _head(name, "histogram", "How long answering took, by verb; watches not counted.")
        for verb, cells in sorted(self.seconds.items()):
            so_far = 0.0
            for limit, within in zip(BUCKETS, cells, strict=False):
                so_far += within
                yield f'{name}_bucket{{verb="{verb}",le="{limit:g}"}} {so_far:g}'
            yield f'{name}_bucket{{verb="{verb}",le="+Inf"}} {cells[-1]:g}'
            yield f'{name}_sum{{verb="{verb}"}} {cells[-2]:.6f}'
            yield f'{name}_count{{verb="{verb}"}} {cells[-1]:g}'


def _state_lines(metrics: Metrics, objects: Mapping[str, int], version: int) -> Iterator[str]:
    yield from _head("apiserver_current_inflight_requests", "gauge", "Requests being worked on, watches not counted.")
    yield f"apiserver_current_inflight_requests {metrics.in_flight}"
    yield from _head("apiserver_longrunning_requests", "gauge", "Open watches.")
    yield f'apiserver_longrunning_requests{{verb="WATCH"}} {metrics.watchers}'
    yield from _head("eachnode_watchers_cut_off_total", "counter", "Watches ended because their client did not read.")
    yield f"eachnode_watchers_cut_off_total {metrics.cut_off}"
    yield from _head("apiserver_storage_objects", "gauge", "Stored objects of each resource.")
    for resource, count in sorted(objects.items()):
        yield f'apiserver_storage_objects{{resource="{resource}"}} {count}'
    yield from _head("eachnode_resource_version", "gauge", "The version of the newest write.")
    yield f"eachnode_resource_version {version}"


def _process_lines() -> Iterator[str]:
    spent = os.times()
    yield from _head("process_cpu_seconds_total", "counter", "CPU time of this process.")
    yield f"process_cpu_seconds_total {spent.user + spent.system:.2f}"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"
