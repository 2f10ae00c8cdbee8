"""What an object means in which a field stands more than once, as Go's decoder takes it.

Each time it reads the value into what is there already: an object gains fields, a map entries, an entry of a list
changes in place; anything else is replaced. A null empties what can be empty, and leaves the rest alone.
"""

from __future__ import annotations

from typing import Any

from eachnode.server.schema.json_text import Repeated
from eachnode.server.schema.shapes import Field, Presence, Shape, Sort


def settled(wanted: Shape, value: Any) -> Any:
    """The value with each field once."""
    if isinstance(value, list) and wanted.item is not None:
        return [settled(wanted.item, entry) for entry in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, entry in value.pairs if isinstance(value, Repeated) else value.items():
        field = wanted.fields.get(key)
        inner = field.shape if field is not None else wanted.item
        plain = settled(inner, entry) if inner is not None else entry
        made[key] = _read_again(field, made[key], plain) if field is not None and key in made else plain
    return made


def _read_again(field: Field, old: Any, new: Any) -> Any:
    if new is None:
        can_be_empty = field.presence is Presence.GIVEN or field.sort in (Sort.LIST, Sort.MAP)
        return None if can_be_empty else old
    return _over(field.shape, old, new)


def _over(wanted: Shape, old: Any, new: Any) -> Any:
    """What becomes of a value when another is read into it."""
    if isinstance(old, dict) and isinstance(new, dict):
        made = dict(old)
        for key, entry in new.items():
            field = wanted.fields.get(key)
            made[key] = _read_again(field, made[key], entry) if field is not None and key in made else entry
        return made
    if isinstance(old, list) and isinstance(new, list) and wanted.item is not None:
        item = wanted.item
        return [_over(item, old[index], entry) if index < len(old) else entry for index, entry in enumerate(new)]
    return new
