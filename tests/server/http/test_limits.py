"""What cannot be used to hold the server up: big, deep, slow, half-sent and too many requests."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from typing import Any

import pytest

from eachnode.server.http.incoming import DEEPEST_NESTING, LARGEST_BODY
from tests.server.http.sites import Site, config_map, impatient, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"
HEAD = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-secret\r\nContent-Type: application/json\r\n"


async def still_answers(site: Site) -> None:
    """The server is as well as before."""
    assert (await site.call("GET /readyz")).body == "ok"
    assert (await site.call(f"POST {MAPS}", config_map("fine"))).status in (201, 409)


async def raw(site: Site, data: bytes) -> tuple[int, Any]:
    """What comes back for these bytes: the code and the body, until the connection is closed."""
    async with site.connected() as (reader, writer):
        writer.write(data)
        answer = b""
        # Who has answered and does not read the rest resets the connection; what was answered has come all the same.
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(5):
                while piece := await reader.read(65536):
                    answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body.startswith(b"{") else body


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_three_mebibytes_is_refused(chunked: bool) -> None:
    body = json.dumps(config_map("big", k="v" * LARGEST_BODY)).encode()

    async def parts() -> Any:
        yield body

    async with running() as site:
        headers = {"Authorization": "Bearer a-secret", "Content-Type": "application/json"}
        async with site.session.post(
            f"{site.front.url}{MAPS}", data=parts() if chunked else io.BytesIO(body), headers=headers
        ) as response:
            refused = await response.json()
        assert (response.status, refused["reason"]) == (413, "RequestEntityTooLarge")
        assert refused["message"] == f"Request entity too large: limit is {LARGEST_BODY}"
        await still_answers(site)


@pytest.mark.parametrize("media", ["application/json", "application/yaml"])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
async def test_a_body_that_nests_without_end_is_refused(media: str, opening: str) -> None:
    async with running() as site:
        refused = await site.call(f"POST {MAPS}", opening * 100_000, Content_Type=media)
        assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
        await still_answers(site)


async def test_brackets_in_texts_are_no_nesting() -> None:
    async with running() as site:
        made = await site.call(f"POST {MAPS}", config_map("a", k='[{"\\' * 1000))
        assert made.status == 201


async def test_what_nests_as_deeply_as_is_allowed_is_read() -> None:
    deep = "[" * (DEEPEST_NESTING - 2) + "]" * (DEEPEST_NESTING - 2)
    async with running() as site:
        body = f'{{"metadata":{{"name":"a"}},"unknown":{deep}}}'
        assert (await site.call(f"POST {MAPS}", body)).status == 201


async def test_yaml_whose_aliases_explode_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    bomb = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata: *a11\n"
    async with running() as site:
        async with asyncio.timeout(20):
            refused = await site.call(f"POST {MAPS}", "\n".join([*lines, bomb]), Content_Type="application/yaml")
        assert refused.status == 400
        await still_answers(site)


async def test_yaml_whose_aliases_explode_is_refused_in_the_options_of_a_delete() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        async with asyncio.timeout(20):
            refused = await site.call(
                f"DELETE {MAPS}/a", "\n".join([*lines, "preconditions: *a11"]), Content_Type="application/yaml"
            )
        assert refused.status == 400
        await still_answers(site)


@pytest.mark.parametrize(
    "selector",
    ["a" * 20_000, ",".join(f"k{n}=v" for n in range(3_000)), "a in (" * 500, "(" * 5_000, "!" * 5_000, "\x00", "a=é"],
)
@pytest.mark.parametrize("option", ["labelSelector", "fieldSelector"])
async def test_an_absurd_selector_is_refused_or_selects_nothing(selector: str, option: str) -> None:
    from urllib.parse import quote

    async with running() as site:
        async with asyncio.timeout(10):
            answer = await site.call(f"GET {MAPS}?{option}={quote(selector)}")
        assert answer.status in (200, 400)
        await still_answers(site)


async def test_a_query_of_a_thousand_options_is_refused() -> None:
    async with running() as site:
        assert (await site.call(f"GET {MAPS}?{'&'.join('a=b' for _ in range(1000))}")).status == 400


async def test_a_compressed_body_is_refused() -> None:
    async with running() as site:
        refused = await site.call(f"POST {MAPS}", b"\x1f\x8b", Content_Encoding="gzip")
        assert refused.status == 415


async def test_a_head_that_comes_drop_by_drop_is_cut_off() -> None:
    async with running(patience=impatient(head=0.2)) as site:
        async with site.connected() as (reader, writer):
            writer.write(HEAD.encode())
            async with asyncio.timeout(5):
                assert await reader.read() == b""
        await still_answers(site)


async def test_a_head_that_comes_in_time_is_answered_though_it_came_in_two_parts() -> None:
    async with running(patience=impatient(head=5.0)) as site, site.connected() as (reader, writer):
        for _ in range(2):
            writer.write(b"GET /healthz HT")
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"TP/1.1\r\nHost: x\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"\r\n\r\nok")


async def test_a_silent_connection_is_closed() -> None:
    async with running(patience=impatient(silence=0.2)) as site, site.connected() as (reader, _):
        async with asyncio.timeout(5):
            assert await reader.read() == b""


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with running(patience=impatient(body=0.2)) as site:
        async with site.connected() as (reader, writer):
            writer.write(f"{HEAD}Content-Length: 100\r\n\r\n{{".encode())
            async with asyncio.timeout(5):
                assert await reader.readline() == b"HTTP/1.1 408 Request Timeout\r\n"
        await still_answers(site)


async def test_a_body_that_breaks_off_hurts_nobody() -> None:
    async with running() as site:
        async with site.connected() as (_, writer):
            writer.write(f"{HEAD}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
        await still_answers(site)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"GET /%zz HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
        f"{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_not_http_gets_a_400(data: bytes) -> None:
    async with running() as site:
        code, _ = await raw(site, data)
        assert code in (400, 403, 404)
        await still_answers(site)


async def test_one_connection_too_many_is_turned_away_politely() -> None:
    async with running(patience=impatient(connections=2)) as site:
        async with site.connected() as (reader, writer), site.connected() as (second_reader, second_writer):
            for one, other in ((reader, writer), (second_reader, second_writer)):
                other.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert b" 200 " in await one.readline()
            async with site.connected() as (third, _):
                answer = await third.read()
            assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n")
        async with asyncio.timeout(5):
            while (await site.call("GET /healthz")).status != 200:
                await asyncio.sleep(0)


async def test_more_requests_than_can_be_worked_on_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(max_in_flight=1) as site:
        gate = asyncio.Event()
        get_as = site.front.api.get_as

        async def waits(*arguments: Any, **options: Any) -> Any:
            await gate.wait()
            return await get_as(*arguments, **options)

        monkeypatch.setattr(site.front.api, "get_as", waits)
        first = asyncio.create_task(site.call(f"GET {MAPS}/a"))
        async with asyncio.timeout(5):
            while site.front.metrics.in_flight == 0:
                await asyncio.sleep(0)
        second = await site.call(f"GET {MAPS}/a")
        assert (second.status, second.headers["Retry-After"]) == (429, "1")
        assert second.body["reason"] == "TooManyRequests"
        gate.set()
        assert (await first).status == 404
        assert site.front.metrics.in_flight == 0


async def test_hundreds_of_idle_and_half_sent_connections_hurt_nobody() -> None:
    async with running() as site:
        connections = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(300)]
        for number, (_, writer) in enumerate(connections):
            if number % 2:
                writer.write(b"GET /api/v1/pods HTTP/1.1\r\nHo")
        await still_answers(site)
        for _, writer in connections:
            writer.close()
