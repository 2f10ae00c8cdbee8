"""The paths of printer columns."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kinds import json_paths

TREE: dict[str, Any] = {
    "spec": {"size": 3, "items": [{"n": "a", "ok": True}, {"n": "b"}]},
    "metadata": {"labels": {"a/b": "x", "c.d": "y"}},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.none", []),
        (".spec.items[0].n", ["a"]),
        (".spec.items[-1].n", ["b"]),
        (".spec.items[9].n", []),
        (".spec.items[*].n", ["a", "b"]),
        (".metadata.labels['a/b']", ["x"]),
        (r".metadata.labels.c\.d", ["y"]),
        ('.spec.items[?(@.n=="b")].n', ["b"]),
        (".spec.items[?(@.ok==true)].n", ["a"]),
        (".spec.items[?(@.n!='b')].n", ["a"]),
    ],
)
def test_a_path_leads_to_what_it_names(path: str, found: list[Any]) -> None:
    assert json_paths.find(path, TREE) == found


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec..x", ".spec[x]", ".a b", ".a[?(@.b)]"])
def test_what_is_no_path_is_known_to_be_none(path: str) -> None:
    assert json_paths.parsed(path) is None
