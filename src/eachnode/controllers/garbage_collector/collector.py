"""The garbage collector's loop: watch every kind, keep the graph of owners, and act on what `decisions.garbage` says.

A uid is looked at again when something about it, its owners or its dependents changed. An owner that the graph does
not know is looked up at the server before anything is deleted on its account: the graph may be behind, never ahead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.garbage_collector.graph import Graph, Node
from eachnode.decisions.garbage import (
    FOREGROUND,
    ORPHAN,
    Delete,
    Keep,
    Owned,
    OwnerState,
    Release,
    holds_back,
    judge_dependent,
)
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import MetadataOnly, OwnerReference
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, EVENTS_V1, Resource
from eachnode.objects.status import ApiError, Conflict, Invalid, NotFound
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)

IGNORED = frozenset({EVENTS, EVENTS_V1})  # Nobody owns events, and there are many: the reference ignores them too.


class GarbageCollector:
    """Keeps the promise that an object goes when the last of its owners is gone."""

    def __init__(
        self, door: Door, *, clock: Clock, chance: Chance, workers: int = 8, discover_every: float = 30.0
    ) -> None:
        self.synced = asyncio.Event()
        self._door = door
        self._clock = clock
        self._chance = chance
        self._workers = workers
        self._discover_every = discover_every
        self._graph = Graph()
        self._dirty: WorkQueue[str] = WorkQueue(clock)
        self._kinds: dict[Resource, tuple[Informer[Owned], asyncio.Task[None]]] = {}
        self._discover_now = asyncio.Event()
        self._discovered = asyncio.Event()

    async def run(self) -> None:
        """Collect until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_every_kind(tasks))
            await self._all_synced()
            self.synced.set()
            await work(self._dirty, self._reconcile, self._workers)

    async def _all_synced(self) -> None:
        await self._discovered.wait()
        for informer, _ in list(self._kinds.values()):
            await informer.synced.wait()

    async def _watch_every_kind(self, tasks: asyncio.TaskGroup) -> None:
        """Watch whatever the server serves; look again now and then, and when a custom kind comes or goes."""
        while True:
            self._discover_now.clear()
            try:
                served = [resource for resource in await self._door.served() if resource not in IGNORED]
            except (ApiError, OSError) as error:
                log.warning("the kinds served could not be listed: %s", error)
            else:
                self._follow(served, tasks)
                self._discovered.set()
            try:
                async with asyncio.timeout(self._discover_every):
                    await self._discover_now.wait()
            except TimeoutError:
                continue

    def _follow(self, served: Sequence[Resource], tasks: asyncio.TaskGroup) -> None:
        for resource in served:
            if resource not in self._kinds:
                informer = Informer(self._door, resource, Owned, clock=self._clock, chance=self._chance)
                informer.subscribe(partial(self._notice, resource))
                if resource == CUSTOM_RESOURCE_DEFINITIONS:
                    informer.subscribe(lambda _old, _new: self._discover_now.set())
                self._kinds[resource] = informer, tasks.create_task(informer.run())
        for resource in self._kinds.keys() - set(served):
            informer, task = self._kinds.pop(resource)
            task.cancel()
            for item in list(informer.items.values()):
                self._notice(resource, item, None)

    def _notice(self, resource: Resource, old: Owned | None, new: Owned | None) -> None:
        """Bring the graph up to date and mark whoever may be affected."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._graph.drop(old.metadata.uid)
            self._mark_neighbours(old)
        if new is None:
            return
        uid = new.metadata.uid
        self._graph.put(resource, new)
        if new.is_going and (old is None or not old.is_going or old.metadata.finalizers != new.metadata.finalizers):
            self._dirty.add(uid)
            if new.waits_for_dependents:
                self._mark_dependents(uid)
        if new.owners and (old is None or old.owners != new.owners):
            if any(self._must_look(owner, new.metadata.namespace) for owner in new.owners):
                self._dirty.add(uid)
            if old is not None:
                self._mark_waiting_owners(old)

    def _must_look(self, owner: OwnerReference, namespace: str) -> bool:
        node = self._graph.named_by(owner, namespace)
        return node is None or node.item.waits_for_dependents

    def _mark_neighbours(self, gone: Owned) -> None:
        self._mark_dependents(gone.metadata.uid)
        self._mark_waiting_owners(gone)

    def _mark_dependents(self, uid: str) -> None:
        for dependent in self._graph.dependents(uid):
            self._dirty.add(dependent.item.metadata.uid)

    def _mark_waiting_owners(self, dependent: Owned) -> None:
        for owner in dependent.owners:
            node = self._graph.find(owner.uid)
            if node is not None and node.item.waits_for_dependents:
                self._dirty.add(owner.uid)

    async def _reconcile(self, uid: str) -> None:
        """Look at one object: first what it owes its dependents, then what its owners mean for it."""
        node = self._graph.find(uid)
        if node is None:
            return
        if node.item.releases_dependents:
            await self._release_dependents(node)
            return
        if node.item.waits_for_dependents:
            await self._wait_for_dependents(node)
        elif node.item.owners:
            await self._settle(node)

    async def _wait_for_dependents(self, node: Node) -> None:
        """Foreground: an owner may go when none of its dependents holds it back; until then they are looked at.

        One that waits itself is not: it comes by itself when its own dependents are gone, and in a circle of owners
        each would have the other looked at for ever.
        """
        uid = node.item.metadata.uid
        blocking = [each for each in self._graph.dependents(uid) if holds_back(each.item, uid)]
        if not blocking:
            await self._remove_finalizer(node, FOREGROUND)
        for dependent in blocking:
            if not dependent.item.waits_for_dependents:
                self._dirty.add(dependent.item.metadata.uid)

    async def _settle(self, node: Node) -> None:
        owners = {owner.uid: await self._state_of(owner, node) for owner in node.item.owners}
        dependents = [each.item for each in self._graph.dependents(node.item.metadata.uid)]
        match judge_dependent(node.item, owners, dependents):
            case Keep():
                return
            case Release(uids, because):
                log.info("released %s because %s", _name(node), because)
                await self._drop_owners(node, frozenset(uids))
            case Delete(propagation, because, unblocks):
                log.info("deleted %s because %s", _name(node), because)
                if unblocks:
                    await self._write_owners(node, [_unblocking(owner) for owner in node.item.owners])
                options = DeleteOptions(
                    propagation_policy=propagation, preconditions=Preconditions(uid=node.item.metadata.uid)
                )
                await self._unless_gone(partial(self._delete, node, options))

    async def _state_of(self, owner: OwnerReference, node: Node) -> OwnerState:
        """How an owner stands; one that the graph does not know is looked up at the server."""
        known = self._graph.named_by(owner, node.item.metadata.namespace)
        if known is not None:
            return OwnerState.WAITS if known.item.waits_for_dependents else OwnerState.STAYS
        if self._graph.was_dropped(owner.uid):
            return OwnerState.ABSENT
        resource = self._resource_of(owner)
        if resource is None or (resource.namespaced and not node.item.metadata.namespace):
            # Its kind is not served (yet), or it could be in any namespace: nobody can tell whether it exists, so
            # nothing is done on its account.
            return OwnerState.STAYS
        namespace = node.item.metadata.namespace if resource.namespaced else ""
        try:
            live = (await self._door.get(resource, owner.name, namespace)).read(MetadataOnly)
        except NotFound:
            return OwnerState.ABSENT
        return OwnerState.STAYS if live.metadata.uid == owner.uid else OwnerState.ABSENT

    def _resource_of(self, owner: OwnerReference) -> Resource | None:
        for resource in self._kinds:
            if resource.kind == owner.kind and resource.api_version == owner.api_version:
                return resource
        return None

    async def _release_dependents(self, node: Node) -> None:
        """Orphaning: every dependent loses this owner, then the owner may go."""
        uid = node.item.metadata.uid
        dependents = list(self._graph.dependents(uid))
        async with asyncio.TaskGroup() as tasks:
            for dependent in dependents:
                tasks.create_task(self._drop_owners(dependent, frozenset({uid})))
        log.info("released %d dependents of %s because it was deleted with orphan", len(dependents), _name(node))
        await self._remove_finalizer(node, ORPHAN)

    async def _drop_owners(self, node: Node, uids: frozenset[str]) -> None:
        await self._write_owners(node, [owner for owner in node.item.owners if owner.uid not in uids])

    async def _write_owners(self, node: Node, owners: Sequence[OwnerReference]) -> None:
        metadata = node.item.metadata
        body = {
            "metadata": {
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
                "ownerReferences": [owner.tree() for owner in owners] or None,
            }
        }
        await self._unless_gone(partial(self._patch, node, body))

    async def _remove_finalizer(self, node: Node, finalizer: str) -> None:
        metadata = node.item.metadata
        kept = [name for name in metadata.finalizers or () if name != finalizer]
        body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": kept or None}}
        await self._unless_gone(partial(self._patch, node, body))

    async def _patch(self, node: Node, body: object) -> None:
        metadata = node.item.metadata
        encoded = msgspec.json.encode(body)
        await self._door.patch(node.resource, metadata.name, encoded, PatchKind.MERGE, metadata.namespace)

    async def _delete(self, node: Node, options: DeleteOptions) -> None:
        metadata = node.item.metadata
        await self._door.delete(node.resource, metadata.name, metadata.namespace, options=options)

    async def _unless_gone(self, write: Callable[[], Awaitable[None]]) -> None:
        """Do a write; that the object is gone, or is another one by now, is as good as done."""
        try:
            await write()
        except NotFound:
            return
        except (Conflict, Invalid) as error:
            if "UID in the precondition" not in error.message and "metadata.uid" not in error.message:
                raise


def _unblocking(owner: OwnerReference) -> OwnerReference:
    """The reference to an owner without holding it back."""
    return msgspec.structs.replace(owner, block_owner_deletion=False) if owner.block_owner_deletion else owner


def _name(node: Node) -> str:
    metadata = node.item.metadata
    return f"{node.resource.plural} {metadata.namespace}/{metadata.name}".replace(" /", " ")
