"""Kinds that users bring are served while their definitions are there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from eachnode.objects.status import ApiError, BadRequest, Forbidden, Invalid, NotFound
from eachnode.server.api_server import ApiServer
from eachnode.server.custom_kinds import CustomKinds
from eachnode.server.kinds.custom_resource_definitions import CLEANUP
from tests.server.apis import open_api

Tree = dict[str, Any]

V1 = Resource("example.com", "v1", "widgets", "Widget")
V2 = Resource("example.com", "v2", "widgets", "Widget")
SPEC: Tree = {
    "type": "object",
    "properties": {"size": {"type": "integer", "minimum": 1}, "mode": {"type": "string", "default": "a"}},
    "required": ["size"],
}
STATUS: Tree = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
MERGE = "application/merge-patch+json"


def version(name: str, *, storage: bool = False, served: bool = True, spec: Tree = SPEC, **more: Any) -> Tree:
    schema = {"type": "object", "properties": {"spec": spec, "status": STATUS}}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        **more,
    }


def definition(*versions: Tree, plural: str = "widgets", kind: str = "Widget", **names: Any) -> bytes:
    spec = {
        "group": "example.com",
        "names": {"plural": plural, "kind": kind, **names},
        "scope": "Namespaced",
        "versions": list(versions) or [version("v1", storage=True)],
    }
    return json.dumps({"metadata": {"name": f"{plural}.example.com"}, "spec": spec}).encode()


def widget(name: str = "w", api_version: str = "v1", **fields: Any) -> bytes:
    tree = {"apiVersion": f"example.com/{api_version}", "kind": "Widget", "metadata": {"name": name}, **fields}
    return json.dumps(tree).encode()


async def serving(*versions: Tree, path: Path | str = ":memory:") -> tuple[ApiServer, CustomKinds]:
    api = open_api(path)
    custom = CustomKinds(api)
    await custom.settled()
    if versions:
        await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition(*versions))
        await custom.settled()
    return api, custom


async def definition_of(api: ApiServer, name: str = "widgets.example.com") -> Tree:
    return (await api.get(CUSTOM_RESOURCE_DEFINITIONS, name)).tree()


def conditions(tree: Tree) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in tree["status"]["conditions"]}


async def test_a_definition_is_established_and_its_kind_is_served() -> None:
    api, _ = await serving(version("v1", storage=True))
    tree = await definition_of(api)
    assert conditions(tree) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert tree["status"]["acceptedNames"] == tree["spec"]["names"]
    made = (await api.create(V1, widget(spec={"size": 3, "extra": 1}, status={"ok": True}), "ns")).tree()
    assert made["spec"] == {"size": 3, "mode": "a"}
    assert "status" not in made
    assert made["metadata"]["generation"] == 1


async def test_what_the_schema_forbids_is_refused() -> None:
    api, _ = await serving(version("v1", storage=True))
    with pytest.raises(Invalid) as refusal:
        await api.create(V1, widget(spec={"size": 0}), "ns")
    assert refusal.value.message == (
        'Widget.example.com "w" is invalid: spec.size: Invalid value: 0: '
        "spec.size in body should be greater than or equal to 1"
    )


async def test_status_and_spec_are_written_apart() -> None:
    api, _ = await serving(version("v1", storage=True))
    await api.create(V1, widget(spec={"size": 3}), "ns")
    body = json.dumps({"spec": {"size": 9}, "status": {"ok": True}}).encode()
    after = (await api.patch(V1, "w", body, MERGE, "ns", subresource="status")).tree()
    assert (after["spec"]["size"], after["status"], after["metadata"]["generation"]) == (3, {"ok": True}, 1)
    after = (await api.patch(V1, "w", body, MERGE, "ns")).tree()
    assert (after["spec"]["size"], after["status"], after["metadata"]["generation"]) == (9, {"ok": True}, 2)


async def test_versions_show_the_same_objects() -> None:
    newer = {**SPEC, "properties": {**SPEC["properties"], "colour": {"type": "string"}}}
    api, _ = await serving(version("v1"), version("v2", spec=newer, storage=True))
    await api.create(V2, widget(api_version="v2", spec={"size": 3, "colour": "red"}), "ns")
    assert (await api.get(V2, "w", "ns")).tree()["spec"] == {"size": 3, "mode": "a", "colour": "red"}
    older = (await api.get(V1, "w", "ns")).tree()
    assert older["apiVersion"] == "example.com/v1"
    assert older["spec"] == {"size": 3, "mode": "a"}


async def test_what_the_version_that_is_stored_does_not_know_is_lost() -> None:
    newer = {**SPEC, "properties": {**SPEC["properties"], "colour": {"type": "string"}}}
    api, _ = await serving(version("v1", storage=True), version("v2", spec=newer))
    body = widget(api_version="v2", spec={"size": 3, "colour": "red"})
    assert (await api.create(V2, body, "ns")).tree()["spec"] == {"size": 3, "mode": "a"}


async def test_a_default_that_comes_later_is_seen_in_what_was_there_before() -> None:
    api, custom = await serving(version("v1", storage=True))
    await api.create(V1, widget(spec={"size": 3}), "ns")
    later = {**SPEC, "properties": {**SPEC["properties"], "colour": {"type": "string", "default": "red"}}}
    patch = json.dumps({"spec": {"versions": [version("v1", spec=later, storage=True)]}}).encode()
    await api.patch(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com", patch, MERGE)
    await custom.settled()
    assert (await api.get(V1, "w", "ns")).tree()["spec"] == {"size": 3, "mode": "a", "colour": "red"}
    assert [each.tree()["spec"]["colour"] for each in (await api.list(V1, "ns")).documents] == ["red"]


async def test_a_version_that_is_no_longer_served_is_not_found() -> None:
    api, custom = await serving(version("v1", storage=True), version("v2"))
    await api.create(V1, widget(spec={"size": 3}), "ns")
    patch = json.dumps({"spec": {"versions": [version("v1", served=False), version("v2", storage=True)]}}).encode()
    await api.patch(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com", patch, MERGE)
    await custom.settled()
    with pytest.raises(NotFound):
        await api.get(V1, "w", "ns")
    assert (await api.get(V2, "w", "ns")).tree()["spec"]["size"] == 3


async def test_names_that_are_taken_are_not_given_again() -> None:
    api, custom = await serving(version("v1", storage=True))
    await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition(plural="gadgets", kind="Widget", listKind="GadgetList"))
    await custom.settled()
    second = await definition_of(api, "gadgets.example.com")
    assert conditions(second) == {
        "NamesAccepted": ("False", "KindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    with pytest.raises(NotFound):
        await api.list(Resource("example.com", "v1", "gadgets", "Widget"))
    await api.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await custom.settled()
    await custom.settled()
    assert conditions(await definition_of(api, "gadgets.example.com"))["Established"][0] == "True"
    assert (await api.list(Resource("example.com", "v1", "gadgets", "Widget"))).documents == ()


async def test_deleting_a_definition_deletes_its_objects_first() -> None:
    api, custom = await serving(version("v1", storage=True))
    await api.create(V1, widget(spec={"size": 3}), "ns")
    held = json.loads(widget("held", spec={"size": 3}))
    held["metadata"]["finalizers"] = ["example.com/held"]
    await api.create(V1, json.dumps(held).encode(), "other")
    await api.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await custom.settled()
    leaving = await definition_of(api)
    assert leaving["metadata"]["finalizers"] == [CLEANUP]
    assert conditions(leaving)["Terminating"] == ("True", "InstanceDeletionInProgress")
    with pytest.raises(Forbidden, match="create not allowed while custom resource definition is terminating"):
        await api.create(V1, widget("late", spec={"size": 3}), "ns")
    with pytest.raises(NotFound):
        await api.get(V1, "w", "ns")
    await api.patch(V1, "held", b'{"metadata":{"finalizers":null}}', MERGE, "other")
    await custom.settled()
    with pytest.raises(NotFound):
        await definition_of(api)
    with pytest.raises(NotFound):
        await api.list(V1)


async def test_a_definition_can_come_back() -> None:
    api, custom = await serving(version("v1", storage=True))
    for _ in range(2):
        await api.create(V1, widget(spec={"size": 3}), "ns")
        await api.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
        await custom.settled()
        await asyncio.sleep(0)
        await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
        await custom.settled()
        assert (await api.list(V1)).documents == ()


async def test_kinds_and_objects_are_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "db"
    api, _ = await serving(version("v1", storage=True), path=path)
    await api.create(V1, widget(spec={"size": 3}), "ns")
    api.store.close()
    again, _ = await serving(path=path)
    assert (await again.get(V1, "w", "ns")).tree()["spec"] == {"size": 3, "mode": "a"}
    again.store.close()


async def test_a_custom_object_must_be_replaced_by_version() -> None:
    api, _ = await serving(version("v1", storage=True))
    await api.create(V1, widget(spec={"size": 3}), "ns")
    with pytest.raises(Invalid, match="must be specified for an update"):
        await api.update(V1, "w", widget(spec={"size": 4}), "ns")


async def test_a_custom_object_is_applied() -> None:
    api, _ = await serving(version("v1", storage=True))
    apply = "application/apply-patch+yaml"
    made = await api.patch(V1, "w", widget(spec={"size": 3}), apply, "ns", field_manager="alice")
    assert made.tree()["spec"] == {"size": 3, "mode": "a"}
    with pytest.raises(ApiError, match=r'conflict with "alice": \.spec\.size'):
        await api.patch(V1, "w", widget(spec={"size": 4}), apply, "ns", field_manager="bob")


async def test_printer_columns_are_cells_of_their_types() -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
        {"name": "Ok", "type": "boolean", "jsonPath": ".status.ok"},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    api, _ = await serving(version("v1", storage=True, additionalPrinterColumns=columns))
    kind = api.kind_for("example.com", "v1", "widgets")
    assert kind is not None
    assert [column.name for column in kind.columns] == ["Name", "Size", "Mode", "Ok", "Born"]
    made = (await api.create(V1, widget(spec={"size": 3}), "ns")).tree()
    assert kind.row is not None
    cells = kind.row(made, api.registry.now() + 120)
    assert cells == ["w", 3, "a", None, "2m"]


async def test_a_body_of_another_kind_is_refused() -> None:
    api, _ = await serving(version("v1", storage=True))
    other = json.dumps({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}).encode()
    with pytest.raises((BadRequest, Invalid), match="must be Widget"):
        await api.create(V1, other, "ns")


async def test_a_body_must_say_its_version() -> None:
    api, _ = await serving(version("v1", storage=True))
    with pytest.raises(BadRequest, match=r"in the data \(\) does not match the expected API version"):
        await api.create(V1, b'{"kind": "Widget", "metadata": {"name": "g"}}', "ns")


async def test_only_declared_fields_select() -> None:
    api, _ = await serving(version("v1", storage=True))
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.size"):
        await api.list(V1, fields="spec.size=3")
