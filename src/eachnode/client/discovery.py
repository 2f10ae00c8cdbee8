"""What an API server serves, read from its discovery pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from eachnode.objects.resources import Resource
from eachnode.objects.status import ApiError, Unreachable

log = logging.getLogger(__name__)


class ServedKind(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One entry of a discovery page."""

    name: str
    kind: str
    namespaced: bool = False
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    resources: tuple[ServedKind, ...] = ()


class _GroupVersion(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    version: str


class _Group(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    name: str
    versions: tuple[_GroupVersion, ...] = ()
    preferred_version: _GroupVersion | None = None


class _GroupList(msgspec.Struct, frozen=True, kw_only=True):
    groups: tuple[_Group, ...] = ()


Fetch = Callable[[str], Awaitable[bytes]]


async def discover(fetch: Fetch) -> Sequence[tuple[Resource, ServedKind]]:
    """Every served kind in its group's preferred version (or the next that has it), subresources left out."""
    groups = msgspec.json.decode(await fetch("/apis"), type=_GroupList).groups
    places = [("", "v1"), *((group.name, version) for group in groups for version in _versions(group))]
    pages = await asyncio.gather(*(_page(fetch, group, version) for group, version in places))
    found: dict[tuple[str, str], tuple[Resource, ServedKind]] = {}
    for (group, version), kinds in zip(places, pages, strict=True):
        for kind in kinds:
            if "/" not in kind.name:
                resource = Resource(group, version, kind.name, kind.kind, kind.namespaced)
                found.setdefault((group, kind.name), (resource, kind))
    return list(found.values())


def _versions(group: _Group) -> Sequence[str]:
    preferred = [group.preferred_version.version] if group.preferred_version else []
    return list(dict.fromkeys([*preferred, *(each.version for each in group.versions)]))


async def _page(fetch: Fetch, group: str, version: str) -> Sequence[ServedKind]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        return msgspec.json.decode(await fetch(path), type=_ResourceList).resources
    except (ApiError, Unreachable, msgspec.MsgspecError) as error:
        if not group:
            raise
        # One extension server that is down must not hide all others.
        log.warning("%s is not counted among what is served, because: %s", path, error)
        return ()
