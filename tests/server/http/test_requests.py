"""What one request gets: objects, forms, refusals."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.server.http.sites import Tree, config_map, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"


async def test_an_object_lives_through_all_verbs() -> None:
    async with running() as site:
        made = await site.call(f"POST {MAPS}", config_map("a", k="1"))
        assert (made.status, made.body["metadata"]["namespace"]) == (201, "home")
        made.body["data"] = {"k": "2"}
        replaced = await site.call(f"PUT {MAPS}/a", made.body)
        assert (replaced.status, replaced.body["data"]) == (200, {"k": "2"})
        patched = await site.call(
            f"PATCH {MAPS}/a", {"data": {"more": "3"}}, Content_Type="application/merge-patch+json; charset=utf-8"
        )
        assert patched.body["data"] == {"k": "2", "more": "3"}
        assert (await site.call(f"GET {MAPS}/a")).body == patched.body
        assert (await site.call(f"DELETE {MAPS}/a")).body["status"] == "Success"
        gone = await site.call(f"GET {MAPS}/a")
        assert (gone.status, gone.message) == (404, 'configmaps "a" not found')


async def test_a_list_is_a_list_of_its_kind_and_goes_by_pages() -> None:
    async with running() as site:
        for name in "abc":
            await site.call(f"POST {MAPS}", config_map(name))
        first = (await site.call(f"GET {MAPS}?limit=2")).body
        assert (first["kind"], first["apiVersion"]) == ("ConfigMapList", "v1")
        assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
        assert first["metadata"]["remainingItemCount"] == 1
        rest = (await site.call(f"GET {MAPS}?limit=2&continue={first['metadata']['continue']}")).body
        assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]
        assert "continue" not in rest["metadata"]
        empty = (await site.call("GET /api/v1/namespaces/other/configmaps")).body
        assert empty["items"] == []
        assert int(empty["metadata"]["resourceVersion"]) > 0


async def test_a_collection_is_deleted_by_its_labels() -> None:
    async with running() as site:
        for name, label in (("a", "x"), ("b", "y")):
            tree = config_map(name)
            tree["metadata"]["labels"] = {"l": label}
            await site.call(f"POST {MAPS}", tree)
        gone = await site.call(f"DELETE {MAPS}?labelSelector=l%3Dx", {"propagationPolicy": "Background"})
        assert [item["metadata"]["name"] for item in gone.body["items"]] == ["a"]
        assert [item["metadata"]["name"] for item in (await site.call(f"GET {MAPS}")).body["items"]] == ["b"]


async def test_a_body_may_be_yaml_and_so_may_the_answer() -> None:
    async with running() as site:
        made = await site.call(
            f"POST {MAPS}",
            yaml.safe_dump(config_map("written", k="v")),
            Content_Type="application/yaml",
            Accept="application/yaml",
        )
        assert made.status == 201
        assert made.headers["Content-Type"] == "application/yaml"
        assert yaml.safe_load(made.body)["data"] == {"k": "v"}


async def test_rows_carry_what_the_client_asks_for() -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a", k="v"))
        shown = (await site.call(f"GET {MAPS}", Accept=table)).body
        assert (shown["kind"], shown["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Data", "Age"]
        (row,) = shown["rows"]
        assert row["cells"][:2] == ["a", 1]
        assert (row["object"]["kind"], row["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "a")
        whole = (await site.call(f"GET {MAPS}?includeObject=Object", Accept=table)).body
        assert whole["rows"][0]["object"]["data"] == {"k": "v"}
        bare = (await site.call(f"GET {MAPS}/a?includeObject=None", Accept=table)).body
        assert bare["rows"][0]["object"] is None
        wrong = await site.call(f"GET {MAPS}?includeObject=Half", Accept=table)
        assert wrong.status == 400
        assert (await site.call(f"GET {MAPS}?includeObject=Half")).status == 200  # No rows, no matter.
        missing = await site.call(f"GET {MAPS}/none", Accept=table)
        assert (missing.status, missing.body["kind"]) == (404, "Status")


async def test_metadata_can_be_had_alone() -> None:
    one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    many = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a", k="v"))
        alone = (await site.call(f"GET {MAPS}/a", Accept=one)).body
        assert alone.keys() == {"kind", "apiVersion", "metadata"}
        listed = (await site.call(f"GET {MAPS}", Accept=many)).body
        assert (listed["kind"], listed["items"]) == ("PartialObjectMetadataList", [alone])
        assert (await site.call(f"GET {MAPS}", Accept=one)).status == 406
        assert (await site.call(f"GET {MAPS}/a", Accept=many)).status == 406


async def test_bare_metadata_and_rows_lack_the_annotation_that_stands_for_a_field() -> None:
    path, generation = "/apis/apps/v1/namespaces/home/daemonsets", "deprecated.daemonset.template.generation"
    template = {"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "d"}}, "template": template}
    bare = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    row = "application/json;as=Table;v=v1;g=meta.k8s.io"
    async with running() as site:
        for name, own in (("plain", {}), ("noted", {"mine": "stays"})):
            metadata = {"name": name, "annotations": own}
            whole = (await site.call(f"POST {path}", {"metadata": metadata, "spec": spec})).body
            assert whole["metadata"]["annotations"] == {**own, generation: "1"}
            alone = (await site.call(f"GET {path}/{name}", Accept=bare)).body
            assert alone["metadata"].get("annotations", {}) == own
            (shown,) = (await site.call(f"GET {path}/{name}", Accept=row)).body["rows"]
            assert shown["object"] == alone


async def test_a_client_that_prefers_protobuf_gets_json() -> None:
    async with running() as site:
        answer = await site.call(f"GET {MAPS}", Accept="application/vnd.kubernetes.protobuf, */*")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")


@pytest.mark.parametrize(
    ("step", "content_type", "status", "sentence"),
    [
        (f"POST {MAPS}", "application/vnd.kubernetes.protobuf", 415, "send application/json"),
        (f"POST {MAPS}", "application/xml", 415, "the body of the request was in an unknown format"),
        (f"PUT {MAPS}/a", "text/plain", 415, "accepted media types include: application/json, application/yaml"),
        (f"PATCH {MAPS}/a", "text/plain", 415, "415: Unsupported Media Type"),
        (f"PATCH {MAPS}/a", "application/json", 415, "415: Unsupported Media Type"),
        (f"DELETE {MAPS}/a", "application/vnd.kubernetes.protobuf", 415, "send application/json"),
    ],
)
async def test_a_body_of_another_kind_is_refused(step: str, content_type: str, status: int, sentence: str) -> None:
    async with running() as site:
        refused = await site.call(step, b"k8s\0\x0a\x05", Content_Type=content_type)
        assert (refused.status, refused.body["reason"]) == (status, "UnsupportedMediaType")
        assert sentence in refused.message


async def test_an_answer_in_no_known_form_is_refused_in_json() -> None:
    async with running() as site:
        refused = await site.call(f"GET {MAPS}", Accept="application/xml")
        assert (refused.status, refused.body["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (f"PUT {MAPS}", 405),
        (f"PATCH {MAPS}", 405),
        (f"POST {MAPS}/a", 405),
        ("POST /api/v1/configmaps", 405),
        ("DELETE /api/v1/configmaps", 405),
        ("DELETE /api/v1/namespaces", 405),
        ("OPTIONS /api/v1/configmaps", 405),
        ("POST /version", 405),
        ("GET /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
        ("GET /api/v1/unknowns", 404),
        ("GET /api/v1/configmaps/a", 404),
        ("GET /api/v1/namespaces/home/nodes", 404),
        (f"GET {MAPS}/a/scale", 404),
        (f"GET {MAPS}/a/status/more", 404),
        ("GET /api/v9/pods", 404),
        ("GET /api/v1/namespaces//configmaps", 404),
        ("GET /apis/apps/v9", 404),
        ("GET /apis/apps/v9/daemonsets", 404),
    ],
)
async def test_what_is_not_served_is_a_status(step: str, status: int) -> None:
    async with running() as site:
        refused = await site.call(step, None if step.startswith("GET") else {})
        assert refused.status == status
        assert (refused.body["kind"], refused.body["code"], refused.body["details"]) == ("Status", status, {})


@pytest.mark.parametrize(
    "path",
    [
        "/nosuchpath",
        "/apis/nosuch.group",
        "/apis/nosuch.group/v1",
        "/apis/g/v1/things",
        "/apis/g/v1/namespaces/n/things/t",
    ],
)
async def test_where_nothing_is_known_there_is_a_plain_page(path: str) -> None:
    async with running() as site:
        refused = await site.call(f"GET {path}")
        assert (refused.status, refused.body) == (404, "404 page not found\n")


async def test_big_lists_are_compressed_for_those_who_can_read_that() -> None:
    async with running() as site:
        for number in range(3):
            await site.call(f"POST {MAPS}", config_map(f"c{number}", k="v" * 60_000))
        packed = await site.call(f"GET {MAPS}", Accept_Encoding="gzip")
        assert packed.headers["Content-Encoding"] == "gzip"
        assert len(packed.body["items"]) == 3
        for name, encoding in ((MAPS, "identity"), (f"{MAPS}/c1", "gzip")):
            assert "Content-Encoding" not in (await site.call(f"GET {name}", Accept_Encoding=encoding)).headers


async def test_humans_and_those_who_ask_get_indented_json() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        for path, agent, lines in (
            (f"{MAPS}/a?pretty=true", "x", True),
            (f"{MAPS}/a", "curl/8", True),
            (f"{MAPS}/a", "x", False),
        ):
            async with site.session.get(
                f"{site.front.url}{path}", headers={"Authorization": "Bearer a-secret", "User-Agent": agent}
            ) as response:
                assert (b'\n  "' in await response.read()) is lines


async def test_warnings_stand_in_the_head() -> None:
    async with running() as site:
        tree = {**config_map("a"), "extra": 1}
        warned = await site.call(f"POST {MAPS}", tree)
        assert (warned.status, warned.headers["Warning"]) == (201, '299 - "unknown field \\"extra\\""')
        refused = await site.call(f"POST {MAPS}?fieldValidation=Strict", {**config_map("b"), "extra": 1})
        assert (refused.status, refused.body["reason"]) == (400, "BadRequest")


async def test_a_head_is_for_pages_only_and_has_no_body() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        for path in (f"{MAPS}/a", MAPS, "/api", "/version"):
            answer = await site.call(f"HEAD {path}")
            assert (answer.status, answer.body) == (405, "")
        for path in ("/healthz", "/apis"):
            answer = await site.call(f"HEAD {path}")
            assert (answer.status, answer.body) == (200, "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            '{"gracePeriodSeconds": "x"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            '{"kind": "Pod"}',
            'no kind "Pod" is registered for version "meta.k8s.io/v1" '
            'in scheme "pkg/apis/meta/internalversion/scheme/register.go:27"',
        ),
        (
            "[]",
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct "
            '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
        ),
    ],
)
async def test_options_of_a_deletion_that_cannot_be_read(body: str, said: str) -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        answer = await site.call(f"DELETE {MAPS}/a", body)
        assert (answer.status, answer.body["message"]) == (400, said)
        assert (await site.call(f"DELETE {MAPS}/a", "null")).status == 200


async def test_a_reader_of_one_object_may_ask_for_a_version_that_was_reached() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        assert (await site.call(f"GET {MAPS}/a?resourceVersion=0")).status == 200
        assert (await site.call(f"GET {MAPS}/a?resourceVersion=99999")).status == 504
        answer = await site.call(f"GET {MAPS}/a?resourceVersion=x")
        sentence = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
        assert (answer.status, answer.message) == (500, sentence)


async def test_a_large_body_that_waits_to_be_asked_for_is_asked_for() -> None:
    async with running() as site:
        body = json.dumps(config_map("a", k="v" * 100_000)).encode()
        head = (
            f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-secret\r\nExpect: 100-continue\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        async with site.connected() as (reader, writer):
            writer.write(head.encode())
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
            await reader.readline()
            writer.write(body)
            assert await reader.readline() == b"HTTP/1.1 201 Created\r\n"


async def test_a_failure_of_ours_is_a_status_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as site:

        async def broken(*_: object, **__: object) -> Tree:
            raise ZeroDivisionError("by zero")

        monkeypatch.setattr(site.front.api, "get_as", broken)
        failed = await site.call(f"GET {MAPS}/a")
        assert (failed.status, failed.body["reason"]) == (500, "InternalError")
        assert "ZeroDivisionError: by zero" in failed.message


async def test_warnings_come_with_refusals_and_with_whatever_is_discouraged() -> None:
    async with running() as site:
        refused = await site.call(f"POST {MAPS}", {**config_map("Bad_"), "extra": 1})
        assert (refused.status, refused.headers.getall("Warning")) == (422, ['299 - "unknown field \\"extra\\""'])
        for path in ("endpoints", "endpoints/none", "endpoints?watch=1&timeoutSeconds=1"):
            answer = await site.call(f"GET /api/v1/namespaces/default/{path}")
            (said,) = answer.headers.getall("Warning")
            assert said == '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


async def test_a_collection_is_deleted_page_by_page_when_asked_to() -> None:
    async with running() as site:
        for name in "abc":
            await site.call(f"POST {MAPS}", config_map(name))
        answer = await site.call(f"DELETE {MAPS}?limit=2")
        assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b"]
        assert answer.body["metadata"]["continue"]
        left = await site.call(f"GET {MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt")
        assert [item["metadata"]["name"] for item in left.body["items"]] == ["c"]
