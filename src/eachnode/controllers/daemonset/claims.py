"""Adoption and release: what is selected belongs to the DaemonSet, what is not does not.

An orphan is adopted by writing our reference into it, after one look at the live DaemonSet: it could be gone already,
and would then adopt what the garbage collector has just set free. What no longer carries the labels is released. Both
patches carry the object's uid, so that a namesake is never meant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.failures import Failure, combined
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, Metadata, MetadataOnly
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS, Resource
from eachnode.objects.revision import ControllerRevision
from eachnode.objects.status import ApiError, Conflict, Invalid, NotFound, Unreachable


async def claim(charge: Charge, door: Door) -> None:
    """Adopt and release whatever has to be, pods and revisions; raises when something could not be."""
    for_release = [
        *((CONTROLLER_REVISIONS, metadata) for metadata in _sorted(charge.strange_revisions)),
        *((PODS, metadata) for metadata in _sorted(charge.strange_pods)),
    ]
    for_adoption = [
        *((CONTROLLER_REVISIONS, metadata) for metadata in _sorted(charge.orphan_revisions)),
        *((PODS, metadata) for metadata in _sorted(charge.orphan_pods)),
    ]
    failures: list[Failure] = []
    for resource, metadata in for_release:
        await _guarded(_release(charge, door, resource, metadata), failures)
    if for_adoption:
        await _guarded(_still_ours(charge, door), failures)
        if not failures:
            for resource, metadata in for_adoption:
                await _guarded(_adopt(charge, door, resource, metadata), failures)
    if failures:
        raise combined(failures)


def _sorted(things: Mapping[Key, Pod] | Mapping[Key, ControllerRevision]) -> list[Metadata]:
    return sorted((thing.metadata for thing in things.values()), key=lambda metadata: metadata.name)


async def _guarded(write: Awaitable[None], failures: list[Failure]) -> None:
    try:
        await write
    except NotFound:
        pass  # It is gone: nothing is left to claim.
    except (ApiError, Unreachable) as error:
        failures.append(error)


async def _still_ours(charge: Charge, door: Door) -> None:
    """Raise unless the live DaemonSet is the one we know and is not going."""
    try:
        document = await door.get(DAEMON_SETS, charge.key.name, charge.key.namespace)
    except NotFound as error:
        raise Conflict(f"the original DaemonSet {charge.key} is gone") from error
    live = document.read(MetadataOnly).metadata
    if live.uid != charge.uid:
        raise Conflict(f"the original DaemonSet {charge.key} is gone: got uid {live.uid}, wanted {charge.uid}")
    if live.deletion_timestamp is not None:
        raise Conflict(f"{charge.key} has just been deleted at {live.deletion_timestamp}")


async def _adopt(charge: Charge, door: Door, resource: Resource, metadata: Metadata) -> None:
    reference = charge.daemonset.owner_reference.tree()
    document = await _patch(door, resource, metadata, {"ownerReferences": [reference], "uid": metadata.uid})
    charge.versions.wrote(resource.plural, document.read(MetadataOnly).metadata.resource_version)


async def _release(charge: Charge, door: Door, resource: Resource, metadata: Metadata) -> None:
    reference = {"$patch": "delete", "uid": charge.uid}
    with suppress(Invalid):  # A namesake, or released already: either way it is not ours.
        await _patch(door, resource, metadata, {"ownerReferences": [reference], "uid": metadata.uid})


async def _patch(door: Door, resource: Resource, metadata: Metadata, changes: dict[str, Any]) -> Document:
    body = msgspec.json.encode({"metadata": changes})
    return await door.patch(resource, metadata.name, body, PatchKind.STRATEGIC, metadata.namespace)
