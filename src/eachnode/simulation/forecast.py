"""What a change of a DaemonSet will be like: how long, how many out of service, how many calls, and what would stop it.

The change is applied in many worlds that begin as the real cluster is, each with another seed; their loops are the real
ones. Start times are drawn from those that the cluster's own pods had; how long pods take to stop nobody can see
in a cluster that stands still, so that is assumed as the lifelike simulated kubelet has it.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from eachnode.client.door import PatchKind
from eachnode.controllers.kubelet import STOPPED, KubeletOptions
from eachnode.decisions.pod_stages.stages import Delay, Layer, Outcome, Selection, Stage
from eachnode.decisions.pod_stages.states import PodState
from eachnode.embedded.options import ClusterOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.objects.status import AlreadyExists
from eachnode.runtime.virtual_time import VirtualTimeLoop
from eachnode.simulation.at_rest import unsettled
from eachnode.simulation.snapshot import Snapshot, Start
from eachnode.simulation.truth import Daemons
from eachnode.simulation.world import World

Tree = dict[str, Any]

SEEDS = 20
HEARTBEAT = 20.0
STALLED = 900.0  # Seconds without any pod becoming available after which the rollout is said to stand.
LONGEST = 7 * 86_400.0
LOOK_EVERY = 0.1
FOR_EVER = 1e9
NO_IMAGE = ("",)  # A pattern that no image fits: every image of a real cluster is taken to be there.
ZONE = "topology.kubernetes.io/zone"
_FEW = 3  # Start times below this number say nothing; the lifelike ones are assumed then.


@dataclass(frozen=True, slots=True)
class Course:
    """How the change went in one world."""

    duration: float | None  # None: it stands.
    worst: int
    worst_by_zone: dict[str, int]
    calls: int
    stopped_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """How the change will go."""

    courses: tuple[Course, ...]
    starts: int  # How many start times of real pods it rests upon.
    wanted: int
    assumptions: tuple[str, ...] = ()

    @property
    def durations(self) -> list[float]:
        """The durations of those worlds in which the change came to its end, in order."""
        return sorted(each.duration for each in self.courses if each.duration is not None)

    @property
    def median(self) -> float | None:
        """In half of the worlds it takes no longer; None when it mostly stands."""
        return self._within(0.5)

    @property
    def ninety(self) -> float | None:
        """In nine of ten worlds it takes no longer."""
        return self._within(0.9)

    def _within(self, share: float) -> float | None:
        place = max(0, -(-len(self.courses) * share // 1) - 1)
        ordered = self.durations
        return ordered[int(place)] if place < len(ordered) else None

    @property
    def worst(self) -> int:
        """The most nodes without an available pod at any moment in any world."""
        return max(each.worst for each in self.courses)

    @property
    def worst_by_zone(self) -> dict[str, int]:
        """The same for each zone."""
        together: dict[str, int] = {}
        for course in self.courses:
            for zone, count in course.worst_by_zone.items():
                together[zone] = max(together.get(zone, 0), count)
        return dict(sorted(together.items()))

    @property
    def calls(self) -> int:
        """How many requests the controller sends, in the middle of all worlds."""
        return int(statistics.median(each.calls for each in self.courses))

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """What stops it, most frequent first, each with the number of worlds."""
        found = Counter(sentence for each in self.courses for sentence in each.stopped_by)
        return tuple(
            f"{sentence} (in {count} of {len(self.courses)} worlds)" for sentence, count in found.most_common(8)
        )

    def lines(self) -> list[str]:
        """The forecast for people."""
        told = [f"{self.wanted} nodes, {len(self.courses)} worlds, start times of {self.starts} pods"]
        if self.median is not None:
            ninety = f", in nine of ten cases no more than {_span(self.ninety)}" if self.ninety is not None else ""
            told.append(f"duration        {_span(self.median)}{ninety}")
        else:
            told.append("duration        it does not come to its end")
        told.append(f"out of service  at most {self.worst} at once")
        if len(self.worst_by_zone) > 1:
            told += [f"  {zone or 'no zone':<14}at most {count}" for zone, count in self.worst_by_zone.items()]
        told.append(f"API calls       {self.calls} by the controller")
        told += [f"stopped by      {sentence}" for sentence in self.stopped_by]
        told += [f"assumed         {sentence}" for sentence in self.assumptions]
        return told


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "for ever"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


def forecast(snapshot: Snapshot, changed: Tree, seeds: int = SEEDS) -> Forecast:
    """How the DaemonSet becoming `changed` will go. It runs event loops of its own: not to be called inside of one."""
    courses = []
    for seed in range(1, seeds + 1):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            courses.append(runner.run(_World(snapshot, changed, seed).live()))
    return Forecast(tuple(course for course, _ in courses), len(snapshot.starts), courses[0][1], _assumed(snapshot))


def _assumed(snapshot: Snapshot) -> tuple[str, ...]:
    told = ["pods stop within 2 s after their preStop hooks; the new image is there and starts like the present one"]
    if len(snapshot.starts) < _FEW:
        told.append("pods start within 5 s: too few of the present ones have started to tell")
    if snapshot.dead:
        told.append(f"{len(snapshot.dead)} nodes that are not ready stay so: {', '.join(snapshot.dead[:5])}")
    if snapshot.broken:
        told.append(f"{len(snapshot.broken)} pods that are not ready stay so until replaced")
    return tuple(told)


class _World:
    """One world in which the change takes place."""

    def __init__(self, snapshot: Snapshot, changed: Tree, seed: int) -> None:
        self._snapshot, self._changed = snapshot, changed
        metadata = changed["metadata"]
        self._name, self._namespace = metadata["name"], metadata.get("namespace", "default")
        layer = _present_state(snapshot) + start_stages(snapshot.starts)
        kubelet = KubeletOptions(
            timing="lifelike", chaos=(layer,) if layer else (), lease_every=HEARTBEAT, bad_images=NO_IMAGE, events=False
        )
        self._world = World(ClusterOptions(kubelet=kubelet), seed)
        self._worst = 0
        self._by_zone: dict[str, int] = {}
        self._last_progress = 0.0

    async def live(self) -> tuple[Course, int]:
        """Build the present, change it, and follow what becomes of it."""
        world = self._world
        async with world:
            await self._build()
            await self._fill()
            for name in self._snapshot.dead:
                await self._stop(name)
            if self._snapshot.dead:
                await asyncio.sleep(120.0)  # Until the cluster has noticed.
            before = Counter(world.ledger.calls)
            await self._apply(self._changed)
            course = await self._follow()
            made = world.ledger.calls - before
            calls = sum(count for (who, _, _), count in made.items() if who == "controller")
            daemons = self._daemons()
            return replace(course, calls=calls), daemons.wanted

    def _daemons(self) -> Daemons:
        found = self._world.truth.named(self._name, self._namespace)
        assert found is not None  # It was applied, and nobody takes it away.
        return found

    # The present

    async def _build(self) -> None:
        door = self._world.cluster.server
        if self._namespace != "default":
            await self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}})
        for tree in self._snapshot.around:
            await self._create(tree)
        for tree in self._snapshot.nodes:
            await door.create(NODES, msgspec.json.encode(tree))
        await self._apply(self._snapshot.daemonset)

    async def _create(self, tree: Tree) -> None:
        door = self._world.cluster.server
        for resource in await door.served():
            if (resource.kind, resource.api_version) == (tree["kind"], tree["apiVersion"]):
                try:
                    where = tree["metadata"].get("namespace", "")
                    await door.create(resource, msgspec.json.encode(tree), where)
                except AlreadyExists:
                    return  # Every cluster has it.

    async def _apply(self, tree: Tree) -> None:
        await self._world.user.patch(
            DAEMON_SETS,
            self._name,
            msgspec.json.encode(tree),
            PatchKind.APPLY,
            self._namespace,
            field_manager="forecast",
            force=True,
        )

    async def _stop(self, name: str) -> None:
        body = msgspec.json.encode({"metadata": {"annotations": {STOPPED: "true"}}})
        await self._world.user.patch(NODES, name, body, PatchKind.MERGE)

    async def _fill(self) -> None:
        """Wait until the old template runs wherever it does in the real cluster, or nothing more comes."""
        await asyncio.sleep(5.0)  # The nodes come up.
        await self._until_still(lambda daemons: self._out(daemons) <= set(self._snapshot.broken))

    # The change

    async def _follow(self) -> Course:
        loop, world = asyncio.get_running_loop(), self._world
        began = loop.time()
        watcher = asyncio.create_task(self._watch())
        ended = await self._until_still(lambda _: not list(unsettled(world.truth, world.clock.now())))
        watcher.cancel()
        daemons = self._daemons()
        if not ended and not self._not_current(daemons):
            return Course(self._last_progress - began, self._worst, self._by_zone, 0, tuple(self._why()))
        duration = loop.time() - began if ended else None
        return Course(duration, self._worst, self._by_zone, 0, () if ended else tuple(self._why()))

    async def _watch(self) -> None:
        """Note the most that is out of service at once."""
        while True:
            out = self._out(self._daemons())
            self._worst = max(self._worst, len(out))
            zones = Counter(self._zone(node) for node in out)
            for zone, count in sorted(zones.items()):
                self._by_zone[zone] = max(self._by_zone.get(zone, 0), count)
            await asyncio.sleep(LOOK_EVERY)

    async def _until_still(self, done: Any) -> bool:
        """Return when it is done (True), or when nothing has become better for long (False)."""
        loop = asyncio.get_running_loop()
        before, self._last_progress = self._progress(), loop.time()
        deadline = loop.time() + LONGEST
        while not done(self._daemons()):
            now = self._progress()
            if now != before:
                before, self._last_progress = now, loop.time()
            if loop.time() - self._last_progress > STALLED or loop.time() > deadline:
                return False
            await asyncio.sleep(LOOK_EVERY)
        return True

    def _progress(self) -> tuple[int, int]:
        daemons = self._daemons()
        return len(self._not_current(daemons)), len(self._out(daemons))

    def _out(self, daemons: Daemons) -> set[str]:
        """Wanted nodes without an available pod."""
        now = self._world.clock.now()
        wanted = {name for name, station in daemons.stations.items() if station.verdict.should_run}
        return {name for name in wanted if not daemons.serves(name, now)}

    def _not_current(self, daemons: Daemons) -> list[str]:
        """Wanted nodes that could be served and have no available pod of the newest template."""
        current = daemons.current()
        label = current.revision_hash if current is not None else None
        now = self._world.clock.now()
        return [
            name
            for name, station in daemons.stations.items()
            if station.verdict.should_run
            and not any(pod.revision_hash == label and daemons.is_available(pod, now) for pod in daemons.on(name))
        ]

    def _zone(self, node: str) -> str:
        known = self._world.truth.nodes.get(node)
        return known.labels.get(ZONE, "") if known is not None else ""

    def _why(self) -> Iterable[str]:
        """Why it stands: dead nodes, pods that no node has room for, refused creates."""
        daemons = self._daemons()
        lacking = set(self._not_current(daemons))
        holding = {node for node, pods in daemons.pods.items() if pods}
        if dead := (lacking | holding) & set(self._snapshot.dead):
            yield f"nodes that are not ready: {', '.join(sorted(dead))}"
        for stored in self._world.cluster.server.registry.served(PODS).shelf.within(self._namespace):
            for condition in stored.document.tree().get("status", {}).get("conditions") or ():
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    yield f"no room: {condition.get('message', '')}"
        refused = {
            line.what.partition("because: ")[2] for line in self._world.story.lines if "could not create" in line.what
        }
        yield from sorted(f"pods cannot be created: {each}" for each in refused if each)[:3]
        if not dead and not refused and lacking:
            yield f"no available pod on {len(lacking)} nodes, {', '.join(sorted(lacking)[:3])} among them"


# Start times as stages


def start_stages(starts: Sequence[Start]) -> Layer:
    """Stages whose delays are those of real pods; none when there are too few to go by."""
    if len(starts) < _FEW:
        return ()
    first = _spread(sorted(each.until_started for each in starts))
    second = _spread(sorted(each.until_ready for each in starts))
    started = [
        Stage("its containers start", Selection(PodState.BOUND), Outcome(PodState.STARTED), delay) for delay in first
    ]
    ready = [Stage("becomes ready", Selection(PodState.STARTED), Outcome(PodState.READY), delay) for delay in second]
    return (*started, *ready)


def _spread(values: Sequence[float], most: int = 50) -> list[Delay]:
    """Up to fifty equally likely delays that are spread as these; each half a second wide to either side."""
    chosen = values if len(values) <= most else [values[int((i + 0.5) * len(values) / most)] for i in range(most)]
    return [Delay(max(0.0, each - 0.5), each + 0.5) for each in chosen]


def _present_state(snapshot: Snapshot) -> Layer:
    """Pods that are not ready in the real cluster are not ready in ours, as long as they are of the old template."""
    images = tuple(each["image"] for each in snapshot.daemonset["spec"]["template"]["spec"]["containers"])
    if not snapshot.broken:
        return ()
    stuck = Selection(PodState.STARTED, images=images, nodes=snapshot.broken)
    return (
        Stage("is not ready, as in the real cluster", stuck, Outcome(PodState.READY), Delay(FOR_EVER, FOR_EVER), 10**9),
    )
