"""What differs between two pod templates, field by field, for people to read.

Items of lists are told apart by what names them (a container by its name, a mount by its path), so that a container
that moved is no change and a container that changed is told as that one field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

_NAMING_FIELDS = ("name", "mountPath", "devicePath", "containerPort", "ip")


@dataclass(frozen=True, slots=True)
class Change:
    """One field that is there in one template only, or is different in both."""

    path: str
    old: Any
    new: Any  # None on either side: it is not there.

    def __str__(self) -> str:
        if self.old is None:
            return f"{self.path}: added {_told(self.new)}"
        if self.new is None:
            return f"{self.path}: removed {_told(self.old)}"
        return f"{self.path}: {_told(self.old)} → {_told(self.new)}"

    def tree(self) -> dict[str, Any]:
        """As a plain value."""
        return {"path": self.path, "old": self.old, "new": self.new}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Everything that differs, in the order of the fields."""
    return tuple(_compare("", old, new))


def _compare(path: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new or (_is_nothing(old) and _is_nothing(new)):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _compare(f"{path}.{_step(key)}" if path else key, old.get(key), new.get(key))
    elif (naming := naming_field(old, new)) is not None:
        before, after = ({item[naming]: item for item in side or ()} for side in (old, new))
        for key in dict.fromkeys([*before, *after]):
            yield from _compare(f"{path}[{key}]", before.get(key), after.get(key))
    else:
        yield Change(path, old, new)


def _is_nothing(value: Any) -> bool:
    return value is None or value == {} or value == []


def _step(key: str) -> str:
    """A key as part of a path; one that holds dots itself is bracketed."""
    return f"[{key}]" if "." in key or "/" in key else key


def naming_field(*lists: Any) -> str | None:
    """By which field the items of these lists are told apart; None when they are no lists of named things."""
    if not all(isinstance(each, list | None) for each in lists):
        return None
    for field in _NAMING_FIELDS:
        if all(_names_all(each or (), field) for each in lists):
            return field
    return None


def _names_all(items: Sequence[Any], field: str) -> bool:
    names = [item.get(field) if isinstance(item, Mapping) else None for item in items]
    return None not in names and len(set(map(str, names))) == len(names)


def _told(value: Any) -> str:
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
