"""Cluster roles that gather the rules of others."""

from __future__ import annotations

import json
from typing import Any

from eachnode.objects.resources import CLUSTER_ROLES
from eachnode.server.api_server import ApiServer
from eachnode.server.http.aggregated_roles import AggregatedRoles
from tests.server.apis import open_api

Tree = dict[str, Any]

MERGE = "application/merge-patch+json"


def rule(resource: str) -> Tree:
    return {"verbs": ["get"], "apiGroups": [""], "resources": [resource]}


async def serving() -> tuple[ApiServer, AggregatedRoles]:
    api = open_api()
    roles = AggregatedRoles(api)
    await roles.settled()
    return api, roles


async def add(api: ApiServer, name: str, *rules: Tree, gathers: str = "", **labels: str) -> None:
    tree: Tree = {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}
    if gathers:
        tree["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"to": gathers}}]}
    await api.create(CLUSTER_ROLES, json.dumps(tree).encode())


async def rules_of(api: ApiServer, name: str) -> list[Tree]:
    rules: list[Tree] = (await api.get(CLUSTER_ROLES, name)).tree().get("rules") or []
    return rules


async def test_a_role_has_the_rules_of_labelled_roles_through_others_too_and_each_once() -> None:
    api, roles = await serving()
    await add(api, "admin", rule("lost"), gathers="admin", to="admin")  # its own label too, and a rule of its own
    await add(api, "edit", gathers="edit", to="admin")
    await add(api, "b", rule("pods"), rule("nodes"), to="edit")
    await add(api, "a", rule("pods"), to="admin")
    await add(api, "c", rule("secrets"))
    await roles.settled()
    assert await rules_of(api, "admin") == [rule("pods"), rule("nodes")]
    assert await rules_of(api, "edit") == [rule("pods"), rule("nodes")]


async def test_what_is_gathered_follows_what_becomes_of_the_parts() -> None:
    api, roles = await serving()
    await add(api, "admin", gathers="admin")
    await add(api, "a", rule("pods"), to="admin")
    await add(api, "b", rule("nodes"))
    await roles.settled()
    await api.patch(CLUSTER_ROLES, "b", b'{"metadata":{"labels":{"to":"admin"}}}', MERGE)
    await roles.settled()
    assert await rules_of(api, "admin") == [rule("pods"), rule("nodes")]
    await api.delete(CLUSTER_ROLES, "a")
    await roles.settled()
    assert await rules_of(api, "admin") == [rule("nodes")]


async def test_nobody_s_edits_last_in_a_role_that_gathers() -> None:
    api, roles = await serving()
    await add(api, "admin", gathers="admin")
    await add(api, "a", rule("pods"), to="admin")
    await api.patch(CLUSTER_ROLES, "admin", b'{"rules":[]}', MERGE)
    await roles.settled()
    assert await rules_of(api, "admin") == [rule("pods")]
