"""ControllerRevisions: data that stays, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eachnode.objects.resources import CONTROLLER_REVISIONS
from eachnode.objects.status import Invalid
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Tree
from eachnode.server.kinds.controller_revisions import CONTROLLER_REVISIONS_KIND
from tests.server.apis import HOME, open_api

from .judging import NOW, cells, faults

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
BY_GO = rb'{"spec":{"template":{"$patch":"replace","args":["\u003c"],"spec":{}}}}'


def body(data: bytes, name: str = "r1", **fields: Any) -> bytes:
    head = json.dumps({"metadata": {"name": name}, "revision": 1, **fields})[:-1]
    return head.encode() + b', "data": ' + data + b"}"


async def holding(data: bytes) -> ApiServer:
    api = open_api()
    await api.create(CONTROLLER_REVISIONS, body(data), HOME)
    return api


async def patch(api: ApiServer, changes: Tree, language: str = STRATEGIC) -> Tree:
    text = json.dumps(changes).encode()
    return (await api.patch(CONTROLLER_REVISIONS, "r1", text, language, HOME)).tree()


async def refused(api: ApiServer, changes: Tree, language: str = STRATEGIC) -> str:
    with pytest.raises(Invalid) as found:
        await patch(api, changes, language)
    return found.value.message


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (BY_GO, BY_GO),
        (b'{"b": 1,  "a": [ "<" ]}', rb'{"b":1,"a":["\u003c"]}'),
        (rb'{"a":"\u00e9"}', rb'{"a":"\u00e9"}'),
        (b"{}", b"{}"),
    ],
)
async def test_data_comes_back_in_one_line_and_else_as_it_was_written(written: bytes, told: bytes) -> None:
    api = await holding(written)
    stored = await api.get(CONTROLLER_REVISIONS, "r1", HOME)
    assert b'"data":' + told in bytes(stored.raw)
    assert stored.tree()["data"] == json.loads(written)


async def test_what_go_wrote_survives_patches_of_other_fields() -> None:
    api = await holding(BY_GO)
    assert (await patch(api, {"metadata": {"labels": {"c": "d"}}, "revision": 4}))["revision"] == 4
    assert b'"data":' + BY_GO in bytes((await api.get(CONTROLLER_REVISIONS, "r1", HOME)).raw)


async def test_a_patch_rewrites_data_that_was_written_otherwise_and_is_refused() -> None:
    for text in (b'{"a":"<"}', b'{"b":1,"a":2}', b'{"a": 1}'):
        message = await refused(await holding(text), {"metadata": {"labels": {"c": "d"}}})
        assert message.endswith(": field is immutable")
    message = await refused(await holding(b'{"args": ["<&>"]}'), {"revision": 4})
    assert message == (
        'ControllerRevision.apps "r1" is invalid: data: Invalid value: '
        '{"args":["\\u003c\\u0026\\u003e"]}: field is immutable'
    )


async def test_a_patch_of_the_data_shows_what_it_would_be() -> None:
    message = await refused(await holding(BY_GO), {"data": {"spec": {"template": None}}}, MERGE)
    assert message == 'ControllerRevision.apps "r1" is invalid: data: Invalid value: {"spec":{}}: field is immutable'


async def test_an_update_with_the_same_text_is_none_of_the_data() -> None:
    text = b'{"b": 1, "a": 2}'
    api = await holding(text)
    new = await api.update(CONTROLLER_REVISIONS, "r1", body(text, revision=9), HOME)
    assert new.tree()["revision"] == 9
    with pytest.raises(Invalid):
        await api.update(CONTROLLER_REVISIONS, "r1", body(b'{"a":2,"b":1}', revision=10), HOME)


async def test_data_that_may_not_change_is_shown_as_it_was_written() -> None:
    api = await holding(b'{"a":1}')
    with pytest.raises(Invalid) as refused:
        await api.update(CONTROLLER_REVISIONS, "r1", body(rb'{"b": "\u00e9<", "a": 1e3}'), HOME)
    assert r'Invalid value: {"b":"\u00e9\u003c","a":1e3}: field is immutable' in refused.value.message


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"revision": 1}, [("data", "Required value: data is mandatory")]),
        ({"data": None, "revision": 1}, [("data", "Required value: data is mandatory")]),
        ({"data": "text", "revision": 1}, [("data", "Required value: data must be a valid JSON object")]),
        ({"data": [], "revision": 1}, [("data", "Required value: data must be a valid JSON object")]),
        ({"data": {}, "revision": -1}, [("revision", "Invalid value: -1: must be greater than or equal to 0")]),
        ({"data": {}}, []),
    ],
)
def test_what_is_wrong_with_a_revision(fields: Tree, expected: Any) -> None:
    assert faults(CONTROLLER_REVISIONS_KIND, **fields) == expected


def test_a_revision_in_a_table() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    tree = {"metadata": {"name": "r", "ownerReferences": [owner]}, "revision": 3}
    assert cells(CONTROLLER_REVISIONS_KIND, tree, now=NOW) == {
        "Name": "r",
        "Controller": "daemonset.apps/d",
        "Revision": 3,
        "Age": "<unknown>",
    }
    assert cells(CONTROLLER_REVISIONS_KIND, {"metadata": {"name": "r"}}, now=NOW)["Controller"] == "<none>"
