"""Structural schemas: the shape that a custom kind's author gives its objects.

A structural schema says of every field what type it has before it says anything else. So the same shapes serve that
serve the built-in kinds: to take away fields nobody declared (pruning), to fill in defaults, and to tell who owns what.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from eachnode.server.field_errors import FieldError
from eachnode.server.kind import Tree
from eachnode.server.schema import structural_validation
from eachnode.server.schema.canonical_form import Place, Reading, Unreadable, conform, mismatch, note_repeats
from eachnode.server.schema.json_text import Repeated, keys_in, plain
from eachnode.server.schema.shapes import OBJECT_META, Field, Presence, Shape, Sort, shape

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
RULES = "x-kubernetes-validations"

_META = ("apiVersion", "kind", "metadata")
_SCALARS = {
    "string": Sort.STRING,
    "integer": Sort.INTEGER,
    "number": Sort.NUMBER,
    "boolean": Sort.BOOLEAN,
}


class Structure:
    """One version of a custom kind as its schema describes it."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.shape = _root_shape(schema)
        self.has_rules = has_rules(schema)

    def conform(self, tree: Any, reading: Reading) -> Tree:
        """An object with the fields that are declared (changed in place); raises Unreadable."""
        if not isinstance(tree, dict):
            raise Unreadable(mismatch(tree, "map[string]interface {}", None))
        if reading.careful:
            _note_all_repeats(tree, None, reading)
        metadata = tree.get("metadata")
        if not isinstance(metadata, dict | None):
            raise Unreadable(mismatch(metadata, "v1.ObjectMeta", None))
        made: Tree = plain(tree) if reading.careful else tree
        reading.keys += keys_in(made)
        unknown: list[str] = []
        prune(self.schema, made, unknown, is_root=True)
        made["metadata"] = _conform_metadata(made.get("metadata") or {}, unknown, "metadata")
        reading.strict += sorted(unknown)
        return made

    def default(self, tree: Tree) -> None:
        """Fills in what the schema has a default for."""
        fill_in(self.schema, tree)

    def validate(self, tree: Tree) -> Iterator[FieldError]:
        """What is wrong with an object."""
        yield from structural_validation.validate(self.schema, tree)
        yield from structural_validation.validate_lists(self.schema, tree, "")

    def validate_status(self, tree: Tree) -> Iterator[FieldError]:
        """What is wrong with an object's status."""
        schema = self.schema.get("properties", {}).get("status")
        if schema is not None and "status" in tree:
            for error in structural_validation.validate(schema, tree["status"]):
                # The reference looks at the status alone: messages name the place within it, fields the whole one.
                yield replace(error, field="status" if error.field == "<nil>" else f"status.{error.field}")


def _conform_metadata(metadata: Tree, unknown: list[str], place: str) -> Tree:
    """The metadata of an object, its own or that of one embedded in it."""
    reading = Reading()
    made: Tree = conform(shape(OBJECT_META), metadata, reading)
    unknown += [line.replace('field "', f'field "{place}.', 1) for line in reading.strict]
    return made


def prune(schema: Schema | None, value: Any, unknown: list[str], place: str = "", *, is_root: bool = False) -> None:
    """Takes away what is not declared, and names it."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            prune(_items(schema), entry, unknown, f"{place}[{index}]")
        return
    if not isinstance(value, dict):
        return
    is_embedded = schema is not None and bool(schema.get(EMBEDDED))
    for key in list(value):
        inside = f"{place}.{key}" if place else key
        if is_embedded and key == "metadata" and isinstance(value[key], dict):
            value[key] = _conform_metadata(value[key], unknown, inside)
        if key in _META and (is_root or is_embedded):
            continue
        known, inner = _property(schema, key)
        if known:
            prune(inner, value[key], unknown, inside)
        elif schema is None or not schema.get(PRESERVE):
            unknown.append(f'unknown field "{inside}"')
            del value[key]


def _property(schema: Schema | None, key: str) -> tuple[bool, Schema | None]:
    """(whether a key is declared, its schema; None: an object in which nothing is declared)."""
    if schema is None:
        return False, None
    if key in schema.get("properties", {}):
        return True, schema["properties"][key]
    if schema.get("additionalProperties"):
        others = schema["additionalProperties"]
        return True, others if isinstance(others, dict) else None
    return False, None


def _items(schema: Schema | None) -> Schema | None:
    """The schema of a list's entries. What is preserved inside a list stays preserved."""
    items = (schema or {}).get("items")
    if isinstance(items, dict):
        return items
    return {PRESERVE: True} if schema is not None and schema.get(PRESERVE) else None


