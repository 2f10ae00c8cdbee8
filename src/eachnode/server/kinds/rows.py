"""Pieces of table rows that many kinds share: the name and age columns, and ages themselves."""

from __future__ import annotations

from typing import Any

from eachnode.objects.clock import seconds
from eachnode.objects.durations import human_duration
from eachnode.server.kind import Column, Tree

UNKNOWN = "<unknown>"
NONE = "<none>"

NAME = Column("Name", format="name", description="Name must be unique within a namespace.")
AGE = Column("Age", description="How long ago the object was created.")


def since(moment: str | None, now: float) -> str:
    """How long ago an API timestamp was."""
    return human_duration(now - seconds(moment)) if moment else UNKNOWN


def name_of(tree: Tree) -> str:
    """The object's name."""
    return str(tree["metadata"].get("name", ""))


def age_of(tree: Tree, now: float) -> str:
    """How long ago the object was created."""
    return since(tree["metadata"].get("creationTimestamp"), now)


def at(tree: Tree, *path: str, missing: Any = None) -> Any:
    """What stands at a path of a tree, or `missing`."""
    found: Any = tree
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return missing
        found = found[key]
    return found
