"""The server's verbs as a door: what loops in the same process, and the HTTP front, call.

Every verb comes twice: as the door has it, and as `…_as`, with the circumstances of the request (`Call`) and an answer
that says a little more. Writes happen at once and are answered when they are committed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Literal

from eachnode.objects.clock import Chance, Clock
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.watching import Page, WatchEvent
from eachnode.server.kind import Answer, Asked, Call, Caller, Kind, Subresource
from eachnode.server.store import Reaction, Store
from eachnode.server.verbs import create, delete, delete_collection, get, listing, patch, update, watch
from eachnode.server.verbs.handlers import ask
from eachnode.server.verbs.listing import ListOptions, parsed_version
from eachnode.server.verbs.registry import Admission, Registry
from eachnode.server.verbs.selecting import selection
from eachnode.server.verbs.watch import WatchOptions

Media = Literal["json", "yaml"]
OURSELVES = Caller("system:admin", ("system:masters", "system:authenticated"))
NO_OPTIONS = DeleteOptions()
WHOLE_LIST = ListOptions()
NO_QUERY: Mapping[str, str] = {}


class ApiServer:
    """A small Kubernetes API, without HTTP."""

    def __init__(
        self,
        store: Store,
        kinds: Iterable[Kind],
        *,
        clock: Clock,
        chance: Chance,
        admission: Sequence[Admission] = (),
        judges: Sequence[Admission] = (),
    ) -> None:
        self.store = store
        self.registry = Registry(store, kinds, clock=clock, chance=chance, admission=admission, judges=judges)

    # What is served ---------------------------------------------------------------------------------------------------

    def register(self, kind: Kind) -> None:
        """Serves a kind from now on, in place of what was served under the same name."""
        self.registry.register(kind)

    def unregister(self, resource: Resource) -> None:
        """Serves a kind no longer; its objects must be gone already."""
        self.registry.unregister(resource)

    def kind_for(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind that is served under this name, or None."""
        served = self.registry.find(group, version, plural)
        return None if served is None else served.kind

    def handle(self, resource: Resource, subresource: str, rules: Subresource) -> None:
        """Serves a subresource of a kind, or with no name the kind itself: one that is asked, not stored."""
        self.registry.served(resource).subresources[subresource] = rules

    def follow(self, resource: Resource, react: Reaction) -> None:
        """Calls `react` with every object of a kind before and after each commit that changes it, present ones first.

        It is called before the writer is answered, and must not write.
        """
        self.registry.served(resource).shelf.follow(react)

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
        call = self._call("deletecollection", dry_run=bool(options and options.dry_run))
        await self.delete_collection_as(call, resource, namespace, labels=labels, options=options or NO_OPTIONS)

    async def served(self) -> Sequence[Resource]:
        """Every kind that is served with list, watch and delete."""
        wanted = {"list", "watch", "delete"}
        return [served.resource for served in self.registry if wanted <= served.kind.verbs]

    # The same, as somebody --------------------------------------------------------------------------------------------

    async def get_as(
        self,
        call: Call,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        query: Mapping[str, str] = NO_QUERY,
    ) -> Answer:
        """One object, or its subresource; the query is for subresources that are asked with options (logs)."""
        served = self.registry.served(resource)
        if served.asks(subresource):
            asked = Asked(
                kind=served.kind,
                subresource=subresource,
                verb="get",
                namespace=namespace,
                name=name,
                query=query,
            )
            return await self._settled(lambda: ask(self.registry, call, served, asked))
        if subresource:
            served.rules(subresource)
        return Answer(get.get(served, namespace, name))

    async def list_as(
        self,
        call: Call,  # noqa: ARG002  # all verbs are called alike
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
        options = ListOptions(limit=limit, after=after, version=version, match=match)
        return listing.list_page(self.registry, served, selection(served, namespace, labels, fields), options)

    def watch_as(
        self,
        call: Call,  # noqa: ARG002  # all verbs are called alike
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        options: WatchOptions,
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Changes in batches; a query that makes no sense is refused at once, all else while the watch runs."""
        served = self.registry.served(resource)
        chosen = selection(served, namespace, labels, fields)
        return watch.watch(self.registry, served, chosen, parsed_version(options.version), options)

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
        """POST of an object, or to the subresource of one."""
        served = self.registry.served(resource)
        if subresource or served.asks(""):
            asked = Asked(
                kind=served.kind,
                subresource=subresource,
                verb="create",
                namespace=namespace,
                name=name,
                body=body,
                media=media,
            )
            return await self._settled(lambda: ask(self.registry, call, served, asked))
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

    async def delete_collection_as(
        self,
        call: Call,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        options: DeleteOptions = NO_OPTIONS,
        part: ListOptions = WHOLE_LIST,
    ) -> Page:
        """DELETE all selected objects of a kind, or a page of them; answers with them as they were."""
        served = self.registry.served(resource)
        chosen = selection(served, namespace, labels, fields)
        return await delete_collection.delete_collection(self.registry, call, served, chosen, options, part)

    # ------------------------------------------------------------------------------------------------------------------

    async def _settled(self, act: Callable[[], Answer]) -> Answer:
        """Does it now, and answers, with whatever it saw, once that is committed."""
        try:
            return act()
        finally:
            await self.store.settled()

    def _call(self, verb: str, field_manager: str = "", dry_run: bool = False, force: bool = False) -> Call:
        return Call(OURSELVES, self.registry.now(), verb, field_manager or "eachnode", dry_run=dry_run, force=force)
