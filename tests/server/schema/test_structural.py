"""Structural schemas: pruning, defaults, and what is wrong with a value."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from eachnode.server.schema.structural import PRESERVE, Structure, fill_in, has_rules, prune
from eachnode.server.schema.structural_validation import validate, validate_lists
from tests.server.schema.calls import Tree


def struct(**properties: Tree) -> Tree:
    return {"type": "object", "properties": properties}


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "value", "kept", "unknown"),
    [
        (struct(a=STRING), {"a": "x", "b": 1}, {"a": "x"}, ["b"]),
        (struct(a=struct(b=STRING)), {"a": {"b": "x", "c": 1}}, {"a": {"b": "x"}}, ["a.c"]),
        (struct(a={"type": "array", "items": struct(b=STRING)}), {"a": [{"c": 1}]}, {"a": [{}]}, ["a[0].c"]),
        (
            {"type": "object", "additionalProperties": struct(b=STRING)},
            {"x": {"b": "", "c": 1}},
            {"x": {"b": ""}},
            ["x.c"],
        ),
        ({"type": "object", "additionalProperties": True}, {"x": {"b": 1}}, {"x": {}}, ["x.b"]),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"x": {"b": 1}}, {"x": {"b": 1}}, []),
        (
            {**struct(a=struct(b=STRING)), "x-kubernetes-preserve-unknown-fields": True},
            {"a": {"c": 1}, "d": {"e": 1}},
            {"a": {}, "d": {"e": 1}},
            ["a.c"],
        ),
        (
            struct(t={**struct(spec=struct()), "x-kubernetes-embedded-resource": True}),
            {"t": {"kind": "K", "metadata": {"name": "x"}, "spec": {}, "data": 1}},
            {"t": {"kind": "K", "metadata": {"name": "x"}, "spec": {}}},
            ["t.data"],
        ),
    ],
)
def test_what_is_not_declared_is_pruned_and_named(schema: Tree, value: Tree, kept: Tree, unknown: list[str]) -> None:
    found: list[str] = []
    prune(schema, value, found)
    assert value == kept
    assert found == [f'unknown field "{name}"' for name in unknown]


def test_defaults_fill_what_is_absent_and_nulls_that_may_not_be() -> None:
    schema = struct(
        a={**STRING, "default": "x"},
        b={**STRING, "default": "y", "nullable": True},
        c={**struct(d={**INTEGER, "default": 1}), "default": {}},
        e={"type": "array", "items": struct(f={**INTEGER, "default": 2})},
        g={"type": "object", "additionalProperties": struct(h={**INTEGER, "default": 3})},
        i=struct(j={**INTEGER, "default": 4}),
    )
    tree: Tree = {"a": None, "b": None, "e": [{}, {"f": 9}], "g": {"k": {}}}
    Structure(schema).default(tree)
    assert tree == {"a": "x", "b": None, "c": {"d": 1}, "e": [{"f": 2}, {"f": 9}], "g": {"k": {"h": 3}}}


def test_nulls_that_may_not_be_go_where_there_is_no_default() -> None:
    many = {"type": "object", "additionalProperties": STRING}
    tree: Tree = {"a": None, "b": None, "m": {"x": None, "y": "z"}, "l": [None]}
    fill_in(struct(a=STRING, b={**STRING, "nullable": True}, m=many, l={"type": "array", "items": STRING}), tree)
    assert tree == {"b": None, "m": {"y": "z"}, "l": [None]}


def test_the_metadata_of_an_embedded_object_is_that_of_any_object() -> None:
    schema = struct(pod={"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True})
    tree: Tree = {"pod": {"metadata": {"name": "x", "colour": "red"}, "more": 1}}
    unknown: list[str] = []
    prune(schema, tree, unknown)
    assert tree == {"pod": {"metadata": {"name": "x"}, "more": 1}}
    assert unknown == ['unknown field "pod.metadata.colour"']


def test_what_is_wrong_with_a_status_is_told_as_if_it_stood_alone() -> None:
    structure = Structure(struct(status=struct(ok={"type": "boolean"})))
    (error,) = structure.validate_status({"status": {"ok": "maybe"}})
    assert error.field == "status.ok"
    assert error.message == 'Invalid value: "string": ok in body must be of type boolean: "string"'


def test_defaults_are_not_shared_between_objects() -> None:
    structure = Structure(struct(a={"type": "array", "items": STRING, "default": []}))
    first: Tree = {}
    structure.default(first)
    first["a"].append("x")
    second: Tree = {}
    structure.default(second)
    assert second == {"a": []}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INTEGER, "x", 'Invalid value: "string": s.v in body must be of type integer: "string"'),
        (STRING, None, 'Invalid value: "null": s.v in body must be of type string: "null"'),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'Invalid value: "boolean": s.v in body must be of type integer,string: "boolean"',
        ),
        ({**INTEGER, "minimum": 1}, 0, "Invalid value: 0: s.v in body should be greater than or equal to 1"),
        (
            {**INTEGER, "minimum": 1, "exclusiveMinimum": True},
            1,
            "Invalid value: 1: s.v in body should be greater than 1",
        ),
        ({"type": "number", "maximum": 1.5}, 2, "Invalid value: 2: s.v in body should be less than or equal to 1.5"),
        ({**INTEGER, "multipleOf": 5}, 7, "Invalid value: 7: s.v in body should be a multiple of 5"),
        ({**STRING, "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        ({**STRING, "minLength": 2}, "a", 'Invalid value: "a": s.v in body should be at least 2 chars long'),
        ({**STRING, "pattern": "^a+$"}, "ab", "Invalid value: \"ab\": s.v in body should match '^a+$'"),
        ({**STRING, "pattern": "^a+$"}, "a\n", "Invalid value: \"a\\n\": s.v in body should match '^a+$'"),
        ({**STRING, "enum": ["a", "b"]}, "z", 'Unsupported value: "z": supported values: "a", "b"'),
        ({**INTEGER, "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        ({**STRING, "format": "date"}, "x", 'Invalid value: "x": s.v in body must be of type date: "x"'),
        ({**STRING, "format": "ipv4"}, "1.2.3", 'Invalid value: "1.2.3": s.v in body must be of type ipv4: "1.2.3"'),
        ({"type": "array", "items": STRING, "maxItems": 1}, ["a", "b"], "Too many: 2: must have at most 1 items"),
        (
            {"type": "array", "items": STRING, "minItems": 1},
            [],
            "Invalid value: 0: s.v in body should have at least 1 items",
        ),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, "Too many: 2: must have at most 1 items"),
        ({"type": "object", "minProperties": 1}, {}, "Invalid value: 0: s.v in body should have at least 1 properties"),
    ],
)
def test_a_wrong_value_is_told_in_the_references_words(schema: Tree, value: Any, message: str) -> None:
    (error,) = validate(struct(s=struct(v=schema)), {"s": {"v": value}})
    assert (error.field, error.message) == ("s.v", message)


def test_a_fraction_where_a_whole_number_is_wanted_is_told_by_its_type_and_by_its_size() -> None:
    for wanted, kind, found, how in (
        ({}, "integer", "number", "(default format)"),
        ({"format": "int32"}, "int32", "float64", "with format int32"),
    ):
        errors = list(validate(struct(v={**INTEGER, **wanted}), {"v": 1.5}))
        assert [(error.field, error.message) for error in errors] == [
            ("v", f'Invalid value: "{found}": v in body must be of type {kind}: "{found}"'),
            ("<nil>", f'Invalid value: "": Checked value must be of type integer {how} in v'),
        ]


def test_a_value_is_named_by_its_format_where_one_is_wanted() -> None:
    schema = {**INTEGER, "format": "int32"}
    for value, found in (({}, ""), (True, ""), (2**70, "float64")):
        errors = list(validate(struct(v=schema), {"v": value}))
        assert errors[0].message == f'Invalid value: "{found}": v in body must be of type int32: "{found}"'
    (error,) = validate(struct(v=schema), {"v": "x"})
    assert error.message == 'Invalid value: "string": v in body must be of type integer: "string"'


@pytest.mark.parametrize(
    ("name", "fits"),
    [("a", True), ("a.b", False), ("a.example.com", True), ("x=", True), ("büro.de", True), ("a.b1", False),
     ("-a", False), ("a" * 64, False), ("", False), ("a..bc", False)],
)  # fmt: skip
def test_host_names_are_those_of_the_reference(name: str, fits: bool) -> None:
    assert bool(list(validate({**STRING, "format": "hostname"}, name))) != fits


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INTEGER, 2.0),
        ({"type": "number"}, 2),
        ({**STRING, "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True}, "5%"),
        ({**STRING, "format": "no-such-format"}, "x"),
        ({**STRING, "pattern": "b"}, "abc"),
        ({**INTEGER, "enum": [1, 2]}, 2),
        ({"x-kubernetes-preserve-unknown-fields": True}, {"any": [1]}),
    ],
)
def test_a_good_value_passes(schema: Tree, value: Any) -> None:
    assert not list(validate(schema, value, "v"))


def test_required_fields_and_entries_are_told_with_their_places() -> None:
    schema = struct(
        s={**struct(l={"type": "array", "items": {**struct(x=INTEGER), "required": ["x"]}}), "required": ["t"]}
    )
    errors = [(error.field, error.reason) for error in validate(schema, {"s": {"l": [{"x": "1"}, {}]}})]
    assert errors == [
        ("s.l[0].x", "FieldValueTypeInvalid"),
        ("s.l[1].x", "FieldValueRequired"),
        ("s.t", "FieldValueRequired"),
    ]


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"anyOf": [INTEGER, {"type": "boolean"}]}, "x", '"v" must validate at least one schema (anyOf)'),
        (
            {"oneOf": [INTEGER, {"minimum": 1}]},
            5,
            '"v" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        (
            {"oneOf": [INTEGER, {"type": "boolean"}]},
            "x",
            '"v" must validate one and only one schema (oneOf). Found none valid',
        ),
        ({"allOf": [INTEGER, {"minimum": 9}]}, 5, '"v" must validate all the schemas (allOf)'),
        ({"not": {"enum": [5]}}, 5, '"v" must not validate the schema (not)'),
    ],
)
def test_junctors_are_told(schema: Tree, value: Any, sentence: str) -> None:
    assert f'Invalid value: "": {sentence}' in [error.message for error in validate(schema, value, "v")]


def test_entries_that_are_the_same_are_told_once() -> None:
    items = {"type": "object", "properties": {"id": STRING, "n": INTEGER}}
    lists = struct(
        s={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        m={"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    value = {"s": ["a", "b", "a", "a"], "m": [{"id": "x", "n": 1}, {"id": "x", "n": 2}]}
    errors = [(error.field, error.message) for error in validate_lists(lists, copy.deepcopy(value), "")]
    assert errors == [("s[2]", 'Duplicate value: "a"'), ("m[1]", 'Duplicate value: {"id":"x"}')]


def test_rules_are_found_wherever_they_stand() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "self.a > 1"}]}
    assert has_rules(struct(a={"type": "array", "items": {**struct(), **rule}}))
    assert not has_rules(struct(a=STRING))
