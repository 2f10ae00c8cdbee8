"""Kinds of which there are none: whoever begins by listing them goes on, and nobody is told that they are served."""

from __future__ import annotations

import json

import pytest

from eachnode.server.kind import Kind
from eachnode.server.kinds.absent import ABSENT
from tests.server.http.sites import running

EVERY = pytest.mark.parametrize("kind", ABSENT, ids=lambda kind: kind.resource.qualified)


@EVERY
async def test_a_list_is_empty_and_a_watch_says_at_once_that_it_has_told_everything(kind: Kind) -> None:
    path = kind.resource.path()
    async with running() as site:
        listed = await site.call(f"GET {path}")
        assert listed.status == 200
        assert (listed.body["kind"], listed.body["items"]) == (f"{kind.resource.kind}List", [])
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with site.lines(f"{path}?{query}") as events:
            first = await anext(events)
        assert first["type"] == "BOOKMARK"
        assert first["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_nobody_can_make_one_and_none_is_found() -> None:
    async with running() as site:
        made = await site.call("POST /apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}})
        assert (made.status, made.message) == (404, "the server could not find the requested resource")
        found = await site.call("GET /apis/apps/v1/namespaces/default/deployments/d")
        assert (found.status, found.message) == (404, 'deployments.apps "d" not found')


async def test_discovery_does_not_offer_them() -> None:
    async with running() as site:
        groups = {group["name"] for group in (await site.call("GET /apis")).body["groups"]}
        assert not groups & {"storage.k8s.io", "resource.k8s.io"}
        offered = {each["name"] for each in (await site.call("GET /apis/apps/v1")).body["resources"]}
        assert {name.partition("/")[0] for name in offered} == {"controllerrevisions", "daemonsets"}
        assert "StatefulSet" not in json.dumps((await site.call("GET /openapi/v2")).body["paths"])
