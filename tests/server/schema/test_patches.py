"""JSON patches and merge patches, and what is said of bad ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.objects.status import ApiError, BadRequest, Invalid, TooLarge, UnsupportedMediaType
from eachnode.server.kind import Kind
from eachnode.server.schema import JSON, MERGE, STRATEGIC, languages, patched
from eachnode.server.schema.json_patch import DoesNotApply, patch_json
from eachnode.server.schema.merge_patch import patch_merge
from tests.server.schema.calls import DAEMON_SET, NODE, POD, Tree, a_call, custom, read


def op(name: str, path: str, **more: Any) -> Tree:
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([op("add", "/b", value=2)], {"a": [1, 2], "b": 2}),
        ([op("add", "/a/1", value=9)], {"a": [1, 9, 2]}),
        ([op("add", "/a/-", value=9)], {"a": [1, 2, 9]}),
        ([op("add", "/a/-1", value=9)], {"a": [1, 2, 9]}),
        ([op("remove", "/a/0")], {"a": [2]}),
        ([op("remove", "/a/-1")], {"a": [1]}),
        ([op("replace", "/a", value=3)], {"a": 3}),
        ([op("replace", "/missing", value=3)], {"a": [1, 2], "missing": 3}),
        ([op("move", "/b", **{"from": "/a/0"})], {"a": [2], "b": 1}),
        ([op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", value=3)], {"a": [1, 2], "b": [1, 2, 3]}),
        ([op("test", "/a", value=[1, 2]), op("test", "/none", value=None)], {"a": [1, 2]}),
        ([op("test", "", value={"a": [1.0, 2]})], {"a": [1, 2]}),
        ([op("add", "/x~1y~0z", value=1)], {"a": [1, 2], "x/y~z": 1}),
        ([op("replace", "", value={"b": 1})], {"b": 1}),
    ],
)
def test_operations_are_carried_out(operations: list[Tree], result: Tree) -> None:
    assert patch_json({"a": [1, 2]}, operations) == result


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/a", value=[2, 1]),
        op("test", "/a/0", value=True),
        op("remove", "/b"),
        op("remove", "/a/2"),
        op("add", "/a/4", value=1),
        op("add", "/a/x", value=1),
        op("add", "/b/c", value=1),
        op("add", "a", value=1),  # Without any slash; what stands before the first one does not matter.
        op("replace", "/a/7", value=1),
        op("move", "/b", **{"from": "/c"}),
        op("copy", "/b"),
        op("frobnicate", "/a"),
        {"path": "/a"},
        {"op": "add", "value": 1},
    ],
)
def test_an_operation_that_does_not_apply_is_refused(operation: Tree) -> None:
    with pytest.raises(DoesNotApply):
        patch_json({"a": [1, 2]}, [operation])


def test_copies_cannot_double_a_document_for_ever() -> None:
    doubling = [op("copy", "/a/-", **{"from": "/a"})] * 40
    with pytest.raises(DoesNotApply, match="unable to complete the copy"):
        patch_json({"a": ["x" * 1000]}, doubling)


TREES = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.integers() | st.lists(st.integers(), max_size=2),
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=8,
    ),
)


def test_what_a_merge_patch_touches_has_its_keys_in_order() -> None:
    made = patch_merge({"z": {"y": 1, "x": 2}, "a": {}}, {"a": {"n": 1, "m": [{"q": 1, "p": 2}]}})
    assert json.dumps(made) == '{"a": {"m": [{"p": 2, "q": 1}], "n": 1}, "z": {"y": 1, "x": 2}}'


def test_a_merge_patch_changes_and_removes() -> None:
    tree = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert patch_merge(tree, {"a": {"b": None, "c": [3]}, "e": {"f": None, "g": 1}}) == {
        "a": {"c": [3]},
        "d": 4,
        "e": {"g": 1},
    }


@given(TREES, TREES)
def test_merging_twice_is_merging_once(tree: Tree, patch: Tree) -> None:
    once = patch_merge(copy.deepcopy(tree), copy.deepcopy(patch))
    assert patch_merge(copy.deepcopy(once), copy.deepcopy(patch)) == once


NODE_TREE: Tree = {"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"unschedulable": True}}


def change(kind: Kind, body: Any, language: str, strict: Any = "Warn") -> tuple[Tree, list[str]]:
    call = a_call(strict=strict)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return patched(kind, read(NODE, copy.deepcopy(NODE_TREE)), raw, language, call), call.warnings


@pytest.mark.parametrize(
    ("body", "language", "wanted", "sentence"),
    [
        (b"{bad", JSON, BadRequest, "invalid JSON patch"),
        (
            {"a": 1},
            JSON,
            BadRequest,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            [op("add", "/a"), op("add", 5)],  # type: ignore[arg-type]  # a path must be a text
            JSON,
            BadRequest,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (
            [op("test", "/metadata/name", value="x")],
            JSON,
            Invalid,
            "the server rejected our request due to an error in our request",
        ),
        (
            [op("test", "/metadata/name", value="n")] * 10_001,
            JSON,
            TooLarge,
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
        (
            [1],
            MERGE,
            BadRequest,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (b"null", MERGE, BadRequest, "Invalid JSON Patch"),
        (
            [1],
            STRATEGIC,
            BadRequest,
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            {"spec": {"unschedulable": "x"}},
            STRATEGIC,
            Invalid,
            ' "" is invalid: patch: Invalid value: "map[spec:map[unschedulable:x]]": unrecognized type: bool',
        ),
        ({"spec": {"taints": 5}}, STRATEGIC, Invalid, "cannot restore slice from int64"),
        ({"spec": {"podCIDR": 5}}, STRATEGIC, Invalid, "cannot convert int64 to string"),
        ({"spec": {"podCIDR": 1 << 63}}, STRATEGIC, Invalid, "unrecognized type: string"),
        ({"spec": 1 << 63}, STRATEGIC, Invalid, "cannot restore struct from: float64"),
        ({"spec": 5}, STRATEGIC, Invalid, "cannot restore struct from: int64"),
        ({"metadata": {"labels": 5}}, STRATEGIC, Invalid, "cannot restore map from int64"),
        (
            {"spec": {"unschedulable": "x"}},
            MERGE,
            Invalid,
            "json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool",
        ),
        (
            {"status": {"conditions": [{"status": "True"}]}},
            STRATEGIC,
            ApiError,
            "map: map[status:True] does not contain declared merge key: type",
        ),
        ({}, "text/plain", UnsupportedMediaType, "415: Unsupported Media Type"),
    ],
)
def test_a_bad_patch_is_refused_with_the_references_words(
    body: Any, language: str, wanted: type[ApiError], sentence: str
) -> None:
    tree_with_conditions = {"conditions": [{"type": "Ready", "status": "True"}]}
    tree = read(NODE, {**copy.deepcopy(NODE_TREE), "status": tree_with_conditions})
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(wanted) as refusal:
        patched(NODE, tree, raw, language, a_call())
    assert refusal.value.message.endswith(sentence)


def test_unknown_fields_in_patches_are_told() -> None:
    assert change(NODE, {"spec": {"foo": 1}}, MERGE)[1] == ['unknown field "spec.foo"']
    assert change(NODE, [op("add", "/metadata/labels/x", value="y", extra=1)], JSON)[1] == [
        'json patch unknown field "[0].extra"'
    ]
    with pytest.raises(Invalid, match=r'strict decoding error: unknown field "spec\.foo"'):
        change(NODE, {"spec": {"foo": 1}}, STRATEGIC, "Strict")
    assert change(NODE, b'{"metadata":{"labels":{"a":"c","a":"d"}}}', MERGE)[1] == [
        'duplicate field "metadata.labels.a"'
    ]


def test_custom_kinds_know_no_strategic_merge() -> None:
    widget = custom({"type": "object"})
    assert STRATEGIC not in languages(widget)
    assert STRATEGIC in languages(POD)
    with pytest.raises(UnsupportedMediaType):
        change(widget, {}, STRATEGIC)


@pytest.mark.parametrize(
    ("given_number", "kept"),
    [(5.0, 5), ((1 << 32) + 7, 7), (1 << 31, -(1 << 31)), (-(1 << 31) - 1, (1 << 31) - 1), (1 << 63, None)],
)
def test_a_strategic_merge_cuts_numbers_to_their_size(given_number: float, kept: int | None) -> None:
    body = json.dumps({"spec": {"minReadySeconds": given_number}}).encode()
    made = patched(DAEMON_SET, read(DAEMON_SET, {"metadata": {"name": "d"}, "spec": {}}), body, STRATEGIC, a_call())
    assert made["spec"].get("minReadySeconds") == kept
