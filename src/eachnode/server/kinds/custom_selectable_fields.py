"""The fields by which objects of a custom kind can be selected: each a path to a scalar that the schema declares."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eachnode.server.field_errors import FieldError, duplicate, invalid, required, too_many
from eachnode.server.kind import Tree

_MOST = 8
_SCALARS = ("string", "boolean", "integer")
_NO_SCALAR = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_WORD = re.compile(r"[.\[\]]|[^.\[\]]+")


class _NoPath(ValueError):
    """The text is no path to a field; the sentence says why."""


def validate_selectable_fields(fields: list[Tree], schema: Tree, path: str) -> Iterator[FieldError]:
    """Everything wrong with a version's selectable fields."""
    known: set[tuple[str, ...]] = set()
    for index, entry in enumerate(fields):
        text, place = entry.get("jsonPath", ""), f"{path}[{index}].jsonPath"
        if not text:
            yield required(place)
            continue
        try:
            names, found = _followed(schema, text)
        except _NoPath as problem:
            yield invalid(place, text, f"is an invalid path: {problem}")
            continue
        if names[0] == "metadata":
            yield invalid(place, text, "must not point to fields in metadata")
        if found.get("type") not in _SCALARS:
            yield invalid(place, text, _NO_SCALAR)
        if names in known:
            yield duplicate(place, text)
        known.add(names)
    if len(known) > _MOST:
        yield too_many(path, len(known), _MOST)


def _names(text: str) -> Iterator[str]:
    """The names on a path like `.spec.size`."""
    words = iter(_WORD.findall(text))
    for word in words:
        if word == "[":
            raise _NoPath("array notation is not allowed")
        if word != ".":
            raise _NoPath(f"expected [ or . but got: {word}")
        name = next(words, None)
        if name is None:
            raise _NoPath("unexpected end of JSON path")
        yield name


def _followed(schema: Tree, path: str) -> tuple[tuple[str, ...], Tree]:
    """The names on a path, and the schema of what it leads to."""
    names: list[str] = []
    for name in _names(path):
        names.append(name)
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if not isinstance(inner, dict):
            raise _NoPath("does not refer to a valid field")
        schema = inner
    return tuple(names), schema
