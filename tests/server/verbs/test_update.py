"""PUT and PATCH: versions, what cannot change, writes that change nothing, and parts with rules of their own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from eachnode.objects.resources import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    EVENTS_V1,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
)
from eachnode.objects.status import ApiError, BadRequest, Conflict, Invalid, NotFound
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Answer, Asked, Call, Hands, Kind, Subresource
from eachnode.server.kinds.config_maps import CONFIG_MAP
from eachnode.server.kinds.custom_resource_definitions import CUSTOM_RESOURCE_DEFINITION
from eachnode.server.kinds.leases import LEASE
from eachnode.server.kinds.nodes import NODE
from eachnode.server.kinds.services import SERVICE
from eachnode.server.verbs import refusals
from tests.server.apis import HOME, Tree, add, body, names, open_api, pod_body, version_of

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"


async def merge(api: ApiServer, name: str, changes: Tree, **query: Any) -> Tree:
    document = await api.patch(CONFIG_MAPS, name, json.dumps(changes).encode(), MERGE, HOME, **query)
    return document.tree()


async def put(api: ApiServer, tree: Tree, **query: Any) -> Tree:
    name = tree["metadata"]["name"]
    return (await api.update(CONFIG_MAPS, name, json.dumps(tree).encode(), HOME, **query)).tree()


async def test_a_writer_who_saw_an_older_version_is_refused() -> None:
    api = open_api()
    old = await add(api, "a")
    await merge(api, "a", {"data": {"k": "1"}})
    with pytest.raises(Conflict) as refused:
        await put(api, old)
    assert refused.value.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    with pytest.raises(Conflict):
        await merge(api, "a", {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"k": "2"}})


async def test_a_patch_that_moves_an_object_is_refused_for_its_namespace_first() -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(BadRequest) as refused:
        await merge(api, "a", {"metadata": {"name": "b", "namespace": "elsewhere"}})
    assert refused.value.message == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )


async def test_what_a_pod_is_given_empty_is_shown_as_empty_and_not_kept() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)
    with pytest.raises(Invalid) as refused:
        await api.patch(PODS, "p", b'{"spec":{"hostname":"h","volumes":[]}}', MERGE, HOME)
    assert '\n- "Volumes": null,\n+ "Volumes": [],\n' in refused.value.message
    document = await api.patch(PODS, "p", b'{"spec":{"volumes":[],"nodeSelector":{}}}', MERGE, HOME)
    assert not {"volumes", "nodeSelector"} & document.tree()["spec"].keys()


async def test_a_template_whose_labels_are_empty_is_told_from_one_without_labels() -> None:
    api = open_api()
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    for labels, shown in (({}, "{}"), (None, "null")):
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": labels}, **template}}
        with pytest.raises(Invalid) as refused:
            await add(api, "d", resource=DAEMON_SETS, spec=spec)
        assert f"spec.template.metadata.labels: Invalid value: {shown}: `selector` does not" in refused.value.message


async def test_of_two_who_update_the_same_version_at_once_one_is_refused() -> None:
    api = open_api()
    old = await add(api, "a")
    outcomes = await asyncio.gather(
        put(api, {**old, "data": {"k": "1"}}), put(api, {**old, "data": {"k": "2"}}), return_exceptions=True
    )
    assert [type(outcome).__name__ for outcome in outcomes] == ["dict", "Conflict"]


async def test_without_a_version_the_last_writer_wins_and_identity_is_kept() -> None:
    api = open_api()
    old = await add(api, "a", labels={"x": "y"})
    new = await put(api, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    for key in ("uid", "creationTimestamp", "namespace"):
        assert new["metadata"][key] == old["metadata"][key]
    assert "labels" not in new["metadata"]
    assert version_of(new) > version_of(old)


async def test_a_link_of_old_times_is_no_change() -> None:
    api = open_api()
    old = await add(api, "a")
    assert version_of(await put(api, {"metadata": {"name": "a", "selfLink": "/a"}})) == version_of(old)


async def test_a_version_that_is_no_number_is_a_fault_in_the_references_words() -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(ApiError) as refused:
        await put(api, {"metadata": {"name": "a", "resourceVersion": "x"}})
    assert (refused.value.code, refused.value.message) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')


async def test_applying_to_a_missing_name_creates_it_whatever_version_is_said() -> None:
    api = open_api()
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}}
    made = await api.patch(CONFIG_MAPS, "a", json.dumps(config).encode(), "application/apply-patch+yaml", HOME)
    assert made.tree()["metadata"]["resourceVersion"] != "7"


async def test_a_kind_that_wants_a_version_says_so() -> None:
    api = open_api()
    for kind in (each.kind for each in api.registry):
        if not kind.unconditional_update and kind.resource == LEASES:
            break
    else:
        pytest.fail("leases want a version")
    await api.create(LEASES, b'{"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}', HOME)
    with pytest.raises(Invalid) as refused:
        await api.update(LEASES, "l", b'{"metadata":{"name":"l"},"spec":{"holderIdentity":"you"}}', HOME)
    assert refused.value.message == (
        'leases.coordination.k8s.io "l" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )


async def test_a_write_that_changes_nothing_is_no_write() -> None:
    api = open_api()
    old = await add(api, "a", data={"k": "v"}, labels={"x": "y"})
    newest = api.store.committed
    assert await put(api, old) == old
    assert await put(api, {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}) == old
    assert await merge(api, "a", {"data": {"k": "v"}}) == old
    assert api.store.committed == newest


async def test_what_differs_in_json_only_by_kind_of_value_is_a_change() -> None:
    api = open_api()
    node = {"metadata": {"name": "n", "annotations": {"a": "1"}}}
    old = (await api.create(NODES, json.dumps(node).encode())).tree()
    new = (await api.patch(NODES, "n", b'{"spec":{"unschedulable":true}}', MERGE)).tree()
    assert version_of(new) > version_of(old)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uid": "other"}, 'metadata.uid: Invalid value: "other": field is immutable'),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
        ),
        (
            {"deletionGracePeriodSeconds": 5},
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
        ),
        ({"labels": {"b c": "d"}}, 'metadata.labels: Invalid value: "b c": name part must consist of'),
    ],
)
async def test_what_a_patch_must_not_do_to_metadata_is_named(changes: Tree, message: str) -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(Invalid) as refused:
        await merge(api, "a", {"metadata": changes})
    assert message in refused.value.message


async def test_generation_and_creation_time_are_not_the_clients_to_set() -> None:
    api = open_api()
    old = await add(api, "a")
    new = await merge(api, "a", {"metadata": {"generation": 7, "creationTimestamp": None}, "data": {"k": "v"}})
    assert "generation" not in new["metadata"]
    assert new["metadata"]["creationTimestamp"] == old["metadata"]["creationTimestamp"]


async def test_a_put_must_name_the_object_of_its_path() -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(BadRequest) as refused:
        await api.update(CONFIG_MAPS, "a", body("b"), HOME)
    assert refused.value.message == "the name of the object (b) does not match the name on the URL (a)"
    with pytest.raises(BadRequest, match="undeterminable: name must be provided"):
        await api.update(CONFIG_MAPS, "a", b"{}", HOME)
    with pytest.raises(BadRequest, match="does not match the namespace sent on the request"):
        await api.update(CONFIG_MAPS, "a", body("a", namespace="b"), HOME)


async def test_a_put_that_means_an_object_of_another_uid_is_refused() -> None:
    api = open_api()
    old = await add(api, "a")
    with pytest.raises(Conflict) as refused:
        await api.update(CONFIG_MAPS, "a", body("a", uid="other"), HOME)
    assert refused.value.message.endswith(
        f"Precondition failed: UID in precondition: other, UID in object meta: {old['metadata']['uid']}"
    )


async def test_a_put_to_a_missing_name_creates_only_where_the_kind_says_so() -> None:
    api = open_api()
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await api.update(CONFIG_MAPS, "a", body("a"), HOME)
    event = {"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p", "namespace": HOME}}
    fields = {"eventTime": "2026-01-01T00:00:00.000000Z", "action": "A", "reason": "R", "type": "Normal"}
    whole = {**event, **fields, "reportingController": "c", "reportingInstance": "i"}
    call = Call(caller=None, now=0.0, verb="update")  # type: ignore[arg-type]  # nobody asks who it is
    answer = await api.update_as(call, EVENTS_V1, "e", json.dumps(whole).encode(), HOME)
    assert answer.code == 201
    assert await names(api, EVENTS_V1) == ["e"]


async def test_a_patch_of_nothing_is_not_found() -> None:
    api = open_api()
    for language, changes in ((MERGE, b"{}"), (JSON, b"[]")):
        with pytest.raises(NotFound, match='configmaps "a" not found'):
            await api.patch(CONFIG_MAPS, "a", changes, language, HOME)


async def test_a_dry_run_shows_the_change_and_makes_none() -> None:
    api = open_api()
    old = await add(api, "a")
    shown = await merge(api, "a", {"data": {"k": "v"}}, dry_run=True)
    assert shown["data"] == {"k": "v"}
    assert shown["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
    assert (await api.get(CONFIG_MAPS, "a", HOME)).tree() == old


async def test_the_object_leaves_the_spec_alone_through_its_status_and_the_other_way_round() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)
    spec_and_status = (
        b'{"metadata":{"labels":{"a":"b"}},"spec":{"activeDeadlineSeconds":9},"status":{"phase":"Running"}}'
    )
    through_status = (await api.patch(PODS, "p", spec_and_status, MERGE, HOME, subresource="status")).tree()
    assert through_status["status"]["phase"] == "Running"
    assert "activeDeadlineSeconds" not in through_status["spec"]
    through_object = (await api.patch(PODS, "p", b'{"status":{"phase":"Failed"}}', MERGE, HOME)).tree()
    assert through_object["status"]["phase"] == "Running"


async def test_removing_the_last_finalizer_of_a_leaving_object_removes_it() -> None:
    api = open_api()
    await add(api, "a", finalizers=["example.com/x", "example.com/y"])
    await api.delete(CONFIG_MAPS, "a", HOME)
    await merge(api, "a", {"metadata": {"finalizers": ["example.com/y"]}})
    assert await names(api) == ["a"]
    last = await merge(api, "a", {"metadata": {"finalizers": None}})
    assert "finalizers" not in last["metadata"]
    assert await names(api) == []


async def test_a_leaving_object_takes_no_new_finalizers() -> None:
    api = open_api()
    await add(api, "a", finalizers=["example.com/x"])
    await api.delete(CONFIG_MAPS, "a", HOME)
    with pytest.raises(Invalid) as refused:
        await merge(api, "a", {"metadata": {"finalizers": ["example.com/x", "example.com/late"]}})
    assert refused.value.message == (
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is '
        'being deleted, found new finalizers []string{"example.com/late"}'
    )
    kept = await merge(api, "a", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}})
    assert "deletionTimestamp" in kept["metadata"]
    assert kept["metadata"]["deletionGracePeriodSeconds"] == 0


_DATA = b'{"z":1,"a":{"$patch":"replace","text":"<&>\\u2028"},"list":[{"b":1,"a":2}]}'
_ESCAPED = _DATA.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


@pytest.mark.parametrize("written", [_ESCAPED, _DATA, _DATA.replace(b",", b",\n  ").replace(b":", b": ")])
async def test_revision_data_is_told_as_go_tells_it_its_keys_in_their_order(written: bytes) -> None:
    api = open_api()
    raw = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"data":%b,"revision":1}'
    created = await api.create(CONTROLLER_REVISIONS, raw % written, HOME)
    batch = await anext(api.watch(CONTROLLER_REVISIONS, HOME))
    listed = (await api.list(CONTROLLER_REVISIONS, HOME)).documents[0]
    read = await api.get(CONTROLLER_REVISIONS, "r", HOME)
    for document in (created, batch[0].document, listed, read):
        assert b'"data":' + _ESCAPED + b',"revision":1}' in bytes(document.raw)
        assert b"\n" not in bytes(document.raw)


async def test_revision_data_stays_the_same_text_whatever_is_written_around_it() -> None:
    api = open_api()
    raw = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"data":%b,"revision":1}'
    await api.create(CONTROLLER_REVISIONS, raw % _ESCAPED, HOME)
    changed = await api.patch(CONTROLLER_REVISIONS, "r", b'{"revision":2,"metadata":{"labels":{"a":"b"}}}', MERGE, HOME)
    assert b'"data":' + _ESCAPED in bytes(changed.raw)
    assert changed.tree()["revision"] == 2
    config = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"}}'
    same = await api.patch(CONTROLLER_REVISIONS, "r", config, "application/apply-patch+yaml", HOME)
    assert same.raw == changed.raw  # Who applies nothing new has not written anything anew.


async def test_a_namespace_is_finalized_through_its_own_subresource() -> None:
    api = open_api()
    await api.create(NAMESPACES, b'{"metadata":{"name":"n"}}')
    plain = (await api.patch(NAMESPACES, "n", b'{"spec":{"finalizers":[]}}', MERGE)).tree()
    assert plain["spec"]["finalizers"] == ["kubernetes"]
    began = (await api.delete(NAMESPACES, "n")).tree()
    assert began["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in began["metadata"]
    again = (await api.delete(NAMESPACES, "n")).tree()
    assert again == began
    began["spec"]["finalizers"] = []
    await api.update(NAMESPACES, "n", json.dumps(began).encode(), subresource="finalize")
    assert await names(api, NAMESPACES, namespace="") == []


async def test_a_handler_sees_and_changes_the_newest_state_and_its_writes_are_committed() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)

    def mark(hands: Hands, call: Call, asked: Asked) -> Answer:
        def change(tree: Tree) -> None:
            tree["metadata"].setdefault("labels", {})["marked"] = asked.body.decode()

        seen = hands.get(PODS, asked.namespace, asked.name)
        assert seen is not None
        return hands.modify(call, PODS, asked.namespace, asked.name, change)

    api.handle(PODS, "mark", Subresource(kind="Mark", verbs=frozenset(("create",)), handle=mark))
    answer = await api.create(PODS, b"yes", HOME, name="p", subresource="mark")
    assert answer.tree()["metadata"]["labels"] == {"marked": "yes"}
    assert await names(api, PODS, labels="marked=yes") == ["p"]


async def test_reactions_see_each_change_before_its_writer_is_answered() -> None:
    api = open_api()
    await add(api, "there")
    seen: list[tuple[bool, bool]] = []
    api.follow(CONFIG_MAPS, lambda old, new: seen.append((old is not None, new is not None)))
    assert seen == [(False, True)]
    await add(api, "new")
    assert seen[1:] == [(False, True)]
    await merge(api, "new", {"data": {"k": "v"}})
    await api.delete(CONFIG_MAPS, "new", HOME)
    assert seen[2:] == [(True, True), (True, False)]


@pytest.mark.parametrize(
    ("kind", "key"),
    [(CONFIG_MAP, "/configmaps/ns/x"), (NODE, "/minions/ns/x"), (SERVICE, "/services/specs/ns/x"),
     (LEASE, "/leases/ns/x"),
     (CUSTOM_RESOURCE_DEFINITION, "/apiextensions.k8s.io/customresourcedefinitions/ns/x")],
)  # fmt: skip
def test_messages_tell_where_the_reference_would_keep_an_object(kind: Kind, key: str) -> None:
    assert refusals.store_key(kind, "ns/x") == key
