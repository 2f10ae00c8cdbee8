"""Which part of the API a URL path points at.

    /api/v1/namespaces/default/pods/web/status      group "", version v1, namespace, resource, name, subresource
    /apis/apps/v1/daemonsets                        the same kind in all namespaces
    /api/v1/watch/namespaces/default/pods           the old way to ask for a watch

`namespaces/x/status` and `namespaces/x/finalize` are parts of a namespace; any other third word is a resource in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))


@dataclass(frozen=True, slots=True)
class Target:
    """A collection, one object, or a subresource of one object."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False  # Asked for by the old /watch/ prefix.
    nowhere: bool = False  # An empty segment, or more of them than any kind serves.


def is_escaped_well(text: str) -> bool:
    """Whether each percent sign is followed by two hexadecimal digits."""
    return "%" not in text or _BAD_ESCAPE.search(text) is None


def segments(path: str) -> list[str]:
    """The words of a path, percent-decoded (slashes, too); one slash at the end does not count."""
    plain = unquote(path) if "%" in path else path
    plain = plain.removeprefix("/").removesuffix("/")
    return plain.split("/") if plain else []


def target_of(words: list[str]) -> Target | None:
    """The resource a path names, or None when it is one of the API's other pages (discovery, health, …)."""
    if len(words) < 3 or words[0] not in ("api", "apis"):
        return None
    if words[0] == "api":
        group, version, rest = "", words[1], words[2:]
    elif len(words) < 4:
        return None
    else:
        group, version, rest = words[1], words[2], words[3:]
    watch = rest[0] == "watch"
    if watch:
        rest = rest[1:]
        if not rest:
            return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        if len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES:
            namespace, rest = rest[1], rest[2:]
        elif watch and len(rest) == 2:
            return Target(group, version, "namespaces", "", rest[1], "", watch)
    found = len(rest)
    return Target(
        group,
        version,
        rest[0],
        namespace,
        rest[1] if found > 1 else "",
        rest[2] if found > 2 else "",
        watch,
        found > 3 or not all(words),
    )
