"""Strategic merge patches: lists joined by key, directives, and the order of entries."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.server.schema.strategic_merge import BadPatch, CannotMerge, NoListOfLists, go_text, patch_strategic
from tests.server.schema.calls import Tree

POD = "io.k8s.api.core.v1.Pod"


def pod(*containers: str, **spec: Any) -> Tree:
    return {"spec": {"containers": [{"name": name, "image": f"{name}:1"} for name in containers], **spec}}


def merged(tree: Tree, patch: Tree) -> Tree:
    return patch_strategic(POD, copy.deepcopy(tree), copy.deepcopy(patch))


def names(tree: Tree, field: str = "containers") -> list[str]:
    return [entry["name"] for entry in tree["spec"][field]]


def test_entries_are_joined_by_their_key() -> None:
    tree = merged(pod("a", "b"), {"spec": {"containers": [{"name": "b", "image": "b:2"}]}})
    assert {entry["name"]: entry["image"] for entry in tree["spec"]["containers"]} == {"a": "a:1", "b": "b:2"}
    assert names(tree) == ["a", "b"]


def test_new_entries_stand_before_those_the_patch_does_not_name() -> None:
    assert names(merged(pod("a", "b"), {"spec": {"containers": [{"name": "c"}]}})) == ["c", "a", "b"]


def test_atomic_lists_are_replaced() -> None:
    tree = pod("a", tolerations=[{"key": "x"}])
    assert merged(tree, {"spec": {"tolerations": [{"key": "y"}]}})["spec"]["tolerations"] == [{"key": "y"}]


def test_null_removes_and_is_never_written() -> None:
    tree = merged(pod("a", hostname="h"), {"spec": {"hostname": None, "subdomain": None, "affinity": {"x": None}}})
    assert tree["spec"] == {"containers": [{"name": "a", "image": "a:1"}], "affinity": {}}


@pytest.mark.parametrize(
    ("order", "patch", "wanted"),
    [
        (["b", "a"], [], ["b", "a"]),
        (["a", "c", "b"], [{"name": "c"}], ["a", "c", "b"]),
        (["b", "n"], [{"name": "n"}], ["a", "b", "n"]),
        (["b"], [{"name": "a", "$patch": "delete"}], ["b"]),
    ],
)
def test_the_patch_may_prescribe_the_order(order: list[str], patch: list[Tree], wanted: list[str]) -> None:
    listed = [{"name": name} for name in order]
    spec: Tree = {"$setElementOrder/containers": listed}
    if patch:
        spec["containers"] = patch
    assert names(merged(pod("a", "b"), {"spec": spec})) == wanted


def test_a_patch_in_another_order_than_it_prescribes_is_refused() -> None:
    spec = {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "b"}, {"name": "a"}]}
    with pytest.raises(CannotMerge, match="The order in patch list"):
        merged(pod("a", "b"), {"spec": spec})


def test_directives_delete_and_replace() -> None:
    tree = pod("a", "b", volumes=[{"name": "v", "emptyDir": {}}])
    assert names(merged(tree, {"spec": {"containers": [{"$patch": "delete", "name": "a"}]}})) == ["b"]
    assert names(merged(tree, {"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}})) == ["z"]
    assert merged(tree, {"spec": {"$patch": "delete"}})["spec"] == {}
    assert merged(tree, {"spec": {"$patch": "replace", "hostname": "h"}})["spec"] == {"hostname": "h"}
    assert merged(tree, {"spec": {"newOne": {"$patch": "delete"}}}) == tree


def test_keys_that_are_not_retained_go() -> None:
    tree = pod("a", volumes=[{"name": "v", "emptyDir": {}}])
    volume = {"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}
    assert merged(tree, {"spec": {"volumes": [volume]}})["spec"]["volumes"] == [
        {"name": "v", "hostPath": {"path": "/x"}}
    ]
    with pytest.raises(BadPatch, match="invalid patch format of retainKeys"):
        merged(tree, {"spec": {"volumes": [{**volume, "$retainKeys": ["name"]}]}})


def test_directives_within_a_new_entry_are_fields_like_others() -> None:
    new = {"name": "w", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}
    tree = pod("a", volumes=[{"name": "v", "emptyDir": {}}])
    assert new in merged(tree, {"spec": {"volumes": [new]}})["spec"]["volumes"]


def test_lists_of_scalars_are_joined_as_sets() -> None:
    tree = {"metadata": {"finalizers": ["a", "b"]}}
    assert merged(tree, {"metadata": {"finalizers": ["c", "a"]}})["metadata"]["finalizers"] == ["c", "a", "b"]
    patch = {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
        "finalizers": ["c"],
    }
    assert merged(tree, {"metadata": patch})["metadata"]["finalizers"] == ["c", "b"]


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        ({"spec": {"containers": [{"image": "x"}]}}, "map: map[image:x] does not contain declared merge key: name"),
        (
            {"spec": {"containers": [{"$patch": "delete"}]}},
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        ({"spec": {"containers": [{"$patch": "shuffle"}]}}, "unknown patch type: shuffle in map: map[$patch:shuffle]"),
        ({"spec": {"$patch": "shuffle"}}, "unknown patch type: shuffle in map: map[$patch:shuffle]"),
        (
            {"spec": {"containers": [{"$patch": "merge", "name": "a"}]}},
            "merging lists cannot yet be specified in the patch",
        ),
        ({"spec": {"containers": ["a"]}}, "list element types are not identical: [[map[image:a:1 name:a]] [a]]"),
        ({"spec": {"$setElementOrder/containers": "a"}}, "expected a []interface {}, but received a string"),
        ({"spec": {"$setElementOrder/what": []}}, 'unable to find api field "what" in v1.PodSpec'),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(patch: Tree, sentence: str) -> None:
    with pytest.raises(CannotMerge) as refusal:
        merged(pod("a"), patch)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        ({"spec": {"$setElementOrder": []}}, "invalid patch format of setElementOrder list"),
        ({"spec": {"$deleteFromPrimitiveList": []}}, "invalid patch format of primitive list"),
        ({"spec": {"$retainKeys": "x"}}, "invalid patch format of retainKeys"),
    ],
)
def test_a_directive_of_the_wrong_form_is_refused(patch: Tree, sentence: str) -> None:
    with pytest.raises(BadPatch) as refusal:
        merged(pod("a"), patch)
    assert str(refusal.value) == sentence


def test_lists_of_lists_are_refused() -> None:
    with pytest.raises(NoListOfLists):
        patch_strategic(POD, {"spec": {"containers": [[1]]}}, {"spec": {"containers": [[2]]}})


def test_values_are_shown_as_go_shows_them() -> None:
    assert go_text({"b": [1, None, True], "a": {"c": "x y"}}) == "map[a:map[c:x y] b:[1 <nil> true]]"


CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"image": st.sampled_from(["x", "y"])}),
    max_size=4,
    unique_by=lambda entry: entry["name"],
)


@given(CONTAINERS, CONTAINERS, st.booleans())
def test_patching_twice_is_patching_once(live: list[Tree], patch: list[Tree], ordered: bool) -> None:
    spec: Tree = {"containers": patch}
    if ordered:
        spec["$setElementOrder/containers"] = [{"name": entry["name"]} for entry in patch]
    once = merged({"spec": {"containers": live}}, {"spec": spec})
    assert merged(once, {"spec": spec}) == once
    assert {entry["name"] for entry in once["spec"]["containers"]} == {entry["name"] for entry in live + patch}
