"""A door through which nothing changes: every write is tried by the server and not carried out."""

from __future__ import annotations

import msgspec

from eachnode.client.door import PatchKind
from eachnode.client.intercepting import Intercepting
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource


class DryRun(Intercepting):
    """A door around a door; writes go through as dry runs."""

    async def create(
        self,
        resource: Resource,
        body: bytes,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = True,  # noqa: ARG002 - whatever the caller says
    ) -> Document:
        """What would be created."""
        return await super().create(
            resource, body, namespace, name=name, subresource=subresource, field_manager=field_manager, dry_run=True
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
        dry_run: bool = True,  # noqa: ARG002 - whatever the caller says
    ) -> Document:
        """What would stand there."""
        return await super().update(
            resource, name, body, namespace, subresource=subresource, field_manager=field_manager, dry_run=True
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
        dry_run: bool = True,  # noqa: ARG002 - whatever the caller says
    ) -> Document:
        """What the patch would make of it."""
        return await super().patch(
            resource,
            name,
            body,
            kind,
            namespace,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=True,
        )

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        """What would be deleted."""
        trial = msgspec.structs.replace(options or DeleteOptions(), dry_run=("All",))
        return await super().delete(resource, name, namespace, options=trial)

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        """Nothing is deleted; a refusal is told."""
        trial = msgspec.structs.replace(options or DeleteOptions(), dry_run=("All",))
        await super().delete_collection(resource, namespace, labels=labels, options=trial)
