"""The server's verbs as a door: what loops in the same process, and the HTTP front, call.

Every verb comes twice: as the door has it, and as `…_as`, with the circumstances of the request (`Call`) and an answer
that says a little more. Writes happen at once and are answered when they are committed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Literal

from eachnode.objects.clock import Chance, Clock
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.watching import Page, WatchEvent
from eachnode.server.kind import Answer, Call, Caller, Kind
from eachnode.server.store import Store
from eachnode.server.verbs import create, delete, listing, patch, reading, update, watch
from eachnode.server.verbs.registry import Admission, Registry
from eachnode.server.verbs.watch import WatchOptions

Media = Literal["json", "yaml"]
OURSELVES = Caller("system:admin", ("system:masters", "system:authenticated"))
NO_OPTIONS = DeleteOptions()


class ApiServer:
    """A small Kubernetes API, without HTTP."""

    def __init__(
        self, store: Store, kinds: Iterable[Kind], *, clock: Clock, chance: Chance, admission: Sequence[Admission] = ()
    ) -> None:
        self.store = store
        self.registry = Registry(store, kinds, clock=clock, chance=chance, admission=admission)

    # The door ---------------------------------------------------------------------------------------------------------

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Document:
        """One object."""
        return (await self.get_as(self._call("get"), resource, name, namespace, subresource=subresource)).document

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        after: str = "",
        version: str = "",
    ) -> Page:
        """A page of objects."""
        return await self.list_as(
            self._call("list"),
            resource,
            namespace,
            labels=labels,
            fields=fields,
            limit=limit,
            after=after,
            version=version,
        )

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        version: str = "",
        initial: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Changes in batches."""
        options = WatchOptions(version=version, initial=initial, bookmarks=True, timeout=timeout)
        return self.watch_as(self._call("watch"), resource, namespace, labels=labels, fields=fields, options=options)

    async def create(
        self,
        resource: Resource,
        body: bytes,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        """POST."""
        call = self._call("create", field_manager, dry_run)
        answer = await self.create_as(call, resource, body, namespace, name=name, subresource=subresource)
        return answer.document

    async def update(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        """PUT."""
        call = self._call("update", field_manager, dry_run)
        return (await self.update_as(call, resource, name, body, namespace, subresource=subresource)).document

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        kind: str,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Document:
        """PATCH in one of the four ways, named by its media type."""
        call = self._call("patch", field_manager, dry_run, force)
        return (await self.patch_as(call, resource, name, body, kind, namespace, subresource=subresource)).document

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        """DELETE one object."""
        call = self._call("delete", dry_run=bool(options and options.dry_run))
        return (await self.delete_as(call, resource, name, namespace, options=options or NO_OPTIONS)).document

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        """DELETE all selected objects of a kind."""
        for document in (await self.list(resource, namespace, labels=labels)).documents:
            about = document.tree()["metadata"]
            await self.delete(resource, about["name"], about.get("namespace", ""), options=options)

    async def served(self) -> Sequence[Resource]:
        """Every kind that is served with list, watch and delete."""
        wanted = {"list", "watch", "delete"}
        return [served.resource for served in self.registry if wanted <= served.kind.verbs]

    # The same, as somebody --------------------------------------------------------------------------------------------

    async def get_as(
        self, call: Call, resource: Resource, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Answer:
        """One object."""
        return Answer(await reading.get(self.registry, self.registry.served(resource), namespace, name))

    async def list_as(
        self,
        call: Call,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        after: str = "",
        version: str = "",
        match: str = "",
    ) -> Page:
        """A page of objects."""
        served = self.registry.served(resource)
        return await listing.list_page(self.registry, served, reading.selection(served, namespace, labels, fields))

    async def watch_as(
        self,
        call: Call,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        options: WatchOptions,
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Changes in batches."""
        served = self.registry.served(resource)
        chosen = reading.selection(served, namespace, labels, fields)
        async for batch in watch.watch(self.registry, served, chosen, options):
            yield batch

    async def create_as(
        self,
        call: Call,
        resource: Resource,
        body: bytes,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        media: Media = "json",
    ) -> Answer:
        """POST."""
        served = self.registry.served(resource)
        return await self._settled(lambda: create.create(self.registry, call, served, namespace, body, media))

    async def update_as(
        self,
        call: Call,
        resource: Resource,
        name: str,
        body: bytes,
        namespace: str = "",
        *,
        subresource: str = "",
        media: Media = "json",
    ) -> Answer:
        """PUT."""
        served = self.registry.served(resource)
        return await self._settled(
            lambda: update.update(
                self.registry, call, served, namespace, name, body, subresource=subresource, media=media
            )
        )

    async def patch_as(
        self,
        call: Call,
        resource: Resource,
        name: str,
        body: bytes,
        language: str,
        namespace: str = "",
        *,
        subresource: str = "",
    ) -> Answer:
        """PATCH; the language is named by its media type."""
        served = self.registry.served(resource)
        return await self._settled(
            lambda: patch.patch(self.registry, call, served, namespace, name, body, language, subresource=subresource)
        )

    async def delete_as(
        self, call: Call, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions = NO_OPTIONS
    ) -> Answer:
        """DELETE one object."""
        served = self.registry.served(resource)
        return await self._settled(lambda: delete.delete(self.registry, call, served, namespace, name, options))

    # ------------------------------------------------------------------------------------------------------------------

    async def _settled(self, act: Callable[[], Answer]) -> Answer:
        """Does it now, and answers, with whatever it saw, once that is committed."""
        try:
            return act()
        finally:
            await self.store.settled()

    def _call(self, verb: str, field_manager: str = "", dry_run: bool = False, force: bool = False) -> Call:
        return Call(OURSELVES, self.registry.now(), verb, field_manager or "eachnode", dry_run=dry_run, force=force)
