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
from eachnode.objects.meta import Key, Metadata, MetadataOnly
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS, Resource
from eachnode.objects.revision import ControllerRevision
from eachnode.objects.status import ApiError, Conflict, Invalid, NotFound, Unreachable


async def claim(charge: Charge, door: Door) -> bool:
    """Adopt and release whatever has to be, pods and revisions; answers whether anything was.

    Raises when something could not be.
    """
    for_release = [
        *((CONTROLLER_REVISIONS, metadata) for metadata in _sorted(charge.strange_revisions)),
        *((PODS, metadata) for metadata in _sorted(charge.strange_pods)),
    ]
    for_adoption = [
        *((CONTROLLER_REVISIONS, metadata) for metadata in _sorted(charge.orphan_revisions)),
        *((PODS, metadata) for metadata in _sorted(charge.orphan_pods)),
    ]
    failures: list[Failure] = []
    claimed = [await _guarded(_release(charge, door, *each), failures) for each in for_release]
    if for_adoption:
        await _guarded(_still_ours(charge, door), failures)
        if not failures:
            claimed += [await _guarded(_adopt(charge, door, *each), failures) for each in for_adoption]
    if failures:
        raise combined(failures)
    return any(claimed)


def _sorted(things: Mapping[Key, Pod] | Mapping[Key, ControllerRevision]) -> list[Metadata]:
    return sorted((thing.metadata for thing in things.values()), key=lambda metadata: metadata.name)


async def _guarded(call: Awaitable[None], failures: list[Failure]) -> bool:
    """Whether it went well; what did not is added to the failures, unless nothing is left to claim."""
    try:
        await call
    except NotFound:
        return False
    except (ApiError, Unreachable) as error:
        failures.append(error)
        return False
    return True


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
    await _patch(charge, door, resource, metadata, reference)


async def _release(charge: Charge, door: Door, resource: Resource, metadata: Metadata) -> None:
    with suppress(Invalid):  # A namesake, or released already: either way it is not ours.
        await _patch(charge, door, resource, metadata, {"$patch": "delete", "uid": charge.uid})


async def _patch(
    charge: Charge, door: Door, resource: Resource, metadata: Metadata, reference: Mapping[str, Any]
) -> None:
    body = msgspec.json.encode({"metadata": {"ownerReferences": [reference], "uid": metadata.uid}})
    document = await door.patch(resource, metadata.name, body, PatchKind.STRATEGIC, metadata.namespace)
    charge.versions.wrote(resource.plural, document.read(MetadataOnly).metadata.resource_version)