def fill_in(schema: Schema, value: Any) -> None:
    """Fills in defaults; a null where there may be none goes, or gives way to the default."""
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            for index, entry in enumerate(value):
                if entry is None and not items.get("nullable") and "default" in items:
                    value[index] = copy.deepcopy(items["default"])
                fill_in(items, value[index])
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, inner in properties.items():
            _drop_null(inner, value, key)
            if "default" in inner and key not in value:
                value[key] = copy.deepcopy(inner["default"])
            if key in value:
                fill_in(inner, value[key])
        if isinstance(others, dict):
            for key in value.keys() - properties.keys():
                _drop_null(others, value, key)
                fill_in(others, value.get(key))


def _drop_null(schema: Schema, holder: Tree, key: str) -> None:
    if key in holder and holder[key] is None and not schema.get("nullable"):
        del holder[key]


def has_rules(schema: Any) -> bool:
    """Whether a schema holds rules in CEL anywhere."""
    if isinstance(schema, dict):
        return bool(schema.get(RULES)) or any(has_rules(inner) for inner in schema.values())
    return isinstance(schema, list) and any(has_rules(inner) for inner in schema)


def _note_all_repeats(value: Any, place: Place | None, reading: Reading) -> None:
    if isinstance(value, dict):
        if isinstance(value, Repeated):
            note_repeats(value, place, reading)
        for key, entry in value.items():
            _note_all_repeats(entry, (place, key), reading)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _note_all_repeats(entry, (place, index), reading)


def _root_shape(schema: Schema) -> Shape:
    made = _shape(schema)
    _add_meta(made)
    return made


def _add_meta(made: Shape) -> None:
    """The fields that every object has, whether its schema declares them or not."""
    text = Shape(Sort.STRING, "string")
    for name in ("apiVersion", "kind"):
        made.fields[name] = _field(name, text)
    made.fields["metadata"] = _field("metadata", shape(OBJECT_META))


def _field(name: str, inner: Shape) -> Field:
    return Field(name, inner, inner.sort, Presence.GIVEN, "")


def _shape(schema: Schema) -> Shape:
    kind = schema.get("type")
    if schema.get(INT_OR_STRING):
        return Shape(Sort.INTEGER_OR_STRING, "int or string")
    if kind == "array":
        return _list_shape(schema)
    if kind in _SCALARS:
        return Shape(_SCALARS[kind], kind)
    if kind != "object":
        return Shape(Sort.ANY, "any", open=True)
    return _object_shape(schema)


def _object_shape(schema: Schema) -> Shape:
    others = schema.get("additionalProperties")
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    made = Shape(Sort.STRUCT, "object", atomic=is_atomic, open=bool(schema.get(PRESERVE) or others))
    if isinstance(others, dict):
        made.item = _shape(others)
    for name, inner in schema.get("properties", {}).items():
        made.fields[name] = _field(name, _shape(inner))
        if "default" in inner:
            made.key_defaults[name] = inner["default"]
    if schema.get(EMBEDDED):
        _add_meta(made)
    return made


def _list_shape(schema: Schema) -> Shape:
    items = schema.get("items")
    made = Shape(Sort.LIST, "array", item=_shape(items if isinstance(items, dict) else {}))
    made.relation = schema.get("x-kubernetes-list-type", "atomic")
    made.keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    return made
