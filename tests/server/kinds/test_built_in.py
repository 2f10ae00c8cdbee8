"""All kinds together, and what a fresh cluster holds of them."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.objects import resources
from eachnode.objects.resources import Resource
from eachnode.server.kind import Kind, Tree
from eachnode.server.kinds import BUILT_IN
from eachnode.server.kinds.fresh_cluster import initial_objects
from eachnode.server.schema import decode
from tests.server.admission.world import fresh_world

from .judging import CALL, body, created, listed

KINDS: dict[Resource, Kind] = {kind.resource: kind for kind in BUILT_IN}
ORDINARY = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}


def test_every_kind_with_a_name_of_its_own_is_served_once() -> None:
    assert len(KINDS) == len(BUILT_IN)
    named = {value for value in vars(resources).values() if isinstance(value, Resource)}
    missing = named - KINDS.keys() - {resources.CUSTOM_RESOURCE_DEFINITIONS}  # They are a story of their own.
    assert missing == set()


@pytest.mark.parametrize(
    ("resource", "singular", "short_names", "categories"),
    [
        (resources.NAMESPACES, "namespace", ("ns",), ()),
        (resources.NODES, "node", ("no",), ()),
        (resources.PODS, "pod", ("po",), ("all",)),
        (resources.EVENTS, "event", ("ev",), ()),
        (resources.EVENTS_V1, "event", ("ev",), ()),
        (resources.CONFIG_MAPS, "configmap", ("cm",), ()),
        (resources.SECRETS, "secret", (), ()),
        (resources.SERVICE_ACCOUNTS, "serviceaccount", ("sa",), ()),
        (resources.SERVICES, "service", ("svc",), ("all",)),
        (resources.ENDPOINTS, "endpoints", ("ep",), ()),
        (resources.RESOURCE_QUOTAS, "resourcequota", ("quota",), ()),
        (resources.LIMIT_RANGES, "limitrange", ("limits",), ()),
        (resources.DAEMON_SETS, "daemonset", ("ds",), ("all",)),
        (resources.CONTROLLER_REVISIONS, "controllerrevision", (), ()),
        (resources.LEASES, "lease", (), ()),
        (resources.PRIORITY_CLASSES, "priorityclass", ("pc",), ()),
        (resources.POD_DISRUPTION_BUDGETS, "poddisruptionbudget", ("pdb",), ()),
        (resources.ROLES, "role", (), ()),
        (resources.ROLE_BINDINGS, "rolebinding", (), ()),
        (resources.CLUSTER_ROLES, "clusterrole", (), ()),
        (resources.CLUSTER_ROLE_BINDINGS, "clusterrolebinding", (), ()),
    ],
)
def test_kinds_are_called_as_people_know_them(
    resource: Resource, singular: str, short_names: tuple[str, ...], categories: tuple[str, ...]
) -> None:
    kind = KINDS[resource]
    assert (kind.singular, kind.short_names, kind.categories) == (singular, short_names, categories)


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.resource.qualified)
def test_every_verb_but_one_is_served(kind: Kind) -> None:
    absent = {"deletecollection"} if kind.resource == resources.NAMESPACES else set()
    assert kind.verbs == ORDINARY - absent


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.resource.qualified)
def test_the_rules_bear_an_object_that_says_nothing(kind: Kind) -> None:
    tree = decode(kind, b'{"metadata":{"name":"x"}}', CALL)
    kind.default(tree)
    kind.prepare_create(tree, CALL)
    listed(kind.validate(tree))
    listed(kind.validate_update(tree, tree))
    list(kind.warn(tree, None))
    for choose in kind.fields.values():
        assert isinstance(choose(tree), str)
    if kind.row is not None:
        assert len(kind.row(tree, 0.0)) == len(kind.columns)


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.resource.qualified)
def test_what_is_stored_can_be_read_again_and_stays_the_same(kind: Kind) -> None:
    if kind.resource == resources.CONTROLLER_REVISIONS:
        tree: Tree = created(kind, data={"a": 1}, revision=1)
    else:
        tree = created(kind)
    again = created(kind, **{key: value for key, value in tree.items() if key not in ("apiVersion", "kind")})
    assert again == tree


def test_bodies_of_tests_are_of_the_kind_they_say() -> None:
    assert body(KINDS[resources.LEASES])["apiVersion"] == "coordination.k8s.io/v1"


async def test_a_fresh_cluster_holds_what_clients_look_for() -> None:
    world = await fresh_world()
    found: dict[str, Any] = {}
    for resource, tree in initial_objects():
        about = tree["metadata"]
        document = await world.server.get(resource, about["name"], about.get("namespace", ""))
        found[f"{resource.plural}/{about['name']}"] = document.tree()
    assert {name for name in found if name.startswith("namespaces/")} == {
        "namespaces/default",
        "namespaces/kube-system",
        "namespaces/kube-public",
        "namespaces/kube-node-lease",
    }
    assert found["priorityclasses/system-node-critical"]["value"] == 2_000_001_000
    assert found["priorityclasses/system-cluster-critical"]["value"] == 2_000_000_000
    assert found["services/kubernetes"]["spec"]["clusterIP"] == "10.96.0.1"
    assert found["endpoints/kubernetes"]["kind"] == "Endpoints"
