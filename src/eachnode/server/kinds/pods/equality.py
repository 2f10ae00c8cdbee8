"""When two pod specs say the same, though not in the same words: amounts are compared by what they mean."""

from __future__ import annotations

from typing import Any

from eachnode.objects.quantities import nano

_OF_AMOUNTS = frozenset(("limits", "requests", "overhead"))
_AMOUNTS = frozenset(("divisor", "sizeLimit"))
_MAPS = _OF_AMOUNTS | {"annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations"}
_MAPS |= {"volumeAttributes"}


def same(one: Any, other: Any) -> bool:
    """Whether two parts of specs mean the same; an empty list or map is an absent one, an empty object is not."""
    return one == other or _same(one, other, is_amount=False)


def _same(one: Any, other: Any, *, is_amount: bool) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same_field(one.get(key), other.get(key), key, is_amount) for key in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _same(mine, yours, is_amount=is_amount) for mine, yours in zip(one, other, strict=True)
        )
    if is_amount and one is not None and other is not None:
        return nano(one) == nano(other)
    return type(one) is type(other) and bool(one == other)


def _same_field(one: Any, other: Any, key: str, is_amount: bool) -> bool:
    if one == other and type(one) is type(other):
        return True
    if _is_nothing(one, key) and _is_nothing(other, key):
        return True
    return _same(one, other, is_amount=is_amount or key in _OF_AMOUNTS or key in _AMOUNTS)


def _is_nothing(value: Any, key: str) -> bool:
    return value is None or value == [] or (value == {} and key in _MAPS)
