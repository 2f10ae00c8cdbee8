"""One loop over namespaces: what each must have is put (back) there; one that is being removed is emptied.

What a namespace's quotas and disruption budgets say of themselves is kept true beside it (`limits`).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import msgspec

from eachnode.client.door import Door
from eachnode.controllers.namespaces.limits import Limits
from eachnode.controllers.namespaces.removal import remove
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Resource
from eachnode.objects.status import AlreadyExists, Forbidden
from eachnode.runtime.informer import Informer
from eachnode.runtime.queue import WorkQueue, work

log = logging.getLogger(__name__)

ROOT_CERTIFICATES = "kube-root-ca.crt"
DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. "
    "No other usage is guaranteed across distributions of Kubernetes clusters."
}


@dataclass(frozen=True, slots=True)
class NamespaceOptions:
    """What is put into each namespace, and how patiently a removal is followed."""

    root_certificates: str = ""  # PEM; what clients inside the cluster verify the server by.
    look_again: float = 0.1  # Seconds until a namespace that still holds something is looked at again, at first.
    look_again_at_most: float = 5.0


class Namespaces:
    """Gives every namespace its default service account and root certificates, and removes those that are to go."""

    def __init__(
        self, door: Door, *, clock: Clock, chance: Chance, options: NamespaceOptions = NamespaceOptions()
    ) -> None:
        self.synced = asyncio.Event()
        self._door = door
        self._clock = clock
        self._options = options
        self._dirty: WorkQueue[str] = WorkQueue(clock)
        self._patience: dict[str, float] = {}
        self._limits = Limits(door, clock=clock, chance=chance)
        self._namespaces = Informer(door, NAMESPACES, MetadataOnly, clock=clock, chance=chance)
        self._accounts = Informer(
            door, SERVICE_ACCOUNTS, MetadataOnly, clock=clock, chance=chance, fields="metadata.name=default"
        )
        self._certificates = Informer(
            door, CONFIG_MAPS, MetadataOnly, clock=clock, chance=chance, fields=f"metadata.name={ROOT_CERTIFICATES}"
        )
        self._namespaces.subscribe(self._notice_namespace)
        self._accounts.subscribe(self._notice_content)
        self._certificates.subscribe(self._notice_content)

    async def run(self) -> None:
        """Look after namespaces until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._namespaces, self._accounts, self._certificates):
                tasks.create_task(informer.run())
            for informer in (self._namespaces, self._accounts, self._certificates):
                await informer.synced.wait()
            self.synced.set()
            tasks.create_task(self._limits.run())
            await work(self._dirty, self._reconcile, workers=4)

    def _notice_namespace(self, _: MetadataOnly | None, new: MetadataOnly | None) -> None:
        if new is not None:
            self._dirty.add(new.metadata.name)

    def _notice_content(self, old: MetadataOnly | None, new: MetadataOnly | None) -> None:
        if new is None and old is not None:
            self._dirty.add(old.metadata.namespace)

    async def _reconcile(self, name: str) -> float | None:
        namespace = self._namespaces.items.get(Key("", name))
        if namespace is None:
            self._patience.pop(name, None)
            return None
        if namespace.metadata.deletion_timestamp is not None:
            return await self._remove(name)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        certificates = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": ROOT_CERTIFICATES, "annotations": DESCRIPTION},
            "data": {"ca.crt": self._options.root_certificates},
        }
        if Key(name, "default") not in self._accounts.items:
            await self._put(SERVICE_ACCOUNTS, name, account)
        if Key(name, ROOT_CERTIFICATES) not in self._certificates.items:
            await self._put(CONFIG_MAPS, name, certificates)
        return None

    async def _remove(self, name: str) -> float | None:
        if await remove(self._door, name, self._clock):
            self._patience.pop(name, None)
            return None
        patience = self._patience.get(name, self._options.look_again)
        self._patience[name] = min(patience * 2, self._options.look_again_at_most)
        return patience

    async def _put(self, resource: Resource, namespace: str, tree: object) -> None:
        try:
            await self._door.create(resource, msgspec.json.encode(tree), namespace)
        except AlreadyExists:
            return
        except Forbidden as error:
            if not error.has_cause("NamespaceTerminating"):
                raise
