"""Short commands: go to the cluster, do one thing in the namespace that is meant, come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from eachnode.cli.targets import unknown
from eachnode.client.door import Door
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import Resource
from eachnode.objects.status import NotFound

if TYPE_CHECKING:
    from eachnode.client.cluster import Cluster

Result = TypeVar("Result")

PAGE = 500  # Objects in a page of a list.


def errand(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    act: Callable[[Cluster, str], Awaitable[Result]],
) -> Result:
    """What `act` answers, given a door to the cluster and the namespace: the one named, else the context's."""
    from eachnode.cli.running import connected, run

    async def main() -> Result:
        async with connected(kubeconfig, context) as (door, access):
            return await act(door, namespace or access.namespace)

    return run(main)


async def each(
    door: Door, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
) -> AsyncIterator[Document]:
    """Every object of a kind, page by page; only one page is held."""
    after = ""
    while True:
        page = await door.list(resource, namespace, labels=labels, fields=fields, limit=PAGE, after=after)
        for document in page.documents:
            yield document
        after = page.continues
        if not after:
            return


async def find(door: Door, resource: Resource, name: str, namespace: str) -> Document:
    """One object; when there is none of that name, the nearest name is suggested."""
    where = namespace if resource.namespaced else ""
    try:
        return await door.get(resource, name, where)
    except NotFound as error:
        names = [document.read(MetadataOnly).metadata.name async for document in each(door, resource, where)]
        raise unknown(resource.kind, name, names, f" in namespace {where}" if where else "") from error


def told_name(resource: Resource, name: str) -> str:
    """How kubectl names an object in what it says: `daemonset.apps/x`, `pod/x`."""
    return f"{resource.kind.lower()}.{resource.group}/{name}" if resource.group else f"{resource.kind.lower()}/{name}"
