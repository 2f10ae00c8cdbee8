"""Takes objects through a kind's rules as the verbs do, without a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from eachnode.server.field_errors import FieldError
from eachnode.server.kind import Call, Caller, Kind, Tree
from eachnode.server.schema import decode

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z
CALL = Call(Caller("tester"), NOW)
Faults = list[tuple[str, str]]


def body(kind: Kind, **fields: Any) -> Tree:
    """An object of this kind as somebody writes it; it is called `x` unless it says otherwise."""
    about = {"name": "x", **({"namespace": "ns"} if kind.resource.namespaced else {}), **fields.pop("metadata", {})}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": about, **fields}


def read(kind: Kind, **fields: Any) -> Tree:
    """The same, decoded and completed with defaults."""
    tree = decode(kind, msgspec.json.encode(body(kind, **fields)), CALL)
    kind.default(tree)
    return tree


def created(kind: Kind, **fields: Any) -> Tree:
    """The object as it would be stored."""
    tree = read(kind, **fields)
    kind.prepare_create(tree, CALL)
    return tree


def updated(kind: Kind, old: Tree, **fields: Any) -> Tree:
    """What a PUT makes of a stored object."""
    tree = read(kind, **fields)
    kind.prepare_update(tree, old, CALL)
    return tree


def faults(kind: Kind, **fields: Any) -> Faults:
    """What is wrong with a new object, as (field, message)."""
    return listed(kind.validate(created(kind, **fields)))


def update_faults(kind: Kind, old: Tree, **fields: Any) -> Faults:
    """What is wrong with a PUT."""
    new = updated(kind, old, **fields)
    own = [] if kind.whole_update else listed(kind.validate(new))
    return own + listed(kind.validate_update(new, old))


def status_faults(kind: Kind, old: Tree, **fields: Any) -> Faults:
    """What is wrong with a PUT to the status."""
    new = read(kind, **fields)
    kind.prepare_status(new, old, CALL)
    return listed(kind.validate_status(new, old))


def listed(errors: Iterable[FieldError]) -> Faults:
    """Errors as pairs."""
    return [(error.field, error.message) for error in errors]


def cells(kind: Kind, tree: Tree, *, now: float = NOW) -> dict[str, Any]:
    """A table row by the names of its columns."""
    assert kind.row is not None
    row = kind.row(tree, now)
    assert len(row) == len(kind.columns)
    return dict(zip([column.name for column in kind.columns], row, strict=True))
