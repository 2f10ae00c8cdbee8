"""The loop that removes pods nobody else will: it looks when something happened that could leave such pods behind."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.decisions.pod_garbage import CareNode, MortalPod, Removal, doomed
from eachnode.objects.clock import Chance, Clock, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import Key
from eachnode.objects.resources import NODES, PODS
from eachnode.objects.status import ApiError, Conflict, NotFound, Unreachable
from eachnode.runtime.informer import Informer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodGarbageOptions:
    """How patient it is."""

    quarantine: float = 40.0  # Seconds for which a node must be gone before its pods follow: it may only be renamed.
    finished_pods: int = 12_500  # As many finished pods are kept, cluster-wide.
    look_every: float = 20.0  # Seconds between looks when nothing hints at work.


class PodGarbageCollector:
    """Removes pods whose node is gone or out of service, or never was, and finished pods beyond the threshold."""

    def __init__(
        self, door: Door, *, clock: Clock, chance: Chance, options: PodGarbageOptions = PodGarbageOptions()
    ) -> None:
        self._door = door
        self._clock = clock
        self._options = options
        self._pods = Informer(door, PODS, MortalPod, clock=clock, chance=chance)
        self._nodes = Informer(door, NODES, CareNode, clock=clock, chance=chance)
        self._by_node: defaultdict[str, set[Key]] = defaultdict(set)
        self._missing_since: dict[str, float] = {}
        self._out_of_service: set[str] = set()
        self._look = asyncio.Event()
        self.synced = asyncio.Event()
        self._pods.subscribe(self._notice_pod)
        self._nodes.subscribe(self._notice_node)

    async def run(self) -> None:
        """Collect until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            tasks.create_task(self._nodes.run())
            await self._pods.synced.wait()
            await self._nodes.synced.wait()
            self.synced.set()
            while True:
                self._look.clear()
                await self._collect()
                try:
                    async with asyncio.timeout(self._next_look()):
                        await self._look.wait()
                except TimeoutError:
                    continue

    def _notice_pod(self, old: MortalPod | None, new: MortalPod | None) -> None:
        if old is not None and old.spec.node_name:
            pods = self._by_node[old.spec.node_name]
            pods.discard(old.metadata.key)
            if not pods:
                del self._by_node[old.spec.node_name]
        if new is None:
            return
        if new.spec.node_name:
            self._by_node[new.spec.node_name].add(new.metadata.key)
            lost = Key("", new.spec.node_name) not in self._nodes.items
            if lost or (new.is_going and new.spec.node_name in self._out_of_service):
                self._look.set()
        elif new.is_going:
            self._look.set()

    def _notice_node(self, old: CareNode | None, new: CareNode | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]  # one of them is there
        if new is not None and new.is_out_of_service:
            self._out_of_service.add(name)
        else:
            self._out_of_service.discard(name)
        if (new is None or name in self._out_of_service) and name in self._by_node:
            self._look.set()

    def _next_look(self) -> float:
        now = self._clock.now()
        due = [since + self._options.quarantine - now for since in self._missing_since.values()]
        return max(0.0, min([*due, self._options.look_every]))

    async def _collect(self) -> None:
        gone = await self._surely_gone()
        removals = list(doomed(self._pods.items.values(), gone, self._options.finished_pods, self._out_of_service))
        results = await asyncio.gather(*(self._remove(removal) for removal in removals), return_exceptions=True)
        for removal, result in zip(removals, results, strict=True):
            if isinstance(result, (ApiError, Unreachable)):
                log.warning("pod %s could not be removed: %s", removal.key, result)
            elif isinstance(result, BaseException):
                raise result

    async def _surely_gone(self) -> frozenset[str]:
        """The nodes that pods name and that have been missing for the quarantine, confirmed by the server."""
        now = self._clock.now()
        missing = [name for name in self._by_node if Key("", name) not in self._nodes.items]
        self._missing_since = {name: self._missing_since.get(name, now) for name in sorted(missing)}
        gone = []
        for name, since in self._missing_since.items():
            if now - since >= self._options.quarantine and await self._is_absent(name):
                gone.append(name)
        return frozenset(gone)

    async def _is_absent(self, node: str) -> bool:
        try:
            await self._door.get(NODES, node)
        except NotFound:
            return True
        except (ApiError, Unreachable) as error:
            log.warning("whether node %s is gone could not be found out: %s", node, error)
        return False

    async def _remove(self, removal: Removal) -> None:
        metadata = removal.pod.metadata
        log.info("removed pod %s because %s", removal.key, removal.because)
        try:
            if not removal.pod.is_finished:
                await self._mark_failed(removal)
            options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=metadata.uid))
            await self._door.delete(PODS, metadata.name, metadata.namespace, options=options)
        except NotFound:
            return
        except Conflict as error:
            log.info("pod %s was left alone: %s", removal.key, error)

    async def _mark_failed(self, removal: Removal) -> None:
        """A pod that did not end by itself must not vanish while it seems to run: it is marked failed first."""
        generation = removal.pod.metadata.generation
        status: dict[str, object] = {"phase": "Failed", "observedGeneration": generation}
        if removal.orphaned:
            status["conditions"] = [
                {
                    "type": "DisruptionTarget",
                    "observedGeneration": generation,
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "lastTransitionTime": timestamp(self._clock.now()),
                }
            ]
        body = msgspec.json.encode({"metadata": {"uid": removal.pod.metadata.uid}, "status": status})
        name, namespace = removal.pod.metadata.name, removal.pod.metadata.namespace
        await self._door.patch(PODS, name, body, PatchKind.STRATEGIC, namespace, subresource="status")
