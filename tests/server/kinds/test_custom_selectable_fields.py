"""Which fields of custom kinds can be selected by."""

from __future__ import annotations

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.custom_selectable_fields import validate_selectable_fields
from tests.server.kinds.judging import listed

SCALAR = "must point to a field of type string, boolean or integer"
SPEC: Tree = {
    "size": {"type": "integer"},
    "mode": {"type": "string", "enum": ["a"]},
    "ratio": {"type": "number"},
    "port": {"x-kubernetes-int-or-string": True},
    "list": {"type": "array", "items": {"type": "string"}},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
}
METADATA: Tree = {"type": "object", "properties": {"name": {"type": "string"}}}
SCHEMA: Tree = {"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}, "metadata": METADATA}}


def faults(*paths: str) -> list[tuple[str, str]]:
    return listed(validate_selectable_fields([{"jsonPath": path} for path in paths], SCHEMA, "fields"))


@pytest.mark.parametrize("path", [".spec.size", ".spec.mode", ".spec.map.anything"])
def test_a_declared_scalar_can_be_selected_by(path: str) -> None:
    assert faults(path) == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".spec", SCALAR),
        (".spec.ratio", SCALAR),
        (".spec.port", SCALAR),
        (".spec.list", SCALAR),
        (".spec.nothing", "is an invalid path: does not refer to a valid field"),
        (".spec.size.x", "is an invalid path: does not refer to a valid field"),
        ("..spec", "is an invalid path: does not refer to a valid field"),
        (".spec.list[0]", "is an invalid path: array notation is not allowed"),
        ("[spec]", "is an invalid path: array notation is not allowed"),
        ("spec.size", "is an invalid path: expected [ or . but got: spec"),
        (".", "is an invalid path: unexpected end of JSON path"),
        (".metadata.name", "must not point to fields in metadata"),
    ],
)
def test_what_cannot_be_selected_by_is_told(path: str, problem: str) -> None:
    ((field, message),) = faults(path)
    assert field == "fields[0].jsonPath"
    assert message.startswith(f'Invalid value: "{path}": {problem}')


def test_paths_are_given_and_each_once_and_not_too_many() -> None:
    assert faults("") == [("fields[0].jsonPath", "Required value")]
    assert faults(".spec.size", ".spec.size") == [("fields[1].jsonPath", 'Duplicate value: ".spec.size"')]
    assert faults(*(f".spec.map.k{number}" for number in range(9))) == [
        ("fields", "Too many: 9: must have at most 8 items")
    ]
