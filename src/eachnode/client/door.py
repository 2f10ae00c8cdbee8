"""The door: the one interface through which every loop and command reaches an API server.

The embedded server satisfies it directly, `client.cluster` over HTTP; others wrap a door and are one themselves
(dry run, recording, faults, metering). Objects travel as `Document`s, so that nothing is decoded that nobody reads.
Every method raises `objects.status.ApiError` for a refusal and `Unreachable` when no answer came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Protocol

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.watching import Page, WatchEvent


class PatchKind(StrEnum):
    """The four ways to patch, by their media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Door(Protocol):
    """What an API server can do for us."""

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Document:
        """One object."""
        ...

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
        """A page of objects; `after` is the `continues` of the page before, `version` an acceptable resourceVersion."""
        ...

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
        """Changes in batches, bookmarks included, until the server ends it or the caller closes it (`aclose`).

        From `version` on; with `initial` the present objects first, ended by a bookmark whose `initial_end` is true.
        An ERROR event is raised as its `ApiError` (`Gone` when the version is too old).
        """
        ...

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
        """POST; `name` and `subresource` for a binding or an eviction."""
        ...

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
        """PUT: replace the object, or its status."""
        ...

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
        """PATCH in one of the four ways."""
        ...

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        """DELETE one object; answers with a Status, or with the object when its deletion only begins."""
        ...

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        """DELETE all objects of a kind, in one namespace or everywhere, that the selector matches."""
        ...

    async def served(self) -> Sequence[Resource]:
        """Every kind that this server serves with list, watch and delete, custom ones included (from discovery)."""
        ...
