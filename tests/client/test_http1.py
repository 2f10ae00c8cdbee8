"""HTTP as the client speaks it: framing torn anywhere, answers that are none, connections kept and lost."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.client.access import Access
from eachnode.client.cluster import Cluster
from eachnode.client.http1 import LONGEST_HEAD, Broken, Chunked, Connection, Head, request_bytes
from eachnode.objects.resources import PODS
from eachnode.objects.status import NotFound, Unreachable
from tests.client.raw_server import HANG_UP, saying

OK = b"HTTP/1.1 200 OK\r\n"


def told(*pieces: bytes) -> Connection:
    """A connection on which these pieces came."""
    connection = Connection()
    for piece in pieces:
        connection.data_received(piece)
    return connection


async def body(connection: Connection) -> bytes:
    return await connection.read_all(1.0)


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.lists(st.integers(0, 400), max_size=12),
    st.sampled_from([b"", b";name=value"]),
    st.sampled_from([b"", b"Trailer: x\r\n"]),
)
def test_chunks_are_put_together_wherever_they_are_torn(
    contents: list[bytes], cuts: list[int], extension: bytes, trailer: bytes
) -> None:
    raw = b"".join(b"%x%s\r\n%s\r\n" % (len(each), extension, each) for each in contents) + b"0\r\n" + trailer + b"\r\n"
    chunked, found, at = Chunked(), b"", 0
    for cut in [*sorted(cuts), len(raw)]:
        found += chunked.feed(raw[at:cut])
        at = max(at, cut)
    assert found == b"".join(contents)
    assert chunked.done


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (OK + b"CONTENT-LENGTH:5\r\nX: y:z\r\n\r\nhello", b"hello"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", b"hi"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", b""),
    ],
)
async def test_an_answer_is_read_wherever_it_is_torn(raw: bytes, content: bytes) -> None:
    for cut in range(len(raw)):
        connection = told(raw[:cut], raw[cut:])
        assert await body(connection) == content


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    connection = told(OK + b"\r\nhel", b"lo")
    connection.connection_lost(None)
    assert await body(connection) == b"hello"
    assert not connection.reusable


async def test_what_is_compressed_is_unpacked_as_it_comes() -> None:
    packed = gzip.compress(b"hello" * 1000)
    framing = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert await body(told(OK + framing, packed[:7], packed[7:])) == b"hello" * 1000
    with pytest.raises(Broken, match="not compressed as it says"):
        await body(told(OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"))


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP answer"),
        (b"HTTP/1.1 two\r\n\r\n", "no HTTP answer"),
        (OK + b"no colon\r\n\r\n", "no HTTP header"),
        (OK + b"Content-Length: -1\r\n\r\n", "no length"),
        (OK + b"Content-Length: 1\r\n\r\nhello", "more came"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "no chunk"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", "negative"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 2 * LONGEST_HEAD, "too long"),
        (OK + b"A: b\r\n" * LONGEST_HEAD, "do not end"),
        (OK + b"Content-Length: 5\r\n\r\nhel", "closed the connection"),
    ],
)
async def test_what_is_no_answer_is_told_so(raw: bytes, sentence: str) -> None:
    connection = told(raw)
    connection.connection_lost(None)
    with pytest.raises(Broken, match=sentence):
        await body(connection)


def test_a_header_cannot_become_two() -> None:
    with pytest.raises(ValueError, match="line break"):
        request_bytes("GET", "/", [("Authorization", "Bearer x\r\nImpersonate-User: admin")], b"")


@pytest.mark.parametrize(
    ("lines", "keeps"),
    [
        ("HTTP/1.1 200 OK", True),
        ("HTTP/1.1 200 OK\r\nConnection: Close", False),
        ("HTTP/1.0 200 OK", False),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive", True),
    ],
)
def test_whether_a_connection_is_kept(lines: str, keeps: bool) -> None:
    assert Head(lines).keeps_alive is keeps


POD = b'{"metadata":{"name":"a"}}'
ANSWER = OK + b"Content-Length: %d\r\n\r\n" % len(POD) + POD


@pytest.mark.sockets
async def test_one_connection_serves_request_after_request() -> None:
    async with saying(lambda _: [ANSWER]) as server, Cluster(Access(server.url)) as door:
        for _ in range(5):
            assert (await door.get(PODS, "a", "default")).raw == POD
    assert (server.connections, len(server.asked)) == (1, 5)


@pytest.mark.sockets
async def test_an_answer_that_says_close_is_the_last_on_its_connection() -> None:
    closing = ANSWER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with saying(lambda _: [closing]) as server, Cluster(Access(server.url)) as door:
        for _ in range(3):
            await door.get(PODS, "a", "default")
    assert server.connections == 3


@pytest.mark.sockets
async def test_a_kept_connection_that_the_server_closed_meanwhile_is_made_anew_where_that_does_no_harm() -> None:
    async with saying(lambda number: [HANG_UP] if number == 1 else [ANSWER]) as server:
        async with Cluster(Access(server.url)) as door:
            await door.get(PODS, "a", "default")
            await door.get(PODS, "a", "default")
        assert (server.connections, len(server.asked)) == (2, 3)
    async with saying(lambda number: [HANG_UP] if number == 1 else [ANSWER]) as server:
        async with Cluster(Access(server.url)) as door:
            await door.get(PODS, "a", "default")
            with pytest.raises(Unreachable):  # It may have been carried out.
                await door.create(PODS, b"{}", "default")
        assert len(server.asked) == 2


@pytest.mark.sockets
async def test_a_new_connection_that_is_closed_at_once_is_not_tried_for_ever() -> None:
    async with saying(lambda _: [HANG_UP]) as server, Cluster(Access(server.url)) as door:
        with pytest.raises(Unreachable, match="closed the connection"):
            await door.get(PODS, "a", "default")
    assert len(server.asked) == 1


@pytest.mark.sockets
async def test_a_request_that_is_given_up_does_not_spoil_the_next() -> None:
    async with saying(lambda number: [ANSWER[:30]] if number == 0 else [ANSWER]) as server:
        async with Cluster(Access(server.url)) as door:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(door.get(PODS, "a", "default"), 0.05)
            assert (await door.get(PODS, "a", "default")).raw == POD
        assert server.connections == 2


@pytest.mark.sockets
async def test_a_server_behind_anothers_front_is_asked_with_its_path() -> None:
    refusal = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope"
    async with saying(lambda _: [refusal]) as server, Cluster(Access(f"{server.url}/k8s/clusters/c-1/")) as door:
        with pytest.raises(NotFound):
            await door.get(PODS, "a", "default")
    assert server.asked[0].startswith(b"GET /k8s/clusters/c-1/api/v1/namespaces/default/pods/a HTTP/1.1\r\n")


@pytest.mark.sockets
async def test_a_slow_reader_makes_the_server_wait() -> None:
    """What a watch has not read yet is bounded, and nothing of it is lost."""
    size, count = 1 << 16, 64
    lines = [
        b'{"type":"ADDED","object":{"metadata":{"name":"%d","x":"%s"}}}\n' % (n, b"x" * size) for n in range(count)
    ]
    chunks = [b"%x\r\n%s\r\n" % (len(line), line) for line in lines]
    pieces = [OK + b"Transfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\n\r\n"]
    names = []
    async with saying(lambda _: pieces) as server, Cluster(Access(server.url)) as door:
        async for batch in door.watch(PODS, "default"):
            assert sum(len(event.document.raw) for event in batch) < 8 * (1 << 18)
            names += [event.document.tree()["metadata"]["name"] for event in batch]
            await asyncio.sleep(0.001)
    assert names == [str(number) for number in range(count)]
