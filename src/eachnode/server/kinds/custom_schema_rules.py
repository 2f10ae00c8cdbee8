"""What a custom kind's schema must be like: structural, so that the server can prune, default and merge by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.schema import structural, structural_validation
from eachnode.server.schema.structural import EMBEDDED, INT_OR_STRING, PRESERVE, RULES, Schema

Errors = Iterator[FieldError]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = ("metadata", "kind", "apiVersion")
_INT_OR_STRING_CHOICE = [{"type": "integer"}, {"type": "string"}]
# What may not stand inside anyOf, oneOf, allOf and not: they restrict values, they declare nothing.
_DECLARATIONS = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    (RULES, "must be empty to be structural"),
)
_LEVEL_SENTENCES = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def validate_schema(schema: Schema, path: str) -> Errors:
    """What is wrong with the schema of one version."""
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    structure = sorted(_structure(schema, path, "root"), key=lambda error: (error.field, error.message))
    yield from structure
    if not structure:
        yield from _defaults(schema, path)
    yield from _openapi(schema, path, _Context(is_root=True))


def _structure(schema: Schema, path: str, level: str) -> Errors:
    """The invariants of structural schemas."""
    kind = schema.get("type", "")
    items = schema.get("items")
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _structure(items, f"{path}.items", "item")
    for key, inner in schema.get("properties", {}).items():
        yield from _structure(inner, f"{path}.properties[{key}]", "field")
    others = schema.get("additionalProperties")
    if others is not None and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(others, dict):
        yield from _structure(others, f"{path}.additionalProperties", "field")
    yield from _extensions(schema, path)
    yield from _values(schema, path)
    yield from _type(schema, path, level)
    yield from _metadata(schema, path, level)


def _extensions(schema: Schema, path: str) -> Errors:
    for name in (PRESERVE, EMBEDDED):
        if schema.get(INT_OR_STRING) and schema.get(name):
            yield invalid(f"{path}.{name}", True, f"must be false if {INT_OR_STRING} is true")


def _type(schema: Schema, path: str, level: str) -> Errors:
    kind = schema.get("type", "")
    if schema.get(EMBEDDED):
        sentence = f"must be object if {EMBEDDED} is true"
        if not kind:
            yield required(f"{path}.type", sentence)
        elif kind != "object":
            yield invalid(f"{path}.type", kind, sentence)
        if "additionalProperties" in schema:
            yield forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
        if not schema.get(PRESERVE) and not schema.get("properties"):
            yield required(f"{path}.properties", f"must not be empty if {EMBEDDED} is true without {PRESERVE}")
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{path}.type", _LEVEL_SENTENCES[level])
    if level == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")


def _metadata(schema: Schema, path: str, level: str) -> Errors:
    """An object's own metadata is declared by the API, not by the schema."""
    properties = schema.get("properties", {})
    if level != "root" and not schema.get(EMBEDDED):
        return
    for key in ("kind", "apiVersion"):
        if key in properties and properties[key].get("type", "") != "string":
            yield invalid(f"{path}.properties[{key}].type", properties[key].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    place = f"{path}.properties[metadata]"
    if metadata.get("type", "") != "object":
        yield invalid(f"{place}.type", metadata.get("type", ""), "must be object")
    declared = set(metadata.get("properties", {})) - {"name", "generateName"}
    if level == "root" and (declared or set(metadata) - {"type", "properties", "description", "default"}):
        sentence = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(place, sentence)


def _values(schema: Schema, path: str) -> Errors:
    """What restricts values without declaring anything."""
    for key in ("anyOf", "allOf", "oneOf"):
        for index, inner in enumerate(schema.get(key, ())):
            is_choice = key == "anyOf" and schema.get("anyOf") == _INT_OR_STRING_CHOICE and schema.get(INT_OR_STRING)
            is_first = key == "allOf" and index == 0 and inner.get("anyOf") == _INT_OR_STRING_CHOICE
            if not is_choice:
                yield from _nested(inner, f"{path}.{key}[{index}]", skip_any_of=is_first)
    if "not" in schema:
        yield from _nested(schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            structural_validation.compiled(pattern)
        except re.error as problem:
            yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {problem}")


def _nested(schema: Schema, path: str, *, skip_any_of: bool = False) -> Errors:
    yield from _values({key: part for key, part in schema.items() if not (skip_any_of and key == "anyOf")}, path)
    for name, sentence in _DECLARATIONS:
        if schema.get(name) or (name in ("additionalProperties", "default") and name in schema):
            yield forbidden(f"{path}.{name}", sentence)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for key, inner in schema.get("properties", {}).items():
        if key == "metadata":
            yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")
        yield from _nested(inner, f"{path}.properties[{key}]")


def _defaults(schema: Schema, path: str) -> Errors:
    """Defaults must fit the schema they stand in, and hold nothing that would be pruned."""
    if "default" in schema:
        value, unknown = schema["default"], list[str]()
        structural.prune(schema, value, unknown)
        if unknown:
            yield invalid(f"{path}.default", value, "must not have unknown fields")
        for error in structural_validation.validate(schema, value):
            inside = f"{path}.default" if error.field == "<nil>" else f"{path}.default.{error.field}"
            yield FieldError(inside, error.reason, error.message)
    for key, inner in schema.get("properties", {}).items():
        yield from _defaults(inner, f"{path}.properties[{key}]")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _defaults(schema[key], f"{path}.{key}")


@dataclass(frozen=True, slots=True)
class _Context:
    """Where in the whole schema a part stands."""

    is_root: bool = False
    no_defaults: str = ""  # Why there may be none.
    in_meta: bool = False


def _openapi(schema: Schema, path: str, context: _Context) -> Errors:
    """What OpenAPI itself asks, and Kubernetes of OpenAPI."""
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    if "default" in schema and context.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {context.no_defaults}")
    for key in ("id", "$ref", "definitions", "dependencies", "patternProperties", "additionalItems"):
        if schema.get(key):
            yield forbidden(f"{path}.{key}", _UNSUPPORTED.get(key, f"{key} is not supported"))
    if schema.get("uniqueItems"):
        sentence = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", sentence)
    others = schema.get("additionalProperties")
    if others is not None and schema.get("properties") and others is not True:
        yield forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    yield from _list_types(schema, path)
    yield from _rules(schema, path)
    yield from _children(schema, path, context)


_UNSUPPORTED = {"additionalItems": "additionalItems is not supported", "$ref": "$ref is not supported"}


def _children(schema: Schema, path: str, context: _Context) -> Errors:
    inner = replace(context, is_root=False)
    for key, part in sorted(schema.get("properties", {}).items()):
        child = inner
        if key in _META and (context.is_root or schema.get(EMBEDDED)):
            reason = f"in top-level {key}" if context.is_root else context.no_defaults
            child = replace(inner, in_meta=True, no_defaults=reason)
        yield from _openapi(part, f"{path}.properties[{key}]", child)
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        reason = "inside additionalProperties applying to object metadata" if context.in_meta else context.no_defaults
        yield from _openapi(others, f"{path}.additionalProperties", replace(inner, no_defaults=reason))
    if isinstance(schema.get("items"), dict):
        yield from _openapi(schema["items"], f"{path}.items", inner)
    for key in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(schema.get(key, ())):
            yield from _openapi(part, f"{path}.{key}[{index}]", inner)
    if isinstance(schema.get("not"), dict):
        yield from _openapi(schema["not"], f"{path}.not", inner)


def _list_types(schema: Schema, path: str) -> Errors:
    kind, list_type = schema.get("type", ""), schema.get("x-kubernetes-list-type")
    for name, wanted in (("x-kubernetes-map-type", "object"), ("x-kubernetes-list-type", "array")):
        if name in schema and kind != wanted:
            sentence = f"must be {wanted} if {name} is specified"
            yield invalid(f"{path}.type", kind, sentence) if kind else required(f"{path}.type", sentence)
    for name, known in (
        ("x-kubernetes-map-type", ("atomic", "granular")),
        ("x-kubernetes-list-type", ("atomic", "set", "map")),
    ):
        if name in schema and schema[name] not in known:
            yield not_supported(f"{path}.{name}", schema[name], known)
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if keys and list_type != "map":
        sentence = "must be map if x-kubernetes-list-map-keys is non-empty"
        place = f"{path}.x-kubernetes-list-type"
        yield invalid(place, list_type, sentence) if list_type else required(place, sentence)
    items = schema.get("items")
    if list_type == "map":
        yield from _list_map(schema, items if isinstance(items, dict) else {}, keys, path)
    if list_type in ("set", "map") and isinstance(items, dict) and items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set" and isinstance(items, dict) and items.get("type") in ("array", "object"):
        name = "x-kubernetes-list-type" if items["type"] == "array" else "x-kubernetes-map-type"
        if items.get(name, "atomic" if items["type"] == "array" else None) != "atomic":
            sentence = "must be atomic as item of a list with x-kubernetes-list-type=set"
            yield invalid(f"{path}.items.{name}", items.get("x-kubernetes-list-type"), sentence)


def _list_map(schema: Schema, items: Schema, keys: Any, path: str) -> Errors:
    place = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        yield required(place, "must not be empty if x-kubernetes-list-type is map")
    if "items" not in schema:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif items.get("type") != "object":
        sentence = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), sentence)
        return
    properties = items.get("properties", {})
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield invalid(place, list(keys), "must not contain duplicate entries")
        if key not in properties:
            yield invalid(place, list(keys), "entries must all be names of item properties")
            continue
        inside = f"{path}.items.properties[{key}]"
        if properties[key].get("type") in ("array", "object"):
            sentence = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{inside}.type", items["type"], sentence)
        if key not in items.get("required", ()) and "default" not in properties[key]:
            sentence = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            yield required(f"{inside}.default", sentence)
        if properties[key].get("nullable"):
            sentence = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(f"{inside}.nullable", sentence)


def _rules(schema: Schema, path: str) -> Errors:
    for index, rule in enumerate(schema.get(RULES, ())):
        if not rule.get("rule", "").strip():
            yield required(f"{path}.{RULES}[{index}].rule", "rule is not specified")
