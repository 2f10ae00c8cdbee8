"""Definitions of custom kinds are completed and judged as the reference does it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.custom_resource_definitions import CUSTOM_RESOURCE_DEFINITION
from tests.server.kinds.judging import CALL, cells, created, listed, read, update_faults

NAME = "widgets.example.com"


def spec(schema: Tree | None = None, **changes: Any) -> Tree:
    version = {"name": "v1", "served": True, "storage": True, **changes.pop("version", {})}
    version["schema"] = {"openAPIV3Schema": schema if schema is not None else {"type": "object"}}
    return {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [version],
        **changes,
    }


def faults(wanted: Tree, name: str = NAME) -> list[tuple[str, str]]:
    tree = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": name}, spec=wanted)
    return listed(CUSTOM_RESOURCE_DEFINITION.validate(tree))


def test_names_and_conversion_have_defaults() -> None:
    tree = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec())
    assert tree["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert tree["spec"]["conversion"] == {"strategy": "None"}
    assert tree["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert tree["metadata"]["generation"] == 1


def test_a_plain_definition_is_good() -> None:
    assert faults(spec()) == []


@pytest.mark.parametrize(
    ("wanted", "field", "message"),
    [
        (spec(group="example"), "spec.group", 'Invalid value: "example": should be a domain with at least one dot'),
        (spec(group=""), "spec.group", "Required value"),
        (
            spec(scope="Everywhere"),
            "spec.scope",
            'Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"',
        ),
        (spec(scope=""), "spec.scope", "Required value"),
        (spec(names={"plural": "widgets"}), "spec.names.kind", "Required value"),
        (
            spec(names={"plural": "widgets", "kind": "Widget", "listKind": "Widget"}),
            "spec.names.listKind",
            'Invalid value: "Widget": kind and listKind may not be the same',
        ),
        (
            spec(version={"storage": False}),
            "spec.versions",
            "must have exactly one version marked as storage version",
        ),
        (
            spec(version={"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]}),
            "spec.additionalPrinterColumns[0].type",
            'Invalid value: "text": must be one of boolean,date,integer,number,string',
        ),
        (
            spec(version={"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": "a"}]}),
            "spec.additionalPrinterColumns[0].JSONPath",
            'Invalid value: "a": must be a simple json path starting with .',
        ),
        (
            spec(conversion={"strategy": "Sometimes"}),
            "spec.conversion.strategy",
            'Unsupported value: "Sometimes": supported values: "None", "Webhook"',
        ),
        (
            spec(conversion={"strategy": "Webhook"}),
            "spec.conversion.strategy",
            "Forbidden: conversion by webhook is not supported by this server: use None",
        ),
        (
            spec(version={"deprecationWarning": "old"}),
            "spec.versions[0].deprecationWarning",
            'Invalid value: "old": can only be set for deprecated versions',
        ),
    ],
)
def test_a_bad_definition_is_refused(wanted: Tree, field: str, message: str) -> None:
    name = f"widgets.{wanted['group']}"
    assert any(place == field and message in told for place, told in faults(wanted, name))


def test_its_name_is_made_of_plural_and_group() -> None:
    assert faults(spec(), "gadgets.example.com") == [
        ("metadata.name", 'Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group')
    ]


SCHEMA = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize(
    ("schema", "field", "message"),
    [
        ({}, "type", "Required value: must not be empty at the root"),
        ({"type": "array", "items": {"type": "string"}}, "type", 'Invalid value: "array": must be object at the root'),
        (
            {"type": "object", "properties": {"a": {}}},
            "properties[a].type",
            "Required value: must not be empty for specified object fields",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array"}}},
            "properties[a].items",
            "Required value: must be specified",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "text"}}},
            "properties[a].type",
            'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "additionalProperties",
            "Forbidden: must not be used at the root",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            "properties[a].pattern",
            'Invalid value: "(": must be a valid regular expression',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            "properties[a].default",
            'Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "object", "default": {"b": 1}}}},
            "properties[a].default",
            "must not have unknown fields",
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            "properties[metadata]",
            "Forbidden: must not specify anything other than name and generateName, "
            "but metadata is implicitly specified",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}},
            },
            "properties[a].x-kubernetes-list-map-keys",
            "Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"type": "string"}]}}},
            "properties[a].anyOf[0].type",
            "Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "uniqueItems": True},
            "uniqueItems",
            "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}},
            },
            "properties[a].x-kubernetes-preserve-unknown-fields",
            "must be false if x-kubernetes-int-or-string is true",
        ),
    ],
)
def test_a_schema_must_be_structural(schema: Tree, field: str, message: str) -> None:
    place = field if field.startswith("spec.") else f"{SCHEMA}.{field}"
    assert any(found == place and message in told for found, told in faults(spec(schema)))


def test_the_usual_int_or_string_is_structural() -> None:
    usual = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    assert faults(spec({"type": "object", "properties": {"a": usual}})) == []


def test_a_storage_version_is_remembered_and_must_stay() -> None:
    old = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec())
    both = spec()
    both["versions"] = [{**both["versions"][0], "storage": False}, {**copy.deepcopy(both["versions"][0]), "name": "v2"}]
    new = read(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=both)
    CUSTOM_RESOURCE_DEFINITION.prepare_update(new, old, CALL)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert new["metadata"]["generation"] == 2
    gone = {**both, "versions": both["versions"][1:]}
    assert any(
        place == "status.storedVersions[0]"
        for place, _ in update_faults(CUSTOM_RESOURCE_DEFINITION, new, metadata={"name": NAME}, spec=gone)
    )


def test_its_kind_does_not_change_once_it_is_established() -> None:
    old = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec())
    other = spec(names={"plural": "widgets", "kind": "Gadget"})
    changed = ("spec.names.kind", 'Invalid value: "Gadget": field is immutable')
    assert changed not in update_faults(CUSTOM_RESOURCE_DEFINITION, old, metadata={"name": NAME}, spec=other)
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert changed in update_faults(CUSTOM_RESOURCE_DEFINITION, old, metadata={"name": NAME}, spec=other)


def test_rules_in_cel_are_warned_of() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}
    tree = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec(schema))
    assert any("does not evaluate" in warning for warning in CUSTOM_RESOURCE_DEFINITION.warn(tree, None))


def test_a_row_says_what_is_served_and_under_which_names() -> None:
    wanted = spec(names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd", "wi"]})
    older = {**copy.deepcopy(wanted["versions"][0]), "name": "v1beta1", "storage": False}
    unserved = {**older, "name": "v0", "served": False}
    tree = created(
        CUSTOM_RESOURCE_DEFINITION,
        metadata={"name": NAME},
        spec={**wanted, "versions": [older, *wanted["versions"], unserved]},
    )
    row = cells(CUSTOM_RESOURCE_DEFINITION, tree)
    assert (row["Name"], row["Scope"], row["Versions"]) == (NAME, "Namespaced", "v1(storage),v1beta1")
    assert (row["Group"], row["Kind"], row["ShortNames"]) == ("example.com", "Widget", "wd,wi")
    assert row["Established"] is False
    tree["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert cells(CUSTOM_RESOURCE_DEFINITION, tree)["Established"] is True


@pytest.mark.parametrize("asked", [{}, {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}])
def test_a_kind_has_a_status_of_its_own_only_where_it_is_asked_for(asked: Tree) -> None:
    wanted = spec(version={"subresources": asked})
    tree = created(CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=wanted)
    assert tree["spec"]["versions"][0]["subresources"] == asked
    status = created(
        CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec(version={"subresources": {"status": {}}})
    )
    assert status["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_what_all_versions_say_alike_is_told_once_beside_them() -> None:
    wrong: Tree = {"type": "text"}
    other = spec(wrong)["versions"][0] | {"name": "v2", "storage": False}
    message = 'Invalid value: "text": must be object at the root'
    alike = {**spec(wrong), "versions": [*spec(wrong)["versions"], other]}
    assert [field for field, told in faults(alike) if told == message] == ["spec.validation.openAPIV3Schema.type"]
    other["schema"] = {"openAPIV3Schema": {"type": "object"}}
    assert [field for field, told in faults(alike) if told == message] == [
        "spec.versions[0].schema.openAPIV3Schema.type"
    ]
    del other["schema"]
    assert ("spec.versions[1].schema.openAPIV3Schema", "Required value") in faults(alike)


def test_formats_that_restrict_nothing_are_warned_of() -> None:
    fields = {"a": {"type": "integer", "format": "big"}, "b": {"type": "string", "format": "date"},
              "c": {"type": "number", "format": "double"}}  # fmt: skip
    tree = read(
        CUSTOM_RESOURCE_DEFINITION, metadata={"name": NAME}, spec=spec({"type": "object", "properties": fields})
    )
    assert list(CUSTOM_RESOURCE_DEFINITION.warn(tree, None)) == ['unrecognized format "big"']
