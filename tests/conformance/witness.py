"""Follows the pods of one DaemonSet commit by commit, and holds what must hold after each of them against them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from eachnode.objects.clock import seconds
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from tests.worlds import Tree, World

HASH = "controller-revision-hash"


def condition(tree: Tree, kind: str) -> Tree:
    """One of an object's conditions; empty when it has none of that kind."""
    conditions = tree.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def is_owned(tree: Tree, owner: Tree) -> bool:
    """Whether the owner controls the object."""
    references = tree["metadata"].get("ownerReferences") or []
    return any(each.get("controller") and each["uid"] == owner["metadata"]["uid"] for each in references)


def is_going(pod: Tree) -> bool:
    """Whether its deletion has begun."""
    return "deletionTimestamp" in pod["metadata"]


def is_available(pod: Tree, patience: float, now: float) -> bool:
    """Whether it has been ready for so many seconds."""
    ready = condition(pod, "Ready")
    if ready.get("status") != "True":
        return False
    return patience == 0 or (seconds(ready["lastTransitionTime"]) or now) + patience <= now


def image(pod: Tree) -> str:
    """The image of its first container."""
    text: str = pod["spec"]["containers"][0]["image"]
    return text


def names(things: Iterable[Tree]) -> set[str]:
    """What they are called."""
    return {each["metadata"]["name"] for each in things}


class Witness:
    """What has been seen of the pods of one DaemonSet."""

    def __init__(self, world: World, daemonset: Tree) -> None:
        self.world = world
        self.daemonset = daemonset
        self.pods: dict[str, Tree] = {}  # By uid.
        self.commits = 0
        self.rules: list[Callable[[Witness], str]] = []
        self.broken: list[str] = []

    @property
    def alive(self) -> list[Tree]:
        """The pods whose deletion has not begun."""
        return [pod for pod in self.pods.values() if not is_going(pod)]

    @property
    def now(self) -> float:
        """The world's time."""
        return self.world.cluster.clock.now()

    @property
    def patience(self) -> float:
        """For how long a pod has to be ready."""
        wanted: int = self.daemonset["spec"].get("minReadySeconds", 0)
        return wanted

    def unavailable(self) -> list[Tree]:
        """The pods that are not available, but for those whose deletion has begun."""
        return [pod for pod in self.alive if not is_available(pod, self.patience, self.now)]

    async def run(self) -> None:
        """Follow until cancelled."""
        async for batch in self.world.door.watch(PODS, self.daemonset["metadata"]["namespace"], initial=True):
            for event in batch:
                if event.type != "BOOKMARK":
                    self._see(event.type, event.document.tree())

    def _see(self, kind: str, pod: Tree) -> None:
        if not is_owned(pod, self.daemonset):
            return
        self.commits += 1
        if kind == "DELETED":
            self.pods.pop(pod["metadata"]["uid"], None)
        else:
            self.pods[pod["metadata"]["uid"]] = pod
        self.broken += [f"{self.now:.1f}: {said}" for rule in self.rules if (said := rule(self))]


@asynccontextmanager
async def watching(world: World, daemonset: Tree, *rules: Callable[[Witness], str]) -> AsyncIterator[Witness]:
    """Follow the pods of a DaemonSet until the block ends; none of the rules may have been broken by then."""
    witness = Witness(world, daemonset)
    task = asyncio.create_task(witness.run())
    await asyncio.sleep(0.01)  # Until everything present was seen: the rules are for what comes.
    witness.rules.extend(rules)
    try:
        yield witness
        await asyncio.sleep(0.01)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert witness.commits, "nothing was seen at all"
    assert not witness.broken, "\n".join(witness.broken[:5])


def at_most(number: int) -> Callable[[Witness], str]:
    """The rule that no more pods than this are ever unavailable."""

    def rule(witness: Witness) -> str:
        out = sorted(names(witness.unavailable()))
        return f"{len(out)} are unavailable, {number} allowed: {out}" if len(out) > number else ""

    return rule


async def pods_of(world: World, daemonset: Tree) -> list[Tree]:
    """The pods that a DaemonSet controls."""
    return [pod for pod in await world.pods() if is_owned(pod, daemonset)]


async def live(world: World, name: str = "d") -> Tree:
    """The DaemonSet as it is now."""
    tree = await world.get(DAEMON_SETS, name)
    assert tree is not None
    return tree


async def runs_on_exactly(world: World, daemonset: Tree, nodes: Iterable[str]) -> bool:
    """Whether each of these nodes has one available pod of the DaemonSet, and no other node has any."""
    patience, now = daemonset["spec"].get("minReadySeconds", 0), world.cluster.clock.now()
    alive = [pod for pod in await pods_of(world, daemonset) if not is_going(pod)]
    available = [pod for pod in alive if is_available(pod, patience, now)]
    return len(available) == len(alive) and sorted(pod["spec"]["nodeName"] for pod in alive) == sorted(nodes)


async def runs_everywhere(world: World, daemonset: Tree) -> bool:
    """Whether each node has one available pod of the DaemonSet."""
    return await runs_on_exactly(world, daemonset, names(await world.all(NODES)))


async def until_it_runs_everywhere(world: World, daemonset: Tree, within: float = 300.0) -> None:
    """Wait until each node has one available pod, and the status says so."""

    async def runs() -> bool:
        status = (await live(world, daemonset["metadata"]["name"])).get("status", {})
        counts = {status.get(f"{each}Scheduled", 0) for each in ("desiredNumber", "currentNumber")}
        return await runs_everywhere(world, daemonset) and counts == {status.get("numberReady", 0)}

    await world.until(runs, within)


async def history(world: World) -> list[Tree]:
    """All revisions, oldest first."""
    return sorted(await world.all(CONTROLLER_REVISIONS), key=lambda each: int(each["revision"]))


async def until_labelled(world: World, daemonset: Tree, number: int) -> None:
    """Wait until there are so many revisions, and all pods belong to the newest one."""

    async def labelled() -> bool:
        revisions = await history(world)
        hashes = {pod["metadata"]["labels"][HASH] for pod in await pods_of(world, daemonset) if not is_going(pod)}
        newest = revisions[-1]["metadata"]["labels"][HASH]
        return [each["revision"] for each in revisions] == list(range(1, number + 1)) and hashes == {newest}

    await world.until(labelled, 300)


async def eventually(world: World, holds: Callable[[], Awaitable[object]], within: float = 300.0) -> None:
    """Wait as long as the reference's own tests do."""
    await world.until(holds, within)
