"""DELETE: at once, with finalizers, with grace, under preconditions, with what becomes of dependents, and in bulk."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eachnode.objects.clock import seconds
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.resources import CONFIG_MAPS, DAEMON_SETS, NAMESPACES, PODS
from eachnode.objects.status import Conflict, NotFound
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Call, Caller
from tests.server.apis import HOME, Tree, add, body, collect, name_of, names, open_api, pod_body, told, version_of

MERGE = "application/merge-patch+json"


async def remove(api: ApiServer, name: str, resource: Any = CONFIG_MAPS, **options: Any) -> Tree:
    return (await api.delete(resource, name, HOME, options=DeleteOptions(**options))).tree()


async def running_pod(api: ApiServer, name: str, **metadata: Any) -> Tree:
    await api.create(PODS, pod_body(name, "n1", **metadata), HOME)
    return (await api.patch(PODS, name, b'{"status":{"phase":"Running"}}', MERGE, HOME, subresource="status")).tree()


async def test_a_deletion_that_is_done_answers_with_a_status() -> None:
    api = open_api()
    made = await add(api, "a")
    assert await remove(api, "a") == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    with pytest.raises(NotFound) as missing:
        await remove(api, "a")
    assert missing.value.message == 'configmaps "a" not found'


async def test_a_dry_run_deletes_nothing() -> None:
    api = open_api()
    await add(api, "a")
    assert (await remove(api, "a", dry_run=("All",)))["status"] == "Success"
    assert await names(api) == ["a"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"uid": "other"},
            "the UID in the precondition (other) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated",
        ),
        (
            {"resource_version": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({version}). "
            "The object might have been modified",
        ),
    ],
)
async def test_preconditions_name_what_does_not_hold(wanted: dict[str, str], message: str) -> None:
    api = open_api()
    about = (await add(api, "a"))["metadata"]
    with pytest.raises(Conflict) as refused:
        await remove(api, "a", preconditions=Preconditions(**wanted))
    expected = message.format(uid=about["uid"], version=about["resourceVersion"])
    assert refused.value.message == f'Operation cannot be fulfilled on ConfigMap "a": {expected}'
    assert await names(api) == ["a"]
    holds = Preconditions(uid=about["uid"], resource_version=about["resourceVersion"])
    await remove(api, "a", preconditions=holds)
    assert await names(api) == []


async def test_finalizers_keep_an_object_that_is_marked_once() -> None:
    api = open_api()
    await add(api, "a", finalizers=["example.com/x"])
    marked = await remove(api, "a")
    assert marked["kind"] == "ConfigMap"
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    await asyncio.sleep(60)
    newest = api.store.committed
    assert await remove(api, "a") == marked
    assert api.store.committed == newest, "deleting what is being deleted changes nothing"


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagation_policy": "Orphan"}, ["example.com/x", "orphan"]),
        ({"propagation_policy": "Foreground"}, ["example.com/x", "foregroundDeletion"]),
        ({"propagation_policy": "Background"}, ["example.com/x"]),
        ({"orphan_dependents": True}, ["example.com/x", "orphan"]),
        ({"orphan_dependents": False}, ["example.com/x"]),
        ({}, ["example.com/x"]),
    ],
)
async def test_what_becomes_of_dependents_is_asked_by_a_finalizer(
    options: dict[str, Any], finalizers: list[str]
) -> None:
    api = open_api()
    await add(api, "a", finalizers=["example.com/x"])
    assert (await remove(api, "a", **options))["metadata"]["finalizers"] == finalizers


async def test_a_finalizer_already_there_decides_unless_a_policy_is_given() -> None:
    api = open_api()
    await add(api, "a", "b", finalizers=["orphan"])
    assert (await remove(api, "a"))["metadata"]["finalizers"] == ["orphan"]
    assert (await remove(api, "b", propagation_policy="Background"))["status"] == "Success"


async def test_a_policy_that_needs_the_garbage_collector_keeps_the_object_for_it() -> None:
    api = open_api()
    await add(api, "a")
    kept = await remove(api, "a", propagation_policy="Foreground")
    assert kept["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert await names(api) == ["a"]


async def test_a_generation_grows_when_deletion_begins() -> None:
    api = open_api()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = (await api.create(DAEMON_SETS, body("d", spec=spec, finalizers=["example.com/x"]), HOME)).tree()
    marked = await remove(api, "d", DAEMON_SETS)
    assert marked["metadata"]["generation"] == made["metadata"]["generation"] + 1
    assert (await remove(api, "d", DAEMON_SETS))["metadata"]["generation"] == marked["metadata"]["generation"]


async def test_a_running_pod_gets_its_grace_and_goes_when_its_kubelet_says_so() -> None:
    api = open_api()
    pod = await running_pod(api, "p")
    start = str(api.store.committed)
    leaving = await remove(api, "p", PODS)
    about = leaving["metadata"]
    assert about["deletionGracePeriodSeconds"] == 30
    assert seconds(about["deletionTimestamp"]) == seconds("2026-01-01T00:00:30Z")
    assert about["generation"] == pod["metadata"]["generation"] + 1
    gone = await remove(api, "p", PODS, grace_period_seconds=0)
    assert gone["kind"] == "Pod"
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 0
    events = await collect(api.watch(PODS, version=start), 3)
    assert [change for change, _ in events] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert await names(api, PODS) == []


async def test_grace_can_be_shortened_but_not_prolonged() -> None:
    api = open_api()
    await running_pod(api, "p")
    first = await remove(api, "p", PODS)
    longer = await remove(api, "p", PODS, grace_period_seconds=60)
    assert longer == first == await remove(api, "p", PODS)
    await asyncio.sleep(3)
    shorter = await remove(api, "p", PODS, grace_period_seconds=5)
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    await asyncio.sleep(20)
    shortest = await remove(api, "p", PODS, grace_period_seconds=2)
    assert shortest["metadata"]["deletionGracePeriodSeconds"] == 1
    assert shortest["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:23Z", "never in the past"


async def test_negative_grace_means_one_second() -> None:
    api = open_api()
    await running_pod(api, "p")
    assert (await remove(api, "p", PODS, grace_period_seconds=-5))["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_a_pod_on_no_node_goes_at_once() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)
    assert (await remove(api, "p", PODS))["kind"] == "Pod"
    assert await names(api, PODS) == []


async def test_a_pod_with_a_finalizer_stays_after_its_grace() -> None:
    api = open_api()
    await running_pod(api, "p", finalizers=["example.com/x"])
    await remove(api, "p", PODS)
    await remove(api, "p", PODS, grace_period_seconds=0)
    assert await names(api, PODS) == ["p"]
    await api.patch(PODS, "p", b'{"metadata":{"finalizers":null}}', MERGE, HOME)
    assert await names(api, PODS) == []


async def test_a_pod_whose_finalizers_go_first_keeps_its_grace() -> None:
    api = open_api()
    await running_pod(api, "p", finalizers=["example.com/x"])
    await remove(api, "p", PODS)
    await api.patch(PODS, "p", b'{"metadata":{"finalizers":null}}', MERGE, HOME)
    assert await names(api, PODS) == ["p"]
    await remove(api, "p", PODS, grace_period_seconds=0)
    assert await names(api, PODS) == []


async def test_old_clients_who_ask_for_dependents_to_go_hear_that_it_takes_a_while() -> None:
    api = open_api()
    await add(api, "a", finalizers=["example.com/x"])
    call = Call(Caller("me"), 0.0, "delete")
    answer = await api.delete_as(call, CONFIG_MAPS, "a", HOME, options=DeleteOptions(orphan_dependents=False))
    assert answer.code == 202


async def test_a_namespace_checks_its_preconditions_in_its_own_words() -> None:
    api = open_api()
    made = (await api.create(NAMESPACES, b'{"metadata":{"name":"n"}}')).tree()
    with pytest.raises(Conflict) as refused:
        await api.delete(NAMESPACES, "n", options=DeleteOptions(preconditions=Preconditions(uid="x")))
    assert refused.value.message == (
        'Operation cannot be fulfilled on namespaces "n": Precondition failed: '
        f"UID in precondition: x, UID in object meta: {made['metadata']['uid']}"
    )


async def test_a_collection_is_deleted_by_its_selector_and_shown_as_it_was() -> None:
    api = open_api()
    await add(api, *(f"c{number:03}" for number in range(450)), labels={"x": "y"})
    await add(api, "kept")
    await add(api, "held", labels={"x": "y"}, finalizers=["example.com/x"])
    call = Call(Caller("me"), api.registry.now(), "deletecollection")
    page = await api.delete_collection_as(call, CONFIG_MAPS, HOME, labels="x=y")
    assert [name_of(document) for document in page.documents] == [*(f"c{number:03}" for number in range(450)), "held"]
    assert await names(api) == ["held", "kept"]
    assert all("deletionTimestamp" not in document.tree()["metadata"] for document in page.documents)


async def test_a_collection_of_all_namespaces_is_deleted_in_each() -> None:
    api = open_api()
    for namespace in "ab":
        await add(api, "x", namespace=namespace)
    await api.delete_collection(CONFIG_MAPS)
    assert await names(api, namespace="") == []


async def test_the_deletion_event_shows_the_last_state_at_the_version_of_the_deletion() -> None:
    api = open_api()
    made = await add(api, "a", data={"k": "v"})
    await remove(api, "a")
    [_, (change, tree)] = await collect(api.watch(CONFIG_MAPS, version="1"), 2)
    assert told([(change, tree)]) == [("DELETED", "a")]
    assert tree["data"] == {"k": "v"}
    assert version_of(tree) == api.store.committed > version_of(made)
