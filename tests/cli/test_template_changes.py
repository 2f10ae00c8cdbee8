"""What differs between two templates, in words."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.cli.template_changes import changes


def told(old: Any, new: Any) -> list[str]:
    return [str(change) for change in changes(old, new)]


def test_a_changed_field_is_told_with_its_path_and_both_values() -> None:
    old = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:1"}]}}
    new = {"spec": {"containers": [{"name": "a", "image": "i:2"}, {"name": "b", "image": "j:1"}]}}
    assert told(old, new) == ["spec.containers[a].image: i:1 → i:2"]


def test_things_that_moved_in_a_list_of_named_things_are_no_change() -> None:
    old = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert told(old, {"containers": [{"name": "b"}, {"name": "a"}]}) == []


def test_what_came_and_what_went_is_told_whole() -> None:
    old = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    new = {"spec": {"nodeSelector": {"disk": "ssd"}}}
    assert told(old, new) == [
        'spec.nodeSelector: added {"disk":"ssd"}',
        'spec.volumes[v]: removed {"name":"v","emptyDir":{}}',
    ]


def test_mounts_are_told_apart_by_their_paths_and_arguments_are_compared_as_a_whole() -> None:
    old = {"volumeMounts": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/b", "name": "v"}], "args": ["x"]}
    new = {"volumeMounts": [{"mountPath": "/a", "name": "w"}, {"mountPath": "/b", "name": "v"}], "args": ["x", "y"]}
    assert told(old, new) == ['args: ["x"] → ["x","y"]', "volumeMounts[/a].name: v → w"]


def test_keys_with_dots_are_bracketed() -> None:
    assert told({"labels": {"a.b/c": "1"}}, {"labels": {"a.b/c": ""}}) == ['labels.[a.b/c]: 1 → ""']


@pytest.mark.parametrize("nothing", [None, {}, []])
def test_an_empty_field_is_the_same_as_none(nothing: Any) -> None:
    assert told({"spec": nothing}, {}) == []
