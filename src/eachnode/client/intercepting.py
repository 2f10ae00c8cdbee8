"""A door in which something happens around every call; recording, metering, faults and fencing are such doors.

A call is described once, as a `Call`; a door that wraps another says in two places what it adds: round a request
(`request`), and round a watch (`watching`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from eachnode.client.door import Door, PatchKind
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.resources import Resource
from eachnode.objects.watching import Page, WatchEvent

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
READS: frozenset[Verb] = frozenset({"get", "list", "watch"})

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Call:
    """One request, in the words in which permissions are granted."""

    verb: Verb
    resource: Resource
    key: Key  # The name is empty for a list, a watch, or a create whose body names the object.
    subresource: str = ""

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.verb not in READS

    def __str__(self) -> str:
        what = f"{self.resource.qualified}/{self.subresource}" if self.subresource else self.resource.qualified
        return f"{self.verb} {what} {self.key}".rstrip()


class Intercepting:
    """A door around a door that lets everything through; subclasses say what happens on the way."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:  # noqa: ARG002 - for subclasses
        """Carry out one request."""
        return await send()

    def watching(
        self,
        call: Call,  # noqa: ARG002 - for subclasses
        batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]],
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Open one watch."""
        return batches()

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Document:
        """One object."""
        call = Call("get", resource, Key(namespace, name), subresource)
        return await self.request(call, lambda: self._door.get(resource, name, namespace, subresource=subresource))

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
        return await self.request(
            Call("list", resource, Key(namespace, "")),
            lambda: self._door.list(
                resource, namespace, labels=labels, fields=fields, limit=limit, after=after, version=version
            ),
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
        return self.watching(
            Call("watch", resource, Key(namespace, "")),
            lambda: self._door.watch(
                resource, namespace, labels=labels, fields=fields, version=version, initial=initial, timeout=timeout
            ),
        )

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
        return await self.request(
            Call("create", resource, Key(namespace, name), subresource),
            lambda: self._door.create(
                resource,
                body,
                namespace,
                name=name,
                subresource=subresource,
                field_manager=field_manager,
                dry_run=dry_run,
            ),
        )

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
        return await self.request(
            Call("update", resource, Key(namespace, name), subresource),
            lambda: self._door.update(
                resource, name, body, namespace, subresource=subresource, field_manager=field_manager, dry_run=dry_run
            ),
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        kind: PatchKind,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Document:
        """PATCH."""
        return await self.request(
            Call("patch", resource, Key(namespace, name), subresource),
            lambda: self._door.patch(
                resource,
                name,
                body,
                kind,
                namespace,
                subresource=subresource,
                field_manager=field_manager,
                force=force,
                dry_run=dry_run,
            ),
        )

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        """DELETE."""
        call = Call("delete", resource, Key(namespace, name))
        return await self.request(call, lambda: self._door.delete(resource, name, namespace, options=options))

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        """DELETE of a collection."""
        await self.request(
            Call("deletecollection", resource, Key(namespace, "")),
            lambda: self._door.delete_collection(resource, namespace, labels=labels, options=options),
        )

    async def served(self) -> Sequence[Resource]:
        """What is served; discovery is open to everybody and no business of interceptors."""
        return await self._door.served()


async def close_watch(stream: AsyncIterator[Sequence[WatchEvent]]) -> None:
    """End a watch that is not read to its end."""
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()
