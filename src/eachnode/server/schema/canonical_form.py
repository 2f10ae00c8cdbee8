"""One pass over a tree that checks its types and brings it into the form Go would write it in again.

Fields that nobody knows go away, and so do nulls and empty optional values; what is always written is filled in;
quantities, moments and binary data get their one spelling. What is wrong is worded as Go's decoder words it: a value of
the wrong type is remembered (the first one counts) and the pass goes on, while a value that its own type refuses to
read ends it at once.

A place in the tree is a chain of (place above, step), the step being a Field, a map's key or a list's index, so that
nothing is spelled out unless it is needed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from eachnode.objects import quantities
from eachnode.server.field_errors import shown
from eachnode.server.kind import Tree
from eachnode.server.schema import go_values
from eachnode.server.schema.json_text import Repeated, Written, keys_in, plain
from eachnode.server.schema.repeated_fields import settled
from eachnode.server.schema.shapes import Field, Presence, Shape, Sort, absent, empty, shape

Place: TypeAlias = tuple["Place | None", Field | str | int]

_STRICT_LIMIT = 100  # So many unknown and repeated fields are named, and no more.
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_GO_SORTS = {str: "string", bool: "bool", dict: "object", list: "array", Repeated: "object"}
_GO_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_GO_NUMBERS = ("int32", "int64", "float64")  # Only where a number was wanted does Go say which one it found.
_NOTHING = object()

_COLLECTIONS = (Sort.LIST, Sort.MAP)
_STRING, _INTEGER, _STRUCT = Sort.STRING, Sort.INTEGER, Sort.STRUCT


class Unreadable(ValueError):
    """The tree cannot be read as this kind; the message is Go's."""


class Reading:
    """What one pass came across."""

    __slots__ = ("careful", "converts", "emptied", "keys", "strict", "wrong")

    def __init__(self, *, careful: bool = False, converts: bool = False) -> None:
        self.careful = careful  # The tree was read with care, and is full of its marks.
        self.converts = converts  # The tree comes from a strategic merge: Go converts it, in other words for errors.
        self.keys = 0  # Of all objects together, to tell whether some stood there twice.
        self.emptied: list[tuple[Tree, str, Any]] = []  # (holder, key, the list or map that was given empty)
        self.strict: list[str] = []  # Unknown and repeated fields.
        self.wrong: str | None = None  # The first value of a wrong type.

    def note(self, complaint: str, place: Place | None, name: str) -> None:
        """Remembers an unknown or repeated field."""
        path = f"{spelled(place)}.{name}" if place else name
        line = f"{complaint} {shown(path)}"
        if len(self.strict) < _STRICT_LIMIT and line not in self.strict:
            self.strict.append(line)

    def mistyped(self, value: Any, wanted: Shape, place: Place | None) -> None:
        """Remembers a value of the wrong type."""
        if self.wrong is None:
            self.wrong = _inconvertible(value, wanted) if self.converts else mismatch(value, wanted.go, place)

    def unreadable(self, value: Any, go: str, place: Place | None) -> Unreadable:
        """A value of a type that its own reader refuses."""
        return Unreadable(mismatch(value, go, None if self.converts else place))


def conform(wanted: Shape, tree: Any, reading: Reading) -> Tree:
    """The tree in its canonical form (changed in place); raises Unreadable."""
    if not isinstance(tree, dict):
        raise Unreadable(mismatch(tree, wanted.go, None))
    made = _struct(wanted, tree, None, reading)
    if reading.wrong is not None:
        raise Unreadable(reading.wrong)
    return made


def canonical(definition: str, tree: Tree) -> Tree:
    """A tree already in hand in its canonical form (changed in place); unknown fields go away silently."""
    return conform(shape(definition), tree, Reading())


def spelled(place: Place | None) -> str:
    """A place as strict errors spell it: `spec.containers[0].image`."""
    parts: list[str] = []
    while place is not None:
        place, step = place
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(step.name if isinstance(step, Field) else step)
            if place is not None:
                parts.append(".")
    return "".join(reversed(parts))


def mismatch(value: Any, go: str, place: Place | None) -> str:
    """Go's sentence for a value of the wrong type; maps' keys and lists' indices are not part of its paths."""
    found = _GO_SORTS.get(type(value)) or (f"number {_literal(value)}" if go in _GO_NUMBERS else "number")
    fields: list[str] = []
    owner = ""
    while place is not None:
        place, step = place
        if isinstance(step, Field):
            owner = owner or step.owner
            fields.append(f"{step.embedded}.{step.name}" if step.embedded else step.name)
    if not fields:
        return f"json: cannot unmarshal {found} into Go value of type {go}"
    return f"json: cannot unmarshal {found} into Go struct field {owner}.{'.'.join(reversed(fields))} of type {go}"


