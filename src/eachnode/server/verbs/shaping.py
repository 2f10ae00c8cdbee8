"""The seam between the verbs and the field tables."""

from __future__ import annotations

from eachnode.server.kind import Call, Kind, Tree


def patch_merge(tree: Tree, patch: Tree) -> Tree:
    """A merge patch (RFC 7396)."""
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict):
            known = tree.get(key)
            tree[key] = patch_merge(known if isinstance(known, dict) else {}, value)
        else:
            tree[key] = value
    return tree


def track(_kind: Kind, _new: Tree, _old: Tree | None, _call: Call, _subresource: str = "") -> None:
    """Notes who wrote which field."""


def keep_times(_new: Tree, _old: Tree) -> None:
    """Keeps the times of managedFields that are otherwise the same."""
