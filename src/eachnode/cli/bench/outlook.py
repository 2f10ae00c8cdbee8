"""What awaits the controller in fleets larger than one machine can simulate: its memory, and its longest passes.

The same bench as for the cost of events, in a process of its own, so that memory is that of one fleet.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from eachnode.cli.bench.clusters import NO_PROC
from eachnode.cli.bench.events import Bench
from eachnode.cli.bench.measures import Sample
from eachnode.cli.bench.processes import megabytes_of


def outlook(nodes: int) -> Iterator[Sample]:
    """One DaemonSet with a pod on each of very many nodes."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield from pool.submit(_measured, nodes).result()


def _measured(nodes: int) -> list[Sample]:
    return asyncio.run(_measure(nodes))


async def _measure(nodes: int) -> list[Sample]:
    bench = Bench(nodes)
    gc.freeze()  # What the bench itself is made of is nothing that a controller would have to look through.
    before, begun = megabytes_of("self"), time.process_time()
    await bench.begin()
    taken_in = time.process_time() - begun
    after = megabytes_of("self")
    known = None if before is None or after is None else (after - before) * 1000 / nodes
    try:
        return [
            Sample(f"{nodes:,} nodes and pods taken in, each", taken_in * 1e6 / nodes, "µs"),
            Sample(f"memory for a node with its pod, of {nodes:,}", known, "kB", why_not=NO_PROC),
            Sample(f"a pass with nothing new, {nodes:,} nodes", bench.seconds_for_a_look() * 1e6, "µs"),
            Sample(f"the pass after a new template, {nodes:,} nodes", bench.seconds_for_a_new_template() * 1000, "ms"),
        ]
    finally:
        await bench.end()
