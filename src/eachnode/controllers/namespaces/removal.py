"""Empties a namespace that is being removed, then lets it go."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from eachnode.client.door import Door
from eachnode.decisions.namespace_removal import Remains, conditions
from eachnode.objects.clock import Clock, timestamp
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.meta import Metadata, MetadataOnly
from eachnode.objects.resources import NAMESPACES, PODS, Resource
from eachnode.objects.status import ApiError, MethodNotAllowed, NotFound

log = logging.getLogger(__name__)

FINALIZER = "kubernetes"


async def remove(door: Door, name: str, clock: Clock) -> bool:
    """Take one more step; True when nothing is left to do for this namespace."""
    try:
        tree = (await door.get(NAMESPACES, name)).tree()
    except NotFound:
        return True
    if "deletionTimestamp" not in tree["metadata"] or FINALIZER not in tree.get("spec", {}).get("finalizers", ()):
        return True
    resources = sorted((r for r in await door.served() if r.namespaced), key=lambda r: (r.group, r.plural))
    remains = await _empty(door, name, [PODS])
    if remains.is_empty:
        remains = await _empty(door, name, [resource for resource in resources if resource != PODS])
    tree = await _tell(door, tree, remains, clock)
    if not remains.is_empty:
        return False
    tree["spec"]["finalizers"] = [kept for kept in tree["spec"]["finalizers"] if kept != FINALIZER]
    await door.update(NAMESPACES, name, msgspec.json.encode(tree), subresource="finalize")
    log.info("removed namespace %s because nothing is left in it", name)
    return True


async def _empty(door: Door, namespace: str, resources: Sequence[Resource]) -> Remains:
    """Ask everything of these kinds to go, and see what is left."""
    left: dict[Resource, list[Metadata]] = {}
    failures = []
    for resource in resources:
        try:
            left[resource] = await _empty_of(door, namespace, resource)
        except MethodNotAllowed:
            continue  # Nothing of a kind that cannot be listed or deleted can be left behind.
        except ApiError as error:
            failures.append(error.message)
    return Remains(left, tuple(failures))


async def _empty_of(door: Door, namespace: str, resource: Resource) -> list[Metadata]:
    present = await _present(door, namespace, resource)
    if not present:
        return []
    if any(metadata.deletion_timestamp is None for metadata in present):
        options = DeleteOptions(propagation_policy="Background")
        await door.delete_collection(resource, namespace, options=options)
        present = await _present(door, namespace, resource)
    return present


async def _present(door: Door, namespace: str, resource: Resource) -> list[Metadata]:
    page = await door.list(resource, namespace)
    return [document.read(MetadataOnly).metadata for document in page.documents]


async def _tell(door: Door, tree: dict[str, Any], remains: Remains, clock: Clock) -> dict[str, Any]:
    """Write what remains into the namespace's conditions, if that says anything new."""
    before = tree["status"].get("conditions", [])
    after = conditions(remains, before, timestamp(clock.now()))
    if after == before:
        return tree
    tree["status"]["conditions"] = after
    name = tree["metadata"]["name"]
    return (await door.update(NAMESPACES, name, msgspec.json.encode(tree), subresource="status")).tree()
