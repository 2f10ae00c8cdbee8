"""Keeps what quotas and disruption budgets say of themselves true.

Pods are watched only in namespaces that have a quota or a budget; most have neither, and cost nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import Any

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.decisions.disruption import Budget, budget_status
from eachnode.objects.clock import Chance, Clock, timestamp
from eachnode.objects.meta import Metadata
from eachnode.objects.quota import Holdings, Quota, ServiceView, counted_kinds, quota_status
from eachnode.objects.resources import POD_DISRUPTION_BUDGETS, PODS, RESOURCE_QUOTAS, SERVICES, Resource
from eachnode.objects.status import NotFound
from eachnode.objects.workload import WorkloadPod
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)

BREATH = 0.1  # Seconds in which changes of pods gather before they are reckoned with.
COUNT_AGAIN = 30.0  # Seconds after which kinds that are not watched are counted again.


class StatedQuota(Quota, frozen=True, kw_only=True):
    """A quota with what it says of itself."""

    status: dict[str, Any] = msgspec.field(default_factory=dict)


class Limits:
    """The statuses of all quotas and disruption budgets."""

    def __init__(self, door: Door, *, clock: Clock, chance: Chance) -> None:
        self._door = door
        self._clock = clock
        self._chance = chance
        self._dirty: WorkQueue[str] = WorkQueue(clock)
        self._quotas: defaultdict[str, dict[str, StatedQuota]] = defaultdict(dict)
        self._budgets: defaultdict[str, dict[str, Budget]] = defaultdict(dict)
        self._pods: dict[str, tuple[Informer[WorkloadPod], asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        common: dict[str, Any] = {"clock": clock, "chance": chance}
        self._quota_informer = Informer(door, RESOURCE_QUOTAS, StatedQuota, **common)
        self._budget_informer = Informer(door, POD_DISRUPTION_BUDGETS, Budget, **common)

    async def run(self) -> None:
        """Reckon until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._quota_informer.subscribe(lambda old, new: self._notice(self._quotas, old, new))
            self._budget_informer.subscribe(lambda old, new: self._notice(self._budgets, old, new))
            self._tasks.create_task(self._quota_informer.run())
            self._tasks.create_task(self._budget_informer.run())
            await work(self._dirty, self._reckon, workers=2)

    def _notice(self, kept: defaultdict[str, dict[str, Any]], old: Any, new: Any) -> None:
        metadata: Metadata = (new or old).metadata
        if new is None:
            kept[metadata.namespace].pop(metadata.name, None)
        else:
            kept[metadata.namespace][metadata.name] = new
        self._follow(metadata.namespace)
        self._dirty.add(metadata.namespace)

    def _follow(self, namespace: str) -> None:
        """Watch the namespace's pods for as long as something counts them."""
        wanted = bool(self._quotas[namespace] or self._budgets[namespace])
        if wanted and namespace not in self._pods:
            assert self._tasks is not None
            informer = Informer(
                self._door, PODS, WorkloadPod, clock=self._clock, chance=self._chance, namespace=namespace
            )
            informer.subscribe(lambda _old, _new: self._dirty.add_after(namespace, BREATH))
            self._pods[namespace] = informer, self._tasks.create_task(informer.run())
        elif not wanted and namespace in self._pods:
            self._pods.pop(namespace)[1].cancel()

    async def _reckon(self, namespace: str) -> float | None:
        followed = self._pods.get(namespace)
        if followed is None:
            return None
        informer = followed[0]
        await informer.synced.wait()
        pods = list(informer.items.values())
        again = None
        for quota in list(self._quotas[namespace].values()):
            held, counted = await self._holdings(namespace, quota, pods)
            await self._write(RESOURCE_QUOTAS, quota.metadata, quota.status, quota_status(quota, held))
            again = COUNT_AGAIN if counted else again
        now = self._clock.now()
        for budget in list(self._budgets[namespace].values()):
            status = budget_status(budget, pods, now, timestamp(now))
            await self._write(POD_DISRUPTION_BUDGETS, budget.metadata, budget.status, status)
            again = COUNT_AGAIN if status.get("disruptedPods") else again
        return again

    async def _holdings(self, namespace: str, quota: Quota, pods: list[WorkloadPod]) -> tuple[Holdings, bool]:
        """What the namespace holds, and whether anything of it had to be listed."""
        kinds = counted_kinds(quota)
        counts = {}
        for resource in await self._door.served() if kinds else ():
            if resource.qualified in kinds:
                counts[resource.qualified] = len((await self._door.list(resource, namespace)).documents)
        services: list[ServiceView] = []
        if any(name.startswith("services") or name == "count/services" for name in quota.spec.hard or ()):
            page = await self._door.list(SERVICES, namespace)
            services = [document.read(ServiceView) for document in page.documents]
        return Holdings(pods, services, counts), bool(counts or services)

    async def _write(
        self, resource: Resource, metadata: Metadata, before: dict[str, Any], after: dict[str, Any]
    ) -> None:
        if all(before.get(name) == value for name, value in after.items()) and not before.keys() - after.keys():
            return
        body = {"metadata": {"resourceVersion": metadata.resource_version}, "status": _patch(before, after)}
        try:
            encoded = msgspec.json.encode(body)
            await self._door.patch(
                resource, metadata.name, encoded, PatchKind.MERGE, metadata.namespace, subresource="status"
            )
        except NotFound:
            return


def _patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that leaves nothing of `before` that is not in `after`, at any depth."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        was = before.get(name)
        patch[name] = _patch(was, value) if isinstance(was, dict) and isinstance(value, dict) else value
    return patch
