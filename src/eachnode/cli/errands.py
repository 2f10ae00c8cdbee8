"""Short commands: go to the cluster, do one thing in the namespace that is meant, come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from eachnode.cli.failures import Failure
from eachnode.cli.targets import unknown
from eachnode.client.door import Door
from eachnode.decisions.explanation_words import and_others
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import NAMESPACES, Resource
from eachnode.objects.status import Forbidden, NotFound

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
        raise await _not_there(door, resource, name, where) from error


async def _not_there(door: Door, resource: Resource, name: str, namespace: str) -> Failure:
    """What to say of an object that is not there: where its namesake is, or which name was probably meant."""
    where = f" in namespace {namespace}" if namespace else ""
    try:
        names = await _names(door, resource, namespace)
        if namespace and (elsewhere := await _namespaces_with(door, resource, name)):
            hint = f"there is one in {and_others(elsewhere)}: write -n {elsewhere[0]}"
            return Failure(f"there is no {resource.kind} {name!r}{where}; {hint}")
        if namespace and not names and namespace not in (known := await _names(door, NAMESPACES, "")):
            return unknown("namespace", namespace, known)
    except Forbidden:
        return Failure(f"there is no {resource.kind} {name!r}{where}")
    return unknown(resource.kind, name, names, where)


async def _names(door: Door, resource: Resource, namespace: str) -> list[str]:
    return [document.read(MetadataOnly).metadata.name async for document in each(door, resource, namespace)]


async def _namespaces_with(door: Door, resource: Resource, name: str) -> list[str]:
    """The namespaces in which there is an object of that name; none when we may not know."""
    try:
        documents = [document async for document in each(door, resource, fields=f"metadata.name={name}")]
    except Forbidden:
        return []
    return sorted(document.read(MetadataOnly).metadata.namespace for document in documents)


def told_name(resource: Resource, name: str) -> str:
    """How kubectl names an object in what it says: `daemonset.apps/x`, `pod/x`."""
    return f"{resource.kind.lower()}.{resource.group}/{name}" if resource.group else f"{resource.kind.lower()}/{name}"
