"""Values against a custom kind's schema: the reference's checks, in its order and its words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from eachnode.objects.go_text import go_json_sorted
from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
)
from eachnode.server.schema import value_formats

Schema = dict[str, Any]

_TOO_LARGE = 1 << 63
_LARGEST_EXACT = 1 << 53  # Below it, a fraction that happens to be whole counts as a whole number.
_NUMERIC = ("integer", "number")
_FORMATS = {"integer": "int64", "number": "float64"}  # What the reference takes a number for.
_POSIX = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
}


def validate(schema: Schema, value: Any, place: str = "") -> Iterator[FieldError]:
    """What is wrong with a value, `place` being where it stands."""
    problem = _type_problem(schema, value, place)
    if problem is not None:
        yield problem
    if value is None:
        yield from _enum(schema, value, place)
        return
    yield from _junctors(schema, value, place)
    yield from _scalar(schema, value, place)
    if isinstance(value, list):
        yield from _list(schema, value, place)
    yield from _enum(schema, value, place)
    if isinstance(value, dict):
        yield from _object(schema, value, place)


def validate_lists(schema: Schema, value: Any, place: str) -> Iterator[FieldError]:
    """Entries that stand twice in a list that is a set or a list map."""
    if isinstance(value, list):
        items = schema.get("items")
        items = items if isinstance(items, dict) else {}
        yield from _repeated_entries(schema, value, place)
        for index, entry in enumerate(value):
            yield from validate_lists(items, entry, f"{place}[{index}]")
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, entry in value.items():
            inner = properties.get(key, others)
            if isinstance(inner, dict):
                inside = f"{place}.{key}" if key in properties else f"{place}[{key}]"
                yield from validate_lists(inner, entry, inside.removeprefix("."))


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in Go's dialect; raises `re.error`."""
    return _compiled(pattern)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    for name, members in _POSIX.items():
        pattern = pattern.replace(name, members)
    # The end in Go is the very end; Python's `$` also matches before a last line end.
    return re.compile(re.sub(r"(?<!\\)((?:\\\\)*)(?:\$(?![^\[]*\])|\\z)", r"\1\\Z", pattern))


def _type_problem(schema: Schema, value: Any, place: str) -> FieldError | None:
    wanted = _types(schema)
    if not wanted:
        return None
    if value is None:
        return None if schema.get("nullable") else _mistyped(place, ",".join(wanted), "null")
    found = _type_of(value)
    if found in wanted or (found == "integer" and "number" in wanted):
        return None
    if found == "number" and "integer" in wanted and float(value).is_integer() and abs(value) < _LARGEST_EXACT:
        return None
    if schema.get("format"):
        if not isinstance(value, (str, list)):
            return _mistyped(place, schema["format"], _FORMATS.get(found, ""))
        if not any(name in wanted for name in _NUMERIC):
            return None
    return _mistyped(place, ",".join(wanted), found)


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer", "string"
    return (schema["type"],) if schema.get("type") else ()


def _type_of(value: Any) -> str:
    if type(value) is int and not -_TOO_LARGE <= value < _TOO_LARGE:
        return "number"  # The reference reads what no 64-bit number holds as a fraction.
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
    return names.get(type(value), "object")


def _mistyped(place: str, wanted: str, found: str) -> FieldError:
    sentence = f"{place} in body must be of type {wanted}: {shown(found)}"
    return FieldError(_field(place), "FieldValueTypeInvalid", f"Invalid value: {shown(found)}: {sentence}")


def _field(place: str) -> str:
    """The place as errors name it; the object itself has no name."""
    return place.removeprefix(".") or "<nil>"


def _wrong(place: str, value: Any, rule: str) -> FieldError:
    return invalid(_field(place), value, f"{place} in body {rule}")


def _junctors(schema: Schema, value: Any, place: str) -> Iterator[FieldError]:
    """anyOf, oneOf, allOf and not."""
    if alternatives := schema.get("anyOf"):
        failures = [list(validate(one, value, place)) for one in alternatives]
        if all(failures):
            yield _unplaced(f'"{place}" must validate at least one schema (anyOf)')
            yield from min(failures, key=len)
    if alternatives := schema.get("oneOf"):
        failures = [list(validate(one, value, place)) for one in alternatives]
        fitting = sum(not wrong for wrong in failures)
        if fitting != 1:
            found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            yield _unplaced(f'"{place}" must validate one and only one schema (oneOf). {found}')
            if not fitting:
                yield from min(failures, key=len)
    if parts := schema.get("allOf"):
        failures = [list(validate(one, value, place)) for one in parts]
        yield from (wrong for part in failures for wrong in part)
        if any(failures):
            none = ". None validated" if all(failures) else ""
            yield _unplaced(f'"{place}" must validate all the schemas (allOf){none}')
    if "not" in schema and not list(validate(schema["not"], value, place)):
        yield _unplaced(f'"{place}" must not validate the schema (not)')


