"""What one event costs the controller: decoded, told to the world, and a pass over the DaemonSet that it wakes.

The real informer, world, fleet and decisions, in this process; only the server is missing: its events are prepared.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from math import inf
from typing import Any, cast

import msgspec

from eachnode.cli.bench.measures import Goal, Sample
from eachnode.client.door import Door
from eachnode.controllers.daemonset.observe import World, concerns_daemonsets
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.controllers.kubelet.fleet import node_trees
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History
from eachnode.decisions.plan import decide
from eachnode.decisions.slots import Aim
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import NODES, PODS, Resource
from eachnode.objects.watching import WatchEvent
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer

EVENTS = 1_000
ROUNDS = 9  # Of which the least counts: other programs make an event dearer, nothing makes it cheaper.
PAGE = 500  # Objects that are taken in together.
FEW = 100  # Nodes whose objects the processor keeps at hand.
SIZES = (100, 1_000, 10_000)
FLAT = Goal(1.1)
START = "2026-01-01T00:00:00Z"
UID = "11111111-1111-4111-8111-111111111111"
KEY = Key("default", "d")


class PreparedServer:
    """Answers watches with what it is fed, and nothing else."""

    def __init__(self) -> None:
        self._feeds: dict[str, asyncio.Queue[Sequence[WatchEvent]]] = {}

    def feed(self, resource: Resource) -> asyncio.Queue[Sequence[WatchEvent]]:
        """Where the batches of a resource's watch are put."""
        return self._feeds.setdefault(resource.qualified, asyncio.Queue())

    async def watch(self, resource: Resource, *_: object, **__: object) -> AsyncIterator[Sequence[WatchEvent]]:
        """What is fed, as it comes."""
        feed = self.feed(resource)
        while True:
            yield await feed.get()
            feed.task_done()  # The informer asks for more, so it has dealt with this.


