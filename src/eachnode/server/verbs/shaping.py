"""What comes before a kind's own rules: defaults are filled in, and both they and the rest are the writer's."""

from __future__ import annotations

from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import ownership
from eachnode.server.schema.ownership import keep_times

__all__ = ["keep_times", "track"]


def track(kind: Kind, new: Tree, old: Tree | None, call: Call, subresource: str = "") -> None:
    """Fills in what the writer left to the API, and notes that the writer wrote both."""
    kind.default(new)
    ownership.track(kind, new, old, call, subresource)