def _inconvertible(value: Any, wanted: Shape) -> str:
    """The words of Go's conversion from an untyped tree."""
    found = "float64" if go_values.is_beyond_int64(value) else _GO_KINDS.get(type(value), "map")
    if wanted.sort is Sort.STRUCT:
        return f"cannot restore struct from: {found}"
    if wanted.sort in (Sort.LIST, Sort.BYTES):
        return f"cannot restore slice from {found}"
    if wanted.sort is Sort.MAP:
        return f"cannot restore map from {found}"
    if (wanted.sort, found) in ((Sort.STRING, "int64"), (Sort.INTEGER, "int64"), (Sort.INTEGER, "float64")):
        return f"cannot convert {found} to {wanted.go}"
    return f"unrecognized type: {'string' if wanted.sort is Sort.STRING else wanted.go}"


def _literal(number: Any) -> str:
    return number.text if isinstance(number, Written) else repr(number)


def _struct(wanted: Shape, tree: Tree, place: Place | None, reading: Reading) -> Tree:
    if isinstance(tree, Repeated) and tree.pairs:  # YAML's has none: its repeated keys are told by their lines.
        _judge_repeated(wanted, tree, place, reading)
        reading = Reading(careful=reading.careful, converts=reading.converts)  # All is said already.
    reading.keys += len(tree)
    fields = wanted.fields
    dropped: list[str] = []
    for key, value in tree.items():
        field = fields.get(key)
        if field is None:
            reading.note("unknown field", place, key)
            dropped.append(key)
            continue
        sort = field.sort
        kind: Any = value.__class__
        if value is None:
            dropped.append(key)
        elif kind is field.plain and (sort is not _INTEGER or -field.shape.bound <= value < field.shape.bound):
            if not value and field.drops_empty:
                dropped.append(key)
        elif sort is _STRUCT and isinstance(value, dict):
            _struct(field.shape, value, (place, field), reading)
        elif _read_field(tree, key, field, place, reading):
            dropped.append(key)
    for key in dropped:
        del tree[key]
    for name, field in wanted.always:
        if name not in tree:
            tree[name] = _filled(field)
    return tree


def _judge_repeated(wanted: Shape, tree: Repeated, place: Place | None, reading: Reading) -> None:
    """Says what is wrong with an object that repeats fields, in their order, and leaves each field in it once."""
    once = settled(wanted, tree)
    met: set[str] = set()
    for key, value in tree.pairs:
        if key in met and key in wanted.fields:
            reading.note("duplicate field", place, key)
        met.add(key)
        _struct(wanted, {key: value}, place, reading)
    tree.clear()
    tree.update(once)


def _read_field(tree: Tree, key: str, field: Field, place: Place | None, reading: Reading) -> bool:
    """Puts a field's value into form; answers whether it is dropped instead."""
    value = tree[key]
    made = _READERS[field.sort](field.shape, value, (place, field), reading)
    if made is _NOTHING:
        return False  # It stays as it is, for whoever tells what was wrong.
    if not made and made is not False and _is_dropped(made, field):
        if made is not None and field.sort in _COLLECTIONS:
            reading.emptied.append((tree, key, made))
        return True
    if made is not value:
        tree[key] = made
    return False


def _is_dropped(made: Any, field: Field) -> bool:
    """Whether an empty value stands for none in this field."""
    if made is None or field.drops_empty:
        return True
    return field.presence is Presence.NULL and field.sort is Sort.LIST


def _filled(field: Field) -> Any:
    if field.sort is _STRUCT and field.presence is Presence.ALWAYS:
        return empty(field.shape)
    return absent(field)


def note_repeats(tree: Tree, place: Place | None, reading: Reading) -> None:
    """Remembers the keys that stood in an object more than once."""
    assert isinstance(tree, Repeated)
    for key in tree.repeats:
        reading.note("duplicate field", place, key)