class Bench:
    """One DaemonSet with a ready pod on each of its nodes, known through informers."""

    def __init__(self, nodes: int) -> None:
        self.server = PreparedServer()
        self.passes = 0
        door, clock, chance = cast(Door, self.server), SystemClock(), random.Random(1)
        self.nodes = Informer(door, NODES, Node, clock=clock, chance=chance)
        self.pods = Informer(door, PODS, Pod, clock=clock, chance=chance, keep=concerns_daemonsets)
        self._daemonset = msgspec.json.decode(_daemonset(), type=DaemonSet)
        self._version = 10
        self._trees = {tree["metadata"]["name"]: tree for tree in node_trees(nodes)}
        self.names = list(self._trees)
        self._awake = False
        self._history = History(hash="1", current=None, old=(), writes=())
        self._world = World(self.nodes.items, self._wake, DaemonSetOptions())
        self.nodes.subscribe(self._world.node_changed)
        self.pods.subscribe(self._world.pod_changed)

    async def begin(self) -> None:
        """Take everything in, until nothing is left to do."""
        self._running = [asyncio.create_task(informer.run()) for informer in (self.nodes, self.pods)]
        self._world.daemonset_changed(None, self._daemonset)
        self._fleet.take_aim(Aim.of(self._daemonset, "1", surges=False))
        await self._take_all(NODES, self.node)
        await self._take_all(PODS, self.pod)
        await asyncio.gather(self.nodes.synced.wait(), self.pods.synced.wait())
        self.look()

    async def end(self) -> None:
        """Let go of the informers."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def seconds_per_event(self, resource: Resource, events: Sequence[WatchEvent]) -> float:
        """What one costs, when each comes alone and is looked at alone."""
        feed = self.server.feed(resource)
        begun = time.process_time()
        for event in events:
            feed.put_nowait([event])
            await feed.join()
            if self._awake:
                self.look()
        return (time.process_time() - begun) / len(events)

    async def _take_all(self, resource: Resource, document_of: Callable[[str], Document]) -> None:
        feed = self.server.feed(resource)
        for start in range(0, len(self.names), PAGE):
            feed.put_nowait([WatchEvent("ADDED", document_of(name)) for name in self.names[start : start + PAGE]])
            await feed.join()
        feed.put_nowait([_end()])
        await feed.join()

    def _wake(self, _: Key) -> None:
        self._awake = True

    def look(self) -> None:
        """What a pass decides, as often as something woke the DaemonSet."""
        self._awake = False
        self.passes += 1
        plan = decide(self._daemonset, self._fleet, self._history, time.time())
        assert plan.counts.number_ready == len(self.names)
        assert plan.is_idle

    @property
    def _fleet(self) -> Fleet:
        fleet = self._world.charges[KEY].fleet
        assert fleet is not None, "the DaemonSet can be read"
        return fleet

    def seconds_for_a_look(self) -> float:
        """What a pass costs that finds nothing changed."""
        begun = time.process_time()
        self.look()
        return time.process_time() - begun

    def seconds_for_a_new_template(self) -> float:
        """What the pass costs that finds every pod outdated; it is another bench from then on."""
        fleet = self._fleet
        begun = time.process_time()
        fleet.take_aim(Aim.of(self._daemonset, "2", surges=False))
        plan = decide(self._daemonset, fleet, self._history, time.time())
        assert len(plan.deletes) == 1, "the budget is one"
        return time.process_time() - begun

    def node(self, name: str) -> Document:
        """A node that just gave a sign of life."""
        tree = self._trees[name]
        conditions = [
            {"type": kind, "status": "False", "reason": f"Kubelet{kind}", "message": "as it should be",
             "lastHeartbeatTime": START, "lastTransitionTime": START}
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ]  # fmt: skip
        return self._document(tree, {"uid": f"uid-{name}"}, status={**tree["status"], "conditions": conditions})

    def pod(self, node: str) -> Document:
        """The pod on a node, ready, at a new version."""
        labels = {"app": "d", "controller-revision-hash": "1", "pod-template-generation": "1"}
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": UID, "controller": True}
        metadata = {"name": f"d-{node}", "namespace": "default", "uid": f"uid-d-{node}", "labels": labels,
                    "creationTimestamp": START, "ownerReferences": [owner]}  # fmt: skip
        tolerations = [{"key": f"k{n}", "operator": "Exists", "effect": "NoExecute"} for n in range(6)]
        containers = [{"name": "c", "image": "i:1", "resources": {}}]
        spec = {"nodeName": node, "containers": containers, "tolerations": tolerations}
        conditions = [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": START}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": "Running", "conditions": conditions, "hostIP": "10.0.0.1", "podIP": "10.1.0.1"}
        return self._document({"apiVersion": "v1", "kind": "Pod"}, metadata, spec=spec, status=status)

    def _document(self, tree: dict[str, Any], metadata: dict[str, Any], **parts: Any) -> Document:
        self._version += 1
        about = {**tree.get("metadata", {}), **metadata, "resourceVersion": str(self._version)}
        return Document(msgspec.json.encode({**tree, "metadata": about, **parts}))


def _daemonset() -> bytes:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {
        "selector": {"matchLabels": {"app": "d"}},
        "template": template,
        "updateStrategy": {"type": "RollingUpdate"},
    }
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "uid": UID, "generation": 1, "resourceVersion": "7"}
    return msgspec.json.encode({"metadata": metadata, "spec": spec})


def _end() -> WatchEvent:
    return WatchEvent("BOOKMARK", Document(b'{"metadata":{"resourceVersion":"1"}}'), initial_end=True)


async def _begun(nodes: int) -> Bench:
    bench = Bench(nodes)
    await bench.begin()
    return bench


async def _round(bench: Bench, names: Sequence[str]) -> tuple[float, float]:
    """Seconds for an event of a pod, and for a heartbeat, on these nodes."""
    pods = [WatchEvent("MODIFIED", bench.pod(each)) for each in names]
    pod = await bench.seconds_per_event(PODS, pods)
    passes = bench.passes
    beats = [WatchEvent("MODIFIED", bench.node(each)) for each in names]
    beat = await bench.seconds_per_event(NODES, beats)
    assert bench.passes == passes, "a heartbeat wakes nobody"
    return pod, beat


async def _costs() -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Seconds for an event of a pod and for a heartbeat, by size: on few nodes, then on any.

    The sizes take turns, so that whatever else the machine does falls upon all of them.
    """
    benches = {nodes: await _begun(nodes) for nodes in SIZES}
    chance = random.Random(2)
    near, far = ({nodes: [inf, inf] for nodes in SIZES} for _ in range(2))
    gc.freeze()  # As a program does that has taken in what is there.
    try:
        for _ in range(ROUNDS):
            for nodes, bench in benches.items():
                for least, names in ((near, bench.names[:FEW]), (far, bench.names)):
                    now = await _round(bench, chance.choices(names, k=EVENTS))
                    least[nodes] = [min(pair) for pair in zip(least[nodes], now, strict=True)]
    finally:
        for bench in benches.values():
            await bench.end()
        gc.unfreeze()
    return near, far


def cost_of_events(_: int) -> list[Sample]:
    """Microseconds for one event, at several sizes, and how much that grows.

    What grows is told by events of the same hundred nodes, whatever the size: their objects are in the processor's
    caches then, at each size. Events of any node are told, too; of ten thousand nodes most are in main memory only.
    """
    near, far = asyncio.run(_costs())
    found = []
    for place, what in enumerate(("pod event with its pass", "heartbeat of a node")):
        of_few = {nodes: costs[place] * 1e6 for nodes, costs in near.items()}
        found += [Sample(f"{what}, {nodes:,} nodes", cost, "µs") for nodes, cost in of_few.items()]
        found.append(Sample(f"{what}: most over least", max(of_few.values()) / min(of_few.values()), "×", FLAT))
        found += [Sample(f"{what}, any of {nodes:,} nodes", costs[place] * 1e6, "µs") for nodes, costs in far.items()]
    return found
