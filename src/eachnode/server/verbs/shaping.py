"""What comes around a kind's own rules: defaults are the writer's like the rest; what was given empty is in view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import ownership
from eachnode.server.schema.ownership import keep_times

__all__ = ["as_given", "keep_times", "track"]


def track(kind: Kind, new: Tree, old: Tree | None, call: Call, subresource: str = "") -> None:
    """Fills in what the writer left to the API, and notes that the writer wrote both."""
    kind.default(new)
    ownership.track(kind, new, old, call, subresource)


@contextmanager
def as_given(kind: Kind, call: Call) -> Iterator[None]:
    """Meanwhile the tree holds what its writer gave empty, for kinds whose validation tells that from nothing."""
    back = [each for each in call.emptied if each[1] not in each[0]] if kind.tells_empty else []
    for holder, key, value in back:
        holder[key] = value
    try:
        yield
    finally:
        for holder, key, _ in back:
            del holder[key]
