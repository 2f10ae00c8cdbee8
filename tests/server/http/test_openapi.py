"""OpenAPI documents: what kubectl looks for in them, and that they hang together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eachnode.server.http.openapi.swagger_bytes import ASKED_AS, swagger_bytes
from tests.server.http.sites import Site, Tree, running, serve_widgets

pytestmark = pytest.mark.sockets

DAEMON_SET = {"group": "apps", "kind": "DaemonSet", "version": "v1"}


async def document(site: Site, name: str) -> Tree:
    """One of the v3 documents, as a client finds it."""
    index = (await site.call("GET /openapi/v3")).body
    found = await site.call(f"GET {index['paths'][name]['serverRelativeURL']}")
    assert found.status == 200
    return dict(found.body)


def references(tree: Any) -> Iterator[str]:
    """Everything that is referred to."""
    if isinstance(tree, dict):
        if isinstance(tree.get("$ref"), str):
            yield tree["$ref"]
        for value in tree.values():
            yield from references(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from references(value)


async def test_every_group_and_version_has_a_document_without_loose_ends() -> None:
    async with running() as site:
        index = (await site.call("GET /openapi/v3")).body["paths"]
        assert {"api/v1", "apis/apps/v1", "apis/rbac.authorization.k8s.io/v1"} <= index.keys()
        for name in index:
            found = await document(site, name)
            assert found["openapi"] == "3.0.0"
            known = {f"#/components/schemas/{schema}" for schema in found["components"]["schemas"]}
            assert set(references(found)) == set(references(found)) & known
            ids = [
                operation["operationId"]
                for item in found["paths"].values()
                for operation in item.values()
                if isinstance(operation, dict)
            ]
            assert len(ids) == len(set(ids))


async def test_kubectl_finds_that_the_server_validates_fields_and_merges_strategically() -> None:
    async with running() as site:
        found = await document(site, "apis/apps/v1")
    patch = found["paths"]["/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == DAEMON_SET
    assert {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}} in patch[
        "parameters"
    ]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


async def test_schemas_say_how_lists_are_merged() -> None:
    async with running() as site:
        schemas = (await document(site, "apis/apps/v1"))["components"]["schemas"]
    assert schemas["io.k8s.api.apps.v1.DaemonSet"]["x-kubernetes-group-version-kind"] == [DAEMON_SET]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    volumes = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    limits = schemas["io.k8s.api.core.v1.ResourceRequirements"]["properties"]["limits"]
    assert limits["additionalProperties"] == {
        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"
    }


async def test_the_old_document_tells_the_same() -> None:
    async with running() as site:
        found = (await site.call("GET /openapi/v2")).body
        assert found["swagger"] == "2.0"
        assert set(references(found)) <= {f"#/definitions/{name}" for name in found["definitions"]}
        one = found["paths"]["/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"]
        assert one["patch"]["x-kubernetes-group-version-kind"] == DAEMON_SET
        assert "application/strategic-merge-patch+json" in one["patch"]["consumes"]
        packed = await site.session.get(
            f"{site.front.url}/openapi/v2", headers={"Authorization": "Bearer a-secret", "Accept": ASKED_AS}
        )
        body = await packed.read()
        assert packed.headers["Content-Type"] == ASKED_AS.replace("@", ".")
        assert body == swagger_bytes(found)
        assert (await site.call("GET /openapi/v2", Accept="text/html")).status == 406
        assert (await site.call("GET /openapi/v3/apis/none/v1")).status == 404


async def test_a_custom_kind_is_described_by_its_own_schema() -> None:
    async with running() as site:
        await site.call("GET /openapi/v2")
        await serve_widgets(site)
        schema = (await document(site, "apis/example.com/v1"))["components"]["schemas"]["com.example.v1.Widget"]
        assert schema["properties"]["spec"] == {
            "type": "object",
            "required": ["size"],
            "properties": {"size": {"type": "integer", "description": "How big it is."}},
        }
        assert schema["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
        assert schema["x-kubernetes-group-version-kind"] == [
            {"group": "example.com", "kind": "Widget", "version": "v1"}
        ]
        assert "com.example.v1.Widget" in (await site.call("GET /openapi/v2")).body["definitions"]


def test_swagger_bytes_are_the_messages_of_gnostic() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "T", "version": "v"},
        "paths": {},
        "definitions": {"A": {"type": "object", "properties": {"b": {"$ref": "#/definitions/A"}}, "x-y": [1]}},
    }
    # Written out by hand: field number and wire type, length, content.
    reference = b"\x0a\x0f#/definitions/A"
    properties = b"\x0a\x16" + b"\x0a\x01b" + b"\x12\x11" + reference
    schema = (
        b"\xb2\x01\x08\x0a\x06object" + b"\xca\x01\x18" + properties + b"\xfa\x01\x0d\x0a\x03x-y\x12\x06\x12\x04[1]\n"
    )
    definition = b"\x0a\x01A\x12" + bytes([len(schema)]) + schema
    definitions = b"\x0a" + bytes([len(definition)]) + definition
    expected = (
        b"\x0a\x032.0" + b"\x12\x06\x0a\x01T\x12\x01v" + b"\x42\x00" + b"\x4a" + bytes([len(definitions)]) + definitions
    )
    assert swagger_bytes(document) == expected
