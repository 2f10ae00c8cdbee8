"""JSON schemas from the field tables, in the two dialects: OpenAPI 2 (Swagger) and 3.

The dialects differ in where definitions live and in how a value of one of two types is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from eachnode.server.kind import Kind, Tree
from eachnode.server.schema.shapes import Field, Shape, Sort, shape

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META, LIST_META = f"{META}.ObjectMeta", f"{META}.ListMeta"
STATUS, DELETE_OPTIONS = f"{META}.Status", f"{META}.DeleteOptions"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIME, MICRO_TIME = f"{META}.Time", f"{META}.MicroTime"

Dialect = Literal[2, 3]
_PREFIX: Mapping[Dialect, str] = {2: "#/definitions/", 3: "#/components/schemas/"}
_SCALARS: Mapping[Sort, Tree] = {
    Sort.STRING: {"type": "string"},
    Sort.BOOLEAN: {"type": "boolean"},
    Sort.NUMBER: {"type": "number", "format": "double"},
    Sort.BYTES: {"type": "string", "format": "byte"},
    Sort.ANY: {"type": "object"},
}
_NAMED: Mapping[Sort, str] = {
    Sort.QUANTITY: QUANTITY,
    Sort.INTEGER_OR_STRING: INT_OR_STRING,
    Sort.TIME: TIME,
    Sort.MICRO_TIME: MICRO_TIME,
}
_EITHER: Tree = {"oneOf": [{"type": "string"}, {"type": "number"}]}
_LEAVES: Mapping[Dialect, Mapping[str, Tree]] = {
    2: {
        QUANTITY: {"type": "string"},
        INT_OR_STRING: {"type": "string", "format": "int-or-string"},
        TIME: {"type": "string", "format": "date-time"},
        MICRO_TIME: {"type": "string", "format": "date-time"},
    },
    3: {
        QUANTITY: _EITHER,
        INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        TIME: {"type": "string", "format": "date-time"},
        MICRO_TIME: {"type": "string", "format": "date-time"},
    },
}


@dataclass(slots=True)
class Definitions:
    """The schemas that a document needs, collected by following references."""

    dialect: Dialect
    custom: Callable[[Kind], Tree | None] = lambda _kind: None  # The schema that a custom kind was defined with.
    found: dict[str, Tree] = field(default_factory=dict)

    def reference(self, name: str) -> Tree:
        """A reference to a definition of the tables, which joins the document."""
        if name not in self.found:
            self.found[name] = {}  # A schema may hold itself.
            self.found[name] = _LEAVES[self.dialect].get(name) or self._struct(name)
        return {"$ref": _PREFIX[self.dialect] + name}

    def of_kind(self, kind: Kind) -> Tree:
        """A reference to the schema of a kind's objects."""
        name = definition_name(kind)
        if kind.definition:
            reference = self.reference(name)
        else:
            self.found[name] = self._custom(kind)
            reference = {"$ref": _PREFIX[self.dialect] + name}
        self.found[name]["x-kubernetes-group-version-kind"] = [gvk(kind)]
        return reference

    def list_of(self, kind: Kind) -> Tree:
        """A reference to the schema of a list of them."""
        name = f"{definition_name(kind)}List"
        items = {"type": "array", "items": self.of_kind(kind)}
        self.found[name] = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": items,
                "kind": {"type": "string"},
                "metadata": self.reference(LIST_META),
            },
            "x-kubernetes-group-version-kind": [{**gvk(kind), "kind": f"{kind.resource.kind}List"}],
        }
        return {"$ref": _PREFIX[self.dialect] + name}

    def _struct(self, name: str) -> Tree:
        try:
            known = shape(name)
        except KeyError:
            return {"type": "object"}
        tree: Tree = {"type": "object"}
        if known.fields:
            tree["properties"] = {member.name: self._field(member) for member in known.fields.values()}
        if known.atomic:
            tree["x-kubernetes-map-type"] = "atomic"
        return tree

    def _field(self, member: Field) -> Tree:
        tree = self._value(member.shape)
        possible = (("merge", member.shape.merges), ("retainKeys", member.shape.retains_keys))
        if strategies := [name for name, used in possible if used]:
            tree["x-kubernetes-patch-strategy"] = ",".join(strategies)
        if member.shape.merge_key:
            tree["x-kubernetes-patch-merge-key"] = member.shape.merge_key
        return tree

    def _value(self, known: Shape) -> Tree:
        if known.sort in _SCALARS:
            return dict(_SCALARS[known.sort])
        if known.sort in _NAMED:
            return self.reference(_NAMED[known.sort])
        item = self._value(known.item) if known.item is not None else {"type": "object"}
        match known.sort:
            case Sort.INTEGER:
                return {"type": "integer", "format": "int64" if known.bound > 1 << 31 else "int32"}
            case Sort.STRUCT:
                return self.reference(known.name)
            case Sort.LIST:
                return {"type": "array", "items": item, **_list_marks(known)}
            case Sort.MAP:
                return {"type": "object", "additionalProperties": item}
            case _:
                return {}

    def _custom(self, kind: Kind) -> Tree:
        """The schema of the definition, with what every object has."""
        tree = dict(self.custom(kind) or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        properties = dict(tree.get("properties") or {})
        properties["apiVersion"] = properties["kind"] = {"type": "string"}
        properties["metadata"] = self.reference(OBJECT_META)
        return {**tree, "properties": dict(sorted(properties.items()))}


def definition_name(kind: Kind) -> str:
    """The name of the schema of a kind's objects; custom kinds are named by their group, reversed."""
    if kind.definition:
        return kind.definition
    reverse = ".".join(reversed(kind.resource.group.split(".")))
    return f"{reverse}.{kind.resource.version}.{kind.resource.kind}"


def gvk(kind: Kind) -> Tree:
    """Group, version and kind as OpenAPI documents carry them."""
    return {"group": kind.resource.group, "kind": kind.resource.kind, "version": kind.resource.version}


def _list_marks(known: Shape) -> Tree:
    marks: Tree = {"x-kubernetes-list-type": known.relation}
    if known.relation == "map":
        marks["x-kubernetes-list-map-keys"] = list(known.keys)
    return marks
