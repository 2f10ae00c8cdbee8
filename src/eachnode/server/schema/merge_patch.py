"""RFC 7386 merge patches: an object with the fields to change; null removes one."""

from __future__ import annotations

from typing import Any


def patch_merge(tree: Any, patch: Any) -> Any:
    """The tree after the patch; where the patch reached, keys are in order, as complaints about them are."""
    if not isinstance(patch, dict):
        return _in_order(patch)
    made = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = patch_merge(made.get(key), value)
    return dict(sorted(made.items()))


def _in_order(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_order(entry) for entry in value]
    return {key: _in_order(value[key]) for key in sorted(value)} if isinstance(value, dict) else value
