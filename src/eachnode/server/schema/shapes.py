"""What the values of each kind look like: one shape for each type, compiled from the field tables when first needed.

The tables are data (`tables.json`, written by scripts/make_field_tables.py, which explains the words in it). A shape
says of which sort a value is, which fields or items it has, who owns it in server-side apply (as a whole or in parts),
and how a strategic merge joins it. Custom kinds get shapes of the same sort from their structural schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from eachnode.server.kind import Tree

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Sort(IntEnum):
    """How a value is read and written."""

    STRING = 1
    INTEGER = 2
    BOOLEAN = 3
    NUMBER = 4
    STRUCT = 5
    LIST = 6
    MAP = 7
    QUANTITY = 8
    INTEGER_OR_STRING = 9
    TIME = 10
    MICRO_TIME = 11
    BYTES = 12
    SCHEMA_OR_BOOLEAN = 13
    SCHEMA_OR_LIST = 14
    SCHEMA_OR_STRINGS = 15
    ANY = 16


class Presence(IntEnum):
    """When a field is written."""

    NOT_EMPTY = 1
    GIVEN = 2
    DEMANDED = 3  # By validation: to others it is null when it is absent.
    ALWAYS = 4
    NULL = 5


_PRESENCE = {"o": Presence.NOT_EMPTY, "p": Presence.GIVEN, "k": Presence.DEMANDED}
_PRESENCE |= {"a": Presence.ALWAYS, "n": Presence.NULL}
_SCALARS = {
    "string": (Sort.STRING, "string"),
    "int32": (Sort.INTEGER, "int32"),
    "int64": (Sort.INTEGER, "int64"),
    "bool": (Sort.BOOLEAN, "bool"),
    "double": (Sort.NUMBER, "float64"),
    "bytes": (Sort.BYTES, "[]uint8"),
    "quantity": (Sort.QUANTITY, "resource.Quantity"),
    "int_or_string": (Sort.INTEGER_OR_STRING, "intstr.IntOrString"),
    "time": (Sort.TIME, "v1.Time"),
    "micro_time": (Sort.MICRO_TIME, "v1.MicroTime"),
    "any": (Sort.ANY, "interface {}"),
    "schema_or_bool": (Sort.SCHEMA_OR_BOOLEAN, "v1.JSONSchemaPropsOrBool"),
    "schema_or_array": (Sort.SCHEMA_OR_LIST, "v1.JSONSchemaPropsOrArray"),
    "schema_or_strings": (Sort.SCHEMA_OR_STRINGS, "v1.JSONSchemaPropsOrStringArray"),
}
_ZERO = {Sort.STRING: "", Sort.INTEGER: 0, Sort.BOOLEAN: False, Sort.NUMBER: 0, Sort.QUANTITY: "0"}
_ZERO |= {Sort.INTEGER_OR_STRING: 0, Sort.BYTES: ""}
_PLAIN: dict[Sort, type] = {Sort.STRING: str, Sort.INTEGER: int, Sort.BOOLEAN: bool}
_RANGE = {"int32": 1 << 31, "int64": 1 << 63}


@dataclass(slots=True, eq=False)
class Shape:
    """One type of values."""

    sort: Sort
    go: str  # What Go's errors call it.
    name: str = ""  # The definition of a struct.
    bound: int = 0  # Whole numbers are below this, and not below its negative.
    fields: dict[str, Field] = field(default_factory=dict)
    always: tuple[tuple[str, Field], ...] = ()  # The fields written though nobody gave them.
    item: Shape | None = None  # Of a list or a map.
    atomic: bool = False  # One owner holds all of it.
    relation: Literal["atomic", "set", "map"] = "atomic"  # How a list's entries are told apart.
    keys: tuple[str, ...] = ()  # By which fields, if it is a list map.
    key_defaults: dict[str, object] = field(default_factory=dict)  # Of a struct: what an absent key counts as.
    merges: bool = False  # A strategic merge joins lists instead of replacing them,
    merge_key: str = ""  # by this field; without one as a set of scalars.
    retains_keys: bool = False  # $retainKeys is understood.
    open: bool = False  # Of a custom kind: fields beyond those named are kept.

    @property
    def owned_whole(self) -> bool:
        """Whether every value has one owner: scalars, and what is atomic."""
        if self.sort is Sort.LIST:
            return self.relation == "atomic"
        if self.sort in (Sort.STRUCT, Sort.MAP):
            return self.atomic
        return self.sort is not Sort.ANY or not self.open

    @property
    def zero(self) -> object:
        """What a field of this type holds when nothing was said."""
        return _ZERO.get(self.sort)


@dataclass(slots=True, eq=False)
class Field:
    """One field of a struct."""

    name: str
    shape: Shape
    sort: Sort
    presence: Presence
    owner: str  # The Go struct it belongs to,
    embedded: str = ""  # and the struct inside it that declares it.
    drops_empty: bool = False  # An empty value is the same as none.
    plain: type | None = None  # The Python type of a value that needs no reading.
    step: str = ""  # How sets of fields spell it.
    owned_whole: bool = False  # It has one owner, whatever its value.

    def __post_init__(self) -> None:
        self.drops_empty = self.presence is Presence.NOT_EMPTY
        self.plain = _PLAIN.get(self.sort)
        self.step = f"f:{self.name}"
        self.owned_whole = self.shape.owned_whole


class _Tables(msgspec.Struct):
    definitions: dict[str, dict[str, str]]
    kinds: dict[str, str]


@cache
def _tables() -> _Tables:
    raw = resources.files(__package__).joinpath("tables.json").read_bytes()
    return msgspec.json.decode(raw, type=_Tables)


@cache
def shape(definition: str) -> Shape:
    """The shape of a definition of the tables; raises KeyError when there is none."""
    lines = _tables().definitions[definition]
    made = Shape(Sort.STRUCT, _go_name(definition), definition, atomic=lines.get("") == "map=atomic")
    _UNDER_WAY[definition] = made  # A JSON schema holds JSON schemas.
    owner = definition.rpartition(".")[2]
    for name, line in lines.items():
        if name:
            made.fields[name] = _field(name, line, owner, made)
    made.always = tuple((f.name, f) for f in made.fields.values() if f.presence >= Presence.ALWAYS)
    _UNDER_WAY.pop(definition)
    return made


_UNDER_WAY: dict[str, Shape] = {}


_UNDESCRIBED = ("List", "PodStatusResult", "RangeAllocation", "SerializedReference")  # Kinds without a schema.


def known_kinds(api_version: str) -> frozenset[str]:
    """The kinds that the reference knows under an apiVersion, whether they are served here or not."""
    return frozenset((*_tables().kinds.get(api_version, "").split(), *(_UNDESCRIBED if api_version == "v1" else ())))


def empty(shape: Shape) -> Tree:
    """A struct of which nothing was said: its fields that are always written."""
    tree: Tree = {}
    for name, member in shape.always:
        is_struct = member.sort is Sort.STRUCT and member.presence is Presence.ALWAYS
        tree[name] = empty(member.shape) if is_struct else absent(member)
    return tree


def absent(member: Field) -> object:
    """What is written for a scalar that is always written and was not given."""
    return None if member.presence is Presence.NULL else member.shape.zero


def _field(name: str, line: str, owner: str, holder: Shape) -> Field:
    kind, presence, *words = line.split()
    said = dict(word.partition("=")[::2] for word in words)
    made = _type(kind)
    if said.keys() - {"in", "default"}:
        made = _special(made, said)
    if "default" in said:
        holder.key_defaults[name] = said["default"]
    elif presence == "a" and made.zero is not None:
        holder.key_defaults[name] = made.zero
    return Field(name, made, made.sort, _PRESENCE[presence], owner, said.get("in", ""))


def _special(made: Shape, said: dict[str, str]) -> Shape:
    """A shape of its own for a field that says more than its type."""
    own = Shape(made.sort, said.get("go", made.go), made.name, made.bound, made.fields, made.always, made.item)
    own.atomic = made.atomic or said.get("map") == "atomic"
    own.key_defaults = made.key_defaults
    if own.sort is Sort.LIST:
        own.relation = said.get("list", "atomic")  # type: ignore[assignment]  # the script writes only these three
        own.keys = tuple(said["keys"].split(",")) if "keys" in said else ()
        own.merges, own.merge_key = "merge" in said, said.get("merge", "")
    own.retains_keys = "retain" in said
    if "go" in said and own.item is not None:
        own.item = _named_item(own.item, said["go"])
    return own


def _named_item(item: Shape, go: str) -> Shape:
    """The items of a list or map whose Go type names theirs."""
    named = go[2:] if go.startswith("[]") else go.partition("]")[2]
    if not named or named == item.go:
        return item
    return Shape(item.sort, named, item.name, item.bound, item.fields, item.always, item.item)


@cache
def _type(kind: str) -> Shape:
    """The shape of a type as the tables write it."""
    if kind.startswith("[]"):
        item = _type(kind[2:])
        return Shape(Sort.LIST, f"[]{item.go}", item=item)
    if kind.startswith("{}"):
        item = _type(kind[2:])
        return Shape(Sort.MAP, f"map[string]{item.go}", item=item)
    if kind in _SCALARS:
        sort, go = _SCALARS[kind]
        return Shape(sort, go, bound=_RANGE.get(kind, 0))
    return _UNDER_WAY.get(kind) or shape(kind)


def _go_name(definition: str) -> str:
    return f"v1.{definition.rpartition('.')[2]}"
