"""Walking through a pod spec: its containers with their paths, and what several rules ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.server.kind import Tree

# In this order rules that concern all containers report them.
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")


def containers_of(spec: Tree) -> Iterator[Tree]:
    """All containers of a pod: the init containers first, then the regular, then the ephemeral ones."""
    for part in CONTAINER_LISTS:
        yield from spec.get(part) or ()


def containers_with_paths(spec: Tree, path: str) -> Iterator[tuple[Tree, str]]:
    """The same, each with its path."""
    for part in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(part) or ()):
            yield container, f"{path}.{part}[{index}]"


def is_sidecar(container: Tree) -> bool:
    """Whether an init container keeps running beside the others."""
    return bool(container.get("restartPolicy") == "Always")


def is_windows(spec: Tree) -> bool:
    """Whether the pod says that it is for Windows."""
    return bool((spec.get("os") or {}).get("name") == "windows")


def inner(tree: Tree, *path: str) -> Any:
    """What stands at a path of a tree, or None."""
    found: Any = tree
    for key in path:
        found = (found or {}).get(key)
    return found
