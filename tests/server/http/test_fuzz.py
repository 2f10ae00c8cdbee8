"""Whatever is asked, no answer is a failure of ours: requests made up from our own OpenAPI, and from nothing."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from tests.server.http.sites import Site, running

pytestmark = pytest.mark.sockets

SECONDS = 8.0
MEDIA = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
)
FORMS = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,*/*",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,*/*",
    "nonsense",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1 << 40,
    1.5,
    "",
    "a",
    "a.b/c",
    "-",
    "ü",
    "9" * 70,
    [],
    {},
    [None],
    {"": None},
    [{}],
    "2026-01-01T00:00:00Z",
)
NAMES = ("a", "b", "default", "kube-system", "Ä", "x" * 300, ".", "%2F", "a b")
KNOWN = {"name": "a", "namespace": "default", "apiVersion": "v1", "kind": "Pod"}


class Imagination:
    """Makes up requests."""

    def __init__(self, seed: int, documents: list[dict[str, Any]]) -> None:
        self.chance = random.Random(seed)
        self.schemas = {name: one for found in documents for name, one in found["components"]["schemas"].items()}
        self.places = [
            (path, method, operation)
            for found in documents
            for path, item in found["paths"].items()
            for method, operation in item.items()
            if isinstance(operation, dict)
        ]

    def request(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        """Method, path, body and headers."""
        chance = self.chance
        path, method, operation = chance.choice(self.places)
        for place in ("{namespace}", "{name}"):
            path = path.replace(place, quote(chance.choice(NAMES[:3] if chance.random() < 0.7 else NAMES)))
        options = [one["name"] for one in operation["parameters"] if chance.random() < 0.2]
        query = "&".join(
            f"{name}={quote(str(chance.choice((*ODD, 'true', 'All', 'Strict', 'a=b', '1'))))}" for name in options
        )
        query = query.replace("watch=", "unwatched=").replace("timeoutSeconds=", "timeoutSeconds=1")
        body = self.body(operation)
        headers = {"Accept": chance.choice(FORMS)}
        if body is not None:
            known = list(operation.get("requestBody", {}).get("content", MEDIA))
            headers["Content-Type"] = chance.choice(known if chance.random() < 0.8 else MEDIA)
        if chance.random() < 0.1:
            method = chance.choice(("get", "put", "post", "delete", "patch", "head", "options"))
        return method.upper(), f"{path}?{query}" if query else path, body, headers

    def body(self, operation: dict[str, Any]) -> bytes | None:
        content = operation.get("requestBody", {}).get("content")
        if content is None:
            return None
        if self.chance.random() < 0.05:
            return self.chance.randbytes(self.chance.randrange(60))
        schema = next(iter(content.values()))["schema"]
        value = self.value(schema, 0)
        if isinstance(value, dict) and "x-kubernetes-group-version-kind" in operation:
            about = operation["x-kubernetes-group-version-kind"]
            value["kind"] = about["kind"]
            value["apiVersion"] = f"{about['group']}/{about['version']}" if about["group"] else about["version"]
        if operation["x-kubernetes-action"] == "patch" and self.chance.random() < 0.5:
            value = self.patch()
        return json.dumps(value).encode()

    def patch(self) -> Any:
        """A patch in some language."""
        chance = self.chance
        paths = (
            "/metadata/labels",
            "/metadata/name",
            "/spec",
            "/spec/containers/0",
            "",
            "/",
            "/~",
            "/status/x",
            "/data/-",
        )
        if chance.random() < 0.5:
            operations = ("add", "remove", "replace", "move", "copy", "test", "burn")
            return [
                {
                    "op": chance.choice(operations),
                    "path": chance.choice(paths),
                    "from": chance.choice(paths),
                    "value": chance.choice(ODD),
                }
                for _ in range(chance.randrange(4))
            ]
        parts = (
            "metadata",
            "spec",
            "status",
            "data",
            "$patch",
            "$retainKeys",
            "$setElementOrder/x",
            "$deleteFromPrimitiveList/finalizers",
        )
        return {
            chance.choice(parts): chance.choice(
                (*ODD, "replace", "delete", {"$patch": "delete"}, {"labels": {"a": None}})
            )
        }

    def value(self, schema: dict[str, Any], depth: int) -> Any:
        """Something that fits the schema, or nearly."""
        chance = self.chance
        if chance.random() < 0.06:
            return chance.choice(ODD)
        if "$ref" in schema:
            return self.value(self.schemas[schema["$ref"].rpartition("/")[2]], depth)
        if "oneOf" in schema:
            return self.value(chance.choice(schema["oneOf"]), depth)
        match schema.get("type"):
            case "object":
                return self.tree(schema, depth)
            case "array":
                return [self.value(schema["items"], depth + 1) for _ in range(chance.randrange(3) if depth < 6 else 0)]
            case "string":
                return chance.choice(
                    ("a", "b", "Always", "TCP", "1", "1Gi", "2026-01-01T00:00:00Z", "x/y", "", "Bad_Name")
                )
            case "integer":
                return chance.choice((0, 1, 2, 80, -1, 70_000, 1 << 31))
            case "boolean":
                return chance.random() < 0.5
            case _:
                return chance.choice(ODD)

    def tree(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        chance = self.chance
        found: dict[str, Any] = {}
        for name, inner in schema.get("properties", {}).items():
            likely = 0.9 if name in ("metadata", "spec", "name", "template", "containers", "selector") else 0.25
            if depth < 8 and chance.random() < likely:
                found[name] = KNOWN[name] if name in KNOWN and chance.random() < 0.8 else self.value(inner, depth + 1)
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            found |= {chance.choice(("a", "b", "cpu", "", "x/y")): self.value(more, depth + 1) for _ in range(2)}
        if chance.random() < 0.05:
            found["unknown"] = chance.choice(ODD)
        return found


async def failures(site: Site, seed: int) -> list[str]:
    """The requests of this seed that the server failed at."""
    index = (await site.call("GET /openapi/v3")).body["paths"]
    documents = [(await site.call(f"GET {about['serverRelativeURL']}")).body for about in index.values()]
    imagination = Imagination(seed, documents)
    loop = asyncio.get_running_loop()
    end, found, asked = loop.time() + SECONDS, [], 0
    while loop.time() < end:
        method, path, body, headers = imagination.request()
        headers["Authorization"] = "Bearer a-secret"
        url = f"{site.front.url}{path}"
        async with site.session.request(method, url, data=body, headers=headers) as response:
            text = await response.text()
            asked += 1
            if response.status == 500 and not _is_the_references(text):
                found.append(f"{method} {path} {headers} {body!r}\n-> {text}")
    assert asked > 500
    return found


def _is_the_references(text: str) -> bool:
    """Whether it is one of the few client mistakes that the reference, too, answers with a 500: they have no reason."""
    status = yaml.safe_load(text)
    return isinstance(status, dict) and status.get("kind") == "Status" and "reason" not in status


async def test_no_request_made_up_from_our_own_description_is_a_failure_of_ours() -> None:
    async with running() as site:
        found = await failures(site, seed=37)
        assert not found, f"{len(found)} failures\n" + "\n\n".join(found[:5])
        assert (await site.call("GET /readyz")).body == "ok"
