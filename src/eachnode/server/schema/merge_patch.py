"""RFC 7386 merge patches: an object with the fields to change; null removes one."""

from __future__ import annotations

from typing import Any


def patch_merge(tree: Any, patch: Any) -> Any:
    """The tree after the patch (changed in place)."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(tree, dict):
        tree = {}
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = patch_merge(tree.get(key), value)
    return tree
