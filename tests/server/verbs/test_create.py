"""POST: what the server adds to a new object, and whom it refuses."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from eachnode.objects.clock import SUFFIX_LETTERS
from eachnode.objects.resources import CONFIG_MAPS, LEASES, NODES, PODS
from eachnode.objects.status import AlreadyExists, ApiError, BadRequest, Invalid, NotFound
from tests.server.apis import HOME, add, body, names, open_api, pod_body, version_of


async def test_the_server_says_who_and_when_and_the_client_cannot() -> None:
    api = open_api()
    made = await add(
        api,
        "a",
        uid="mine",
        creationTimestamp="1999-01-01T00:00:00Z",
        deletionTimestamp="1999-01-01T00:00:00Z",
        deletionGracePeriodSeconds=3,
        selfLink="/a",
    )
    about = made["metadata"]
    assert set(about) - {"managedFields"} == {"name", "namespace", "uid", "creationTimestamp", "resourceVersion"}
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", about["uid"])
    assert about["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert about["namespace"] == HOME
    assert [*made][:2] == ["kind", "apiVersion"]


async def test_a_name_is_made_up_from_its_beginning() -> None:
    api = open_api()
    made = await add(api, *([""] * 3), generateName="some-")
    assert re.fullmatch(f"some-[{SUFFIX_LETTERS}]{{5}}", made["metadata"]["name"])
    assert made["metadata"]["generateName"] == "some-"
    assert len(set(await names(api))) == 3


async def test_a_long_beginning_is_cut_so_that_the_name_fits() -> None:
    made = await add(open_api(), "", generateName="a" * 63)
    assert len(made["metadata"]["name"]) == 63
    assert made["metadata"]["generateName"] == "a" * 63


async def test_a_made_up_name_that_is_taken_is_made_up_anew() -> None:
    api = open_api()

    class Dice:
        """Throws the same letters for the first two names."""

        def __init__(self) -> None:
            self.throws = [0] * 10

        def random(self) -> float:
            return 0.0

        def getrandbits(self, k: int) -> int:
            return 1 << (k - 1)

        def randrange(self, stop: int) -> int:
            return self.throws.pop() if self.throws else 1

    api.registry.chance = Dice()
    await add(api, "", generateName="x-")
    await add(api, "", generateName="x-")
    assert await names(api) == ["x-bbbbb", "x-ccccc"]
    with pytest.raises(AlreadyExists) as refused:
        await add(api, "", generateName="x-")
    assert refused.value.message == (
        'configmaps "x-ccccc" already exists, the server was not able to generate a unique name for the object'
    )
    assert refused.value.retry_after == 1


async def test_a_name_that_is_taken_is_refused() -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(AlreadyExists) as refused:
        await add(api, "a")
    assert refused.value.message == 'configmaps "a" already exists'
    await add(api, "b", finalizers=["example.com/hold"])
    await api.delete(CONFIG_MAPS, "b", HOME)
    with pytest.raises(AlreadyExists, match='object is being deleted: configmaps "b" already exists'):
        await add(api, "b")
    with pytest.raises(AlreadyExists) as refused:
        await add(api, "a", generateName="a-")
    assert refused.value.message.endswith("the server was not able to generate a unique name for the object")
    assert refused.value.retry_after == 1


async def test_only_one_of_two_who_create_the_same_at_once_succeeds() -> None:
    api = open_api()
    outcomes = await asyncio.gather(add(api, "a"), add(api, "a"), return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes] == ["dict", "AlreadyExists"]


async def test_another_namespace_than_that_of_the_request_is_refused() -> None:
    with pytest.raises(BadRequest, match="does not match the namespace sent on the request"):
        await open_api().create(CONFIG_MAPS, body("a", namespace="other"), HOME)


async def test_objects_of_the_whole_cluster_have_no_namespace() -> None:
    made = (await open_api().create(NODES, body("n", namespace="other"))).tree()
    assert "namespace" not in made["metadata"]


async def test_a_new_object_brings_no_version() -> None:
    api = open_api()
    with pytest.raises(ApiError, match="resourceVersion should not be set on objects to be created"):
        await add(api, "a", resourceVersion="5")
    await add(api, "b", resourceVersion="0")
    with pytest.raises(ApiError, match="resourceVersion should not be set"):
        await add(api, "b", resourceVersion="5")  # It is looked at before it is seen that the name is taken.
    assert await names(api) == ["b"]


async def test_a_dry_run_answers_as_if_and_keeps_nothing() -> None:
    api = open_api()
    before = api.store.committed
    made = (await api.create(CONFIG_MAPS, body("a"), HOME, dry_run=True)).tree()
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    assert await names(api) == []
    assert api.store.committed == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "Bad_Name"}, 'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must'),
        ({}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "a", "labels": {"b c": "d"}}, 'metadata.labels: Invalid value: "b c": name part must consist of'),
        ({"name": "a", "labels": {"b": "-"}}, 'metadata.labels: Invalid value: "-": a valid label must be an empty'),
        ({"name": "a", "annotations": {"/": "d"}}, 'metadata.annotations: Invalid value: "/": prefix part must be'),
        (
            {"name": "a", "annotations": {"x": "y" * 262144}},
            "metadata.annotations: Too long: may not be more than 262144",
        ),
        ({"name": "a", "finalizers": ["b c"]}, 'metadata.finalizers: Invalid value: "b c": name part must consist of'),
        (
            {"name": "a", "finalizers": ["kubernetes", "hold"]},
            'metadata.finalizers[1]: Invalid value: "hold": name is neither a standard finalizer name nor is it fully',
        ),
        (
            {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
            "foregroundDeletion cannot be both set",
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "a/b/c", "kind": "Pod", "name": "p", "uid": "u"}]},
            'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>',
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}]},
            'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: '
            "/v1, Kind=Event is disallowed from being an owner",
        ),
        (
            {
                "name": "a",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "pq"
                ],
            },
            'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"p",'
            '"controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"q","controller":true}]: Only one '
            'reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
        ),
        (
            {"name": "a", "finalizers": ["example.com/f", "mine"]},
            'metadata.finalizers[1]: Invalid value: "mine": '
            "name is neither a standard finalizer name nor is it fully qualified",
        ),
        ({"name": "a", "generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
    ],
)
async def test_what_is_wrong_with_metadata_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as refused:
        await open_api().create(CONFIG_MAPS, body(**fields), HOME)
    assert message in refused.value.message


async def test_some_kinds_take_any_finalizer() -> None:
    lease = b'{"metadata": {"name": "a", "finalizers": ["mine"]}}'
    assert (await open_api().create(LEASES, lease, HOME)).tree()["metadata"]["finalizers"] == ["mine"]


async def test_an_owner_named_twice_is_kept_once() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    made = await add(open_api(), "a", ownerReferences=[owner, {**owner, "name": "q"}, owner])
    assert [each["name"] for each in made["metadata"]["ownerReferences"]] == ["p", "q"]


async def test_a_subresource_that_does_not_exist_is_not_found() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await api.create(PODS, b"{}", HOME, name="p", subresource="dance")


async def test_versions_of_creations_in_one_commit_differ() -> None:
    api = open_api()
    made = await asyncio.gather(*(add(api, name) for name in "abc"))
    assert len({version_of(tree) for tree in made}) == 3
