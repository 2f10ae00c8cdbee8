"""How paths, queries and heads of requests are read, and in which forms answers come."""

from __future__ import annotations

import json

import pytest

from tests.server.http.sites import TOKEN, config_map, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"


async def test_every_answer_has_an_audit_id_and_keeps_the_one_it_was_given() -> None:
    async with running() as site:
        for step, token in (("GET /version", TOKEN), ("GET /nowhere", TOKEN), (f"GET {MAPS}", None)):
            first, second = [await site.call(step, token=token) for _ in range(2)]
            assert len(first.headers["Audit-Id"]) == 36
            assert first.headers["Audit-Id"] != second.headers["Audit-Id"]
        assert (await site.call(f"GET {MAPS}", Audit_ID="mine")).headers["Audit-Id"] == "mine"
        watched = await site.call(f"GET {MAPS}?watch=1&timeoutSeconds=1", Audit_ID="mine")
        assert watched.headers["Audit-Id"] == "mine"


@pytest.mark.parametrize(
    ("step", "status"),
    [
        ("PUT /api/v1/nope", 404),
        ("PATCH /apis/nope.io/v1/things", 404),
        (f"PUT {MAPS}", 405),
        ("GET /api/v1/nope?limit=x", 404),
        ("POST /api/v9", 404),
        ("POST /api/v1", 405),
        ("POST /apis", 200),
        ("DELETE /readyz", 200),
        ("POST /nowhere", 404),
        ("GET /healthz/", 404),
        ("GET //api", 404),
        ("GET /api/", 200),
        ("GET /api/v1/watch/namespaces/home/pods/x/status", 404),
    ],
)
async def test_what_is_not_there_counts_before_what_is_not_allowed(step: str, status: int) -> None:
    async with running() as site:
        assert (await site.call(step)).status == status


async def test_a_path_is_read_as_it_is_meant() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        assert (await site.call("GET /api/v1/namespaces/home%2Fconfigmaps/a")).body["metadata"]["name"] == "a"
        unreadable = await site.call_raw("GET /api/v1/namespaces/%zz")
        assert unreadable == (400, "400 Bad Request")
        for name, problem in (("%2e%2e", "may not be '..'"), ("%25", "may not contain '%'")):
            for method in ("GET", "DELETE"):
                status, body = await site.call_raw(f"{method} {MAPS}/{name}")
                assert status == 400
                assert json.loads(body)["message"].startswith("Name parameter invalid: ")
                assert json.loads(body)["message"].endswith(problem)


async def test_a_name_in_the_path_and_another_in_the_selector_contradict() -> None:
    async with running() as site:
        path = "GET /api/v1/watch/namespaces/home/configmaps/a?timeoutSeconds=1&fieldSelector=metadata.name%3D"
        assert (await site.call(f"{path}a")).status == 200
        refused = await site.call(f"{path}b")
        assert (refused.status, refused.message) == (400, "fieldSelector metadata.name doesn't match requested name")


async def test_who_accepts_nothing_that_there_is_learns_what_there_is() -> None:
    async with running() as site:
        for accept in ("text/html", "application/*", "garbage"):
            refused = await site.call(f"GET {MAPS}", Accept=accept)
            sentence = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
            assert (refused.status, refused.message, refused.body["details"]) == (406, sentence, {})


async def test_a_kind_that_is_discouraged_says_so_once_it_is_clear_who_answers() -> None:
    async with running() as site:
        path = "/api/v1/namespaces/home/endpoints/a"
        table = await site.call(f"GET {path}", Accept="application/json;as=Table;v=v2;g=meta.k8s.io")
        assert (table.status, "Warning" in table.headers) == (406, True)
        for answer in (
            await site.call(f"GET {path}", Accept="text/html"),
            await site.call(f"PATCH {path}", {}, Content_Type="text/plain"),
        ):
            assert answer.status in (406, 415)
            assert "Warning" not in answer.headers


async def test_a_content_type_with_half_a_parameter_is_none() -> None:
    async with running() as site:
        for good in ("application/json; charset=utf-8", 'application/json;a="b;c"', "application/json;"):
            await site.call(f"DELETE {MAPS}/a")
            assert (await site.call(f"POST {MAPS}", config_map("a"), Content_Type=good)).status == 201
        assert (await site.call(f"POST {MAPS}", config_map("a"), Content_Type="application/json;x")).status == 415


async def test_yaml_is_written_as_the_reference_writes_it() -> None:
    data = {
        "number": "1.5",
        "word": "yes",
        "time": "12:30",
        "lines": "a\nb\n",
        "odd": "a: b",
        "plain": "a b",
        "score": "_1",
        "long": "word " * 20,
    }
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a", **data))
        text = (await site.call(f"GET {MAPS}/a", Accept="application/yaml")).body
        for line in (
            *('  number: "1.5"', '  word: "yes"', '  time: "12:30"', "  lines: |", "  odd: 'a: b'", "  plain: a b"),
            *("  score: _1", "  long: 'word word word word word word word word word word word word word word word"),
        ):
            assert line in text.splitlines()


async def test_every_answer_in_json_is_a_whole_line() -> None:
    async with running() as site:
        for path in (MAPS, "/api", "/apis/apps/v1", f"{MAPS}/none", "/version"):
            assert (await site.call_raw(f"GET {path}"))[1].endswith("}\n")


async def test_options_in_a_query_that_cannot_be_read_are_not_there() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        for query in ("limit=x;y", "labelSelector=%zz", "fieldSelector=%"):
            assert (await site.call_raw(f"GET {MAPS}?{query}"))[0] == 200
