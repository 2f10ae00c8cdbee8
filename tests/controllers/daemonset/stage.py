"""A stage for the controller: a real server on virtual time, hands that do what scheduler and kubelet would do, and a
record of every call that the controller makes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.client.intercepting import Call, Intercepting
from eachnode.controllers.daemonset import DaemonSetController, DaemonSetOptions
from eachnode.objects.clock import timestamp
from eachnode.objects.deletion import DeleteOptions, Propagation
from eachnode.objects.meta import Key
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NAMESPACES, NODES, PODS, Resource
from eachnode.objects.status import Conflict, NotFound
from eachnode.runtime.informer import Informer
from eachnode.runtime.virtual_time import LoopClock
from eachnode.server.api_server import ApiServer
from eachnode.server.kinds import BUILT_IN
from eachnode.server.store import IN_MEMORY, Store

Tree = dict[str, Any]
NS = "default"
LONG = 3600.0  # Virtual seconds after which what is awaited will not come.
_ALL_OF_THEM = ("desiredNumberScheduled", "currentNumberScheduled", "numberAvailable", "updatedNumberScheduled")
Answer = TypeVar("Answer")
SIMPLE: Tree = {"containers": [{"name": "c", "image": "i:1"}], "terminationGracePeriodSeconds": 0}


class Watched(Intercepting):
    """Remembers every request, and lets a test say what becomes of it."""

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self.calls: list[Call] = []
        self.interfere: Callable[[Call], Awaitable[None]] | None = None  # Before a request; may raise.
        self.afterwards: Callable[[Call], Awaitable[None]] | None = None  # After it was carried out; may raise.

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        self.calls.append(call)
        if self.interfere is not None:
            await self.interfere(call)
        answer = await send()
        if self.afterwards is not None:
            await self.afterwards(call)
        return answer

    def writes(self, resource: Resource | None = None, verb: str = "") -> list[Call]:
        """The writes so far, but not those of events."""
        return [
            call
            for call in self.calls
            if call.writes
            and call.resource is not EVENTS
            and (resource is None or call.resource is resource)
            and (not verb or call.verb == verb)
        ]


class Hands:
    """Does what scheduler and kubelet do: binds pods, lets them become ready, removes them when they are to go."""

    def __init__(self, door: Door, clock: LoopClock) -> None:
        self._door, self._clock = door, clock
        self.starts: Callable[[Pod], bool] = lambda pod: True  # Whether a pod becomes ready.
        self.binds: Callable[[Pod], bool] = lambda pod: True
        self.ends: Callable[[Pod], bool] = lambda pod: True  # Whether a pod that is to go is let go.
        self.delay = 0.01  # Virtual seconds each of these takes.
        self.pods = Informer(door, PODS, Pod, clock=clock, chance=random.Random(2))
        self.pods.subscribe(self._noticed)
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as self._group:
            await self.pods.run()

    def again(self) -> None:
        """Look at all pods anew, because a rule above was changed."""
        for pod in list(self.pods.items.values()):
            self._noticed(None, pod)

    def _noticed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and self._group is not None:
            self._group.create_task(self._handle(new.metadata.key))

    async def _handle(self, key: Key) -> None:
        await asyncio.sleep(self.delay)
        pod = self.pods.items.get(key)
        if pod is None:
            return
        try:
            await self._step(pod)
        except (NotFound, Conflict):
            return  # It went, or moved on, meanwhile.

    async def _step(self, pod: Pod) -> None:
        if pod.is_terminating:
            if self.ends(pod) and not pod.metadata.finalizers:
                await self._door.delete(PODS, pod.name, NS, options=DeleteOptions(grace_period_seconds=0))
        elif not pod.spec.node_name:
            if pod.spec.pin and self.binds(pod) and await self._node_exists(pod.spec.pin):
                target = {"apiVersion": "v1", "kind": "Node", "name": pod.spec.pin}
                body = msgspec.json.encode({"metadata": {"name": pod.name}, "target": target})
                await self._door.create(PODS, body, NS, name=pod.name, subresource="binding")
        elif not pod.is_ready and pod.status.phase == "Pending" and self.starts(pod):
            await self.make_ready(pod.name)

    async def _node_exists(self, name: str) -> bool:
        try:
            await self._door.get(NODES, name)
        except NotFound:
            return False
        return True

    async def make_ready(self, name: str, ready: bool = True) -> None:
        """The pod runs, and is ready or is not."""
        moment = timestamp(self._clock.now())
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": moment}
        await self.set_status(name, {"phase": "Running", "conditions": [condition]})

    async def set_status(self, name: str, status: Tree) -> None:
        """Merge something into a pod's status."""
        body = msgspec.json.encode({"status": status})
        await self._door.patch(PODS, name, body, PatchKind.MERGE, NS, subresource="status")