def _mistyped(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    reading.mistyped(value, wanted, place)
    return _NOTHING


def _number(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if type(value) is not Written else float(value)
    return _mistyped(wanted, value, place, reading)


def _list(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if not isinstance(value, list):
        return _mistyped(wanted, value, place, reading)
    item = wanted.item
    assert item is not None  # The tables give every list its items.
    sort = item.sort
    for index, entry in enumerate(value):
        if sort is _STRING and entry.__class__ is str:
            continue
        if sort is _STRUCT:
            if isinstance(entry, dict):
                _struct(item, entry, (place, index), reading)
                continue
            if entry is None:
                value[index] = empty(item)
                continue
        value[index] = _entry(item, entry, (place, index), reading)
    return value


def _map(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if not isinstance(value, dict):
        return _mistyped(wanted, value, place, reading)
    item = wanted.item
    assert item is not None  # The tables give every map its values.
    reading.keys += len(value)
    if isinstance(value, Repeated):
        for key, entry in value.pairs:
            if value[key] is not entry:
                _entry(item, entry, (place, key), reading)
    is_text = item.sort is _STRING
    for key, entry in value.items():
        if not (is_text and entry.__class__ is str):
            value[key] = _entry(item, entry, (place, key), reading)
    if value.__class__ is Repeated:
        note_repeats(value, place, reading)
    return value


def _entry(item: Shape, entry: Any, place: Place, reading: Reading) -> Any:
    """An entry of a list or a map; null is the zero value."""
    if entry is None:
        return empty(item) if item.sort is _STRUCT else item.zero
    made = _READERS[item.sort](item, entry, place, reading)
    return entry if made is _NOTHING else made


def _inner_struct(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, dict):
        return _struct(wanted, value, place, reading)
    return _mistyped(wanted, value, place, reading)


def _string(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    return value if isinstance(value, str) else _mistyped(wanted, value, place, reading)


def _integer(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if reading.converts:
        value = go_values.converted(value, wanted.bound)
    if value.__class__ is int and -wanted.bound <= value < wanted.bound:
        return value
    return _mistyped(wanted, value, place, reading)


def _boolean(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    return value if isinstance(value, bool) else _mistyped(wanted, value, place, reading)


def _quantity(_wanted: Shape, value: Any, _place: Place, _reading: Reading) -> Any:
    try:
        return quantities.canonical(_literal(value) if isinstance(value, Written) else value)
    except ValueError as refusal:
        raise Unreadable(str(refusal)) from None


def _integer_or_string(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, str) or (value.__class__ is int and -(1 << 31) <= value < 1 << 31):
        return value
    raise reading.unreadable(value, "int32", place)


def _time(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if not isinstance(value, str):
        raise reading.unreadable(value, "string", place)
    try:
        return go_values.moment(value)
    except ValueError as refusal:
        raise Unreadable(str(refusal)) from None


def _micro_time(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if not isinstance(value, str):
        raise reading.unreadable(value, "string", place)
    try:
        return go_values.micro_moment(value)
    except ValueError as refusal:
        raise Unreadable(str(refusal)) from None


def _bytes(wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if not isinstance(value, str):
        return _mistyped(wanted, value, place, reading)
    try:
        return go_values.binary(value)
    except ValueError as refusal:
        if reading.wrong is None:
            reading.wrong = str(refusal)
        return _NOTHING


def _any(_wanted: Shape, value: Any, _place: Place, reading: Reading) -> Any:
    if reading.careful:
        return plain(value)
    reading.keys += keys_in(value)
    return value


def _schema_or_boolean(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return _schema(value, place, reading)
    raise Unreadable("boolean or JSON schema expected")


def _schema_or_list(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, list):
        return [_schema(entry, place, reading) for entry in value]
    return _schema(value, place, reading) if isinstance(value, dict) else None


def _schema_or_strings(_wanted: Shape, value: Any, place: Place, reading: Reading) -> Any:
    if isinstance(value, list):
        return [_string(_TEXT, entry, place, reading) for entry in value]
    return _schema(value, place, reading) if isinstance(value, dict) else None


_TEXT = Shape(Sort.STRING, "string")


def _schema(value: Any, place: Place, reading: Reading) -> Any:
    """A schema inside a schema, which the reference reads without being strict."""
    inner = Reading(careful=reading.careful)
    made = _inner_struct(shape(_SCHEMA), value, place, inner)
    reading.keys += inner.keys
    reading.wrong = reading.wrong or inner.wrong
    return made


_READERS = {
    Sort.STRING: _string,
    Sort.INTEGER: _integer,
    Sort.BOOLEAN: _boolean,
    Sort.NUMBER: _number,
    Sort.STRUCT: _inner_struct,
    Sort.LIST: _list,
    Sort.MAP: _map,
    Sort.QUANTITY: _quantity,
    Sort.INTEGER_OR_STRING: _integer_or_string,
    Sort.TIME: _time,
    Sort.MICRO_TIME: _micro_time,
    Sort.BYTES: _bytes,
    Sort.SCHEMA_OR_BOOLEAN: _schema_or_boolean,
    Sort.SCHEMA_OR_LIST: _schema_or_list,
    Sort.SCHEMA_OR_STRINGS: _schema_or_strings,
    Sort.ANY: _any,
}
