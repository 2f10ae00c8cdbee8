"""How a step of admission says no."""

from __future__ import annotations

from eachnode.objects.clock import SUFFIX_LETTERS
from eachnode.objects.resources import Resource
from eachnode.objects.status import Cause, Details, Forbidden
from eachnode.server.kind import Tree

_SUFFIX_LENGTH = 5


def forbidden(resource: Resource, name: str, reason: str, *causes: Cause) -> Forbidden:
    """403 for one object."""
    details = Details(name=name, group=resource.group, kind=resource.plural, causes=causes)
    return Forbidden(f'{resource.qualified} "{name}" is forbidden: {reason}', details=details)


def name_before_generation(tree: Tree) -> str:
    """What an early step calls a new object: the reference has not completed a generated name by then."""
    about = tree["metadata"]
    name, prefix = str(about.get("name", "")), str(about.get("generateName", ""))
    ending = name.removeprefix(prefix[: len(name) - _SUFFIX_LENGTH])
    if prefix and len(ending) == _SUFFIX_LENGTH and set(ending) <= set(SUFFIX_LETTERS):
        return prefix
    return name or prefix or "Unknown"