class Stage:
    """A server, hands, and controllers that come and go."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.clock = LoopClock()
        store = Store.open(IN_MEMORY, clock=self.clock)
        self.server = ApiServer(store, BUILT_IN, clock=self.clock, chance=random.Random(1))
        self.door = Watched(self.server)
        self.hands = Hands(self.server, self.clock)
        self._group = group
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run something beside the test until its end."""

        async def run() -> None:
            await work()

        task = self._group.create_task(run())
        self._tasks.append(task)
        return task

    async def controller(self, options: DaemonSetOptions | None = None, *, seed: int = 3) -> DaemonSetController:
        """A controller at work."""
        made = DaemonSetController(self.door, clock=self.clock, chance=random.Random(seed), options=options)
        task = self.start(made.run)
        await made.synced.wait()
        self.running = task
        return made

    async def stop_controller(self) -> None:
        """It crashes."""
        self.running.cancel()
        await asyncio.wait([self.running])

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

    # Writing

    async def node(self, name: str, *, taints: list[Tree] | None = None, **labels: str) -> None:
        """Create a node."""
        room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        await self.create(
            NODES,
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": taints},
                "status": {"allocatable": room, "capacity": room},
            },
        )

    async def nodes(self, *names: str) -> None:
        """Create nodes without labels or taints."""
        for name in names:
            await self.node(name)

    async def daemonset(
        self,
        name: str = "d",
        *,
        template: Tree | None = None,
        labels: Mapping[str, str] | None = None,
        metadata: Tree | None = None,
        **spec: Any,
    ) -> Tree:
        """Create a DaemonSet that selects app=<name>."""
        of_pods = dict(labels or {"app": name})
        tree = {
            "metadata": {"name": name, **(metadata or {})},
            "spec": {
                "selector": {"matchLabels": of_pods},
                "template": {"metadata": {"labels": of_pods}, "spec": {**SIMPLE, **(template or {})}},
                **spec,
            },
        }
        return await self.create(DAEMON_SETS, tree)

    async def pod(self, name: str, node: str = "", *, labels: Mapping[str, str] | None = None, **metadata: Any) -> Tree:
        """Create a pod by hand."""
        spec = {**SIMPLE, **({"nodeName": node} if node else {})}
        return await self.create(
            PODS, {"metadata": {"name": name, "labels": dict(labels or {}), **metadata}, "spec": spec}
        )

    async def create(self, resource: Resource, tree: Tree) -> Tree:
        """POST."""
        namespace = NS if resource.namespaced else ""
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        return (await self.server.create(resource, msgspec.json.encode(full), namespace)).tree()

    async def patch(self, resource: Resource, name: str, change: Tree, *, subresource: str = "") -> Tree:
        """Merge a change into an object."""
        namespace = NS if resource.namespaced else ""
        body = msgspec.json.encode(change)
        document = await self.server.patch(resource, name, body, PatchKind.MERGE, namespace, subresource=subresource)
        return document.tree()

    async def set_image(self, image: str, name: str = "d") -> None:
        """Change the template."""
        await self.patch(
            DAEMON_SETS, name, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        )

    async def delete(self, resource: Resource, name: str, propagation: Propagation | None = None) -> None:
        """DELETE."""
        namespace = NS if resource.namespaced else ""
        await self.server.delete(resource, name, namespace, options=DeleteOptions(propagation_policy=propagation))

    # Reading

    async def all_of(self, resource: Resource) -> list[Tree]:
        """All objects of a kind, by name."""
        trees = [document.tree() for document in (await self.server.list(resource)).documents]
        return sorted(trees, key=lambda tree: str(tree["metadata"]["name"]))

    async def pods(self) -> list[Tree]:
        """All pods."""
        return await self.all_of(PODS)

    async def pods_by_node(self) -> dict[str, list[str]]:
        """The names of pods by where they are or are meant to be."""
        found: dict[str, list[str]] = {}
        for document in (await self.server.list(PODS, NS)).documents:
            pod = document.read(Pod)
            found.setdefault(pod.target, []).append(pod.name)
        return found

    async def revisions(self) -> list[Tree]:
        """All revisions."""
        return sorted(await self.all_of(CONTROLLER_REVISIONS), key=lambda tree: int(tree["revision"]))

    async def get(self, name: str = "d") -> Tree:
        """The DaemonSet."""
        return (await self.server.get(DAEMON_SETS, name, NS)).tree()

    async def status(self, name: str = "d") -> Tree:
        """The DaemonSet's status."""
        status: Tree = (await self.get(name))["status"]
        return status

    async def events(self) -> list[tuple[str, str, str]]:
        """(type, reason, message) of all events."""
        return [(tree["type"], tree["reason"], tree["message"]) for tree in await self.all_of(EVENTS)]

    # Waiting

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = LONG) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(seconds):
            while not await holds():
                await asyncio.sleep(0.01)

    async def until_status(self, name: str = "d", *, seconds: float = LONG, **expected: int) -> None:
        """Wait until the status says so."""

        async def says() -> bool:
            status = await self.status(name)
            return all(status.get(field, 0) == value for field, value in expected.items())

        await self.until(says, seconds)

    async def until_serving(self, count: int, name: str = "d") -> None:
        """Wait until so many current pods are available, and the DaemonSet says that this is all it wants."""

        async def serves() -> bool:
            tree = await self.get(name)
            status = tree["status"]
            numbers = {status.get(field, 0) for field in _ALL_OF_THEM}
            return numbers == {count} and status.get("observedGeneration") == tree["metadata"]["generation"]

        await self.until(serves)

    async def settle(self, seconds: float = 5.0) -> None:
        """Let some time pass."""
        await asyncio.sleep(seconds)


@asynccontextmanager
async def stage(*nodes: str, hands: bool = True) -> AsyncIterator[Stage]:
    """A server with these nodes; without hands pods stay as they were created."""
    async with asyncio.TaskGroup() as group:
        made = Stage(group)
        await made.create(NAMESPACES, {"metadata": {"name": NS}})
        if hands:
            made.start(made.hands.run)
        await made.nodes(*nodes)
        try:
            yield made
        finally:
            made.end()
