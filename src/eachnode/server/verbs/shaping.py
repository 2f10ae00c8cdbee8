"""The seam between the verbs and the field tables."""

from __future__ import annotations

from eachnode.server.kind import Call, Kind, Tree


def track(_kind: Kind, _new: Tree, _old: Tree | None, _call: Call, _subresource: str = "") -> None:
    """Notes who wrote which field."""


def keep_times(_new: Tree, _old: Tree) -> None:
    """Keeps the times of managedFields that are otherwise the same."""