def _unplaced(sentence: str) -> FieldError:
    return invalid("<nil>", "", sentence)


def _scalar(schema: Schema, value: Any, place: str) -> Iterator[FieldError]:
    if isinstance(value, str):
        yield from _string(schema, value, place)
        name = schema.get("format", "")
        if name and not value_formats.fits(name, value):
            sentence = f"{place} in body must be of type {name}: {shown(value)}"
            yield FieldError(_field(place), "FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {sentence}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number(schema, value, place)


def _string(schema: Schema, value: str, place: str) -> Iterator[FieldError]:
    """Only the first of these problems is told."""
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield too_long(_field(place), schema["maxLength"])
    elif "minLength" in schema and len(value) < schema["minLength"]:
        yield _wrong(place, value, f"should be at least {schema['minLength']} chars long")
    elif schema.get("pattern") and not compiled(schema["pattern"]).search(value):
        yield _wrong(place, value, f"should match '{schema['pattern']}'")


def _number(schema: Schema, value: float, place: str) -> Iterator[FieldError]:
    if schema.get("type") == "integer":
        bits = 31 if schema.get("format") == "int32" else 63
        if not float(value).is_integer() or not -(1 << bits) <= value < 1 << bits:
            how = f"with format {schema['format']}" if schema.get("format") else "(default format)"
            yield _unplaced(f"Checked value must be of type integer {how} in {place}")
    if (step := schema.get("multipleOf")) and not _is_multiple(value, step):
        yield _wrong(place, value, f"should be a multiple of {_plain(step)}")
    for key, exclusive, beyond, wording in _BOUNDS:
        if key in schema:
            is_open = bool(schema.get(exclusive))
            if beyond(value, schema[key]) or (is_open and value == schema[key]):
                rule = wording[0] if is_open else wording[1]
                yield _wrong(place, value, f"should be {rule} {_plain(schema[key])}")


_Beyond = Callable[[float, float], bool]
_BOUNDS: tuple[tuple[str, str, _Beyond, tuple[str, str]], ...] = (
    ("minimum", "exclusiveMinimum", lambda value, bound: value < bound, ("greater than", "greater than or equal to")),
    ("maximum", "exclusiveMaximum", lambda value, bound: value > bound, ("less than", "less than or equal to")),
)


def _is_multiple(value: float, step: float) -> bool:
    ratio = value / step
    return math.isclose(ratio, round(ratio), abs_tol=1e-9)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(number)


def _enum(schema: Schema, value: Any, place: str) -> Iterator[FieldError]:
    known = schema.get("enum")
    if known and not any(_same(value, choice) for choice in known):
        texts = [choice if isinstance(choice, str) else go_json_sorted(choice).decode() for choice in known]
        yield not_supported(_field(place), value, texts)


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _list(schema: Schema, value: list[Any], place: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if isinstance(items, dict):
        for index, entry in enumerate(value):
            yield from validate(items, entry, f"{place}[{index}]")
    if "minItems" in schema and len(value) < schema["minItems"]:
        yield _wrong(place, len(value), f"should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield too_many(_field(place), len(value), schema["maxItems"])


def _object(schema: Schema, value: dict[str, Any], place: str) -> Iterator[FieldError]:
    if "minProperties" in schema and len(value) < schema["minProperties"]:
        yield _wrong(place, len(value), f"should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield too_many(_field(place), len(value), schema["maxProperties"])
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    if isinstance(others, dict):
        for key, entry in value.items():
            if key not in properties:
                yield from validate(others, entry, f"{place}.{key}")
    for key, inner in sorted(properties.items()):
        if key in value:
            yield from validate(inner, value[key], f"{place}.{key}" if place else key)
    for key in schema.get("required", ()):
        if key not in value:
            yield required(_field(f"{place}.{key}"))


def _repeated_entries(schema: Schema, value: list[Any], place: str) -> Iterator[FieldError]:
    relation, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", ())
    if relation not in ("set", "map"):
        return
    seen: set[bytes] = set()
    told: set[bytes] = set()
    for index, entry in enumerate(value):
        identity = entry
        if relation == "map":
            if entry is None:
                continue
            if not isinstance(entry, dict):
                yield invalid(f"{place}[{index}]", entry, "must be an object for an array of list-type map")
                continue
            identity = {key: entry[key] for key in keys if key in entry}
        text = go_json_sorted(identity)
        if text in seen and text not in told:
            told.add(text)
            yield duplicate(f"{place}[{index}]", identity)
        seen.add(text)
