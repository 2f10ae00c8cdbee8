"""HTTP as the client speaks it: framing torn anywhere, answers that are none, connections kept and lost."""

from __future__ import annotations

import asyncio
import gzip
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.client.access import Access
from eachnode.client.cluster import Cluster
from eachnode.client.http1 import LONGEST_HEAD, Broken, Chunked, Connection, Head, request_bytes
from eachnode.objects.resources import PODS
from eachnode.objects.status import ApiError, NotFound, Unreachable
from tests.client.raw_server import HANG_UP, RawServer, saying

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
POD = b'{"metadata":{"name":"a"}}'
ANSWER = OK + b"Content-Length: %d\r\n\r\n" % len(POD) + POD


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
        (OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (OK + CHUNKS + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (OK + CHUNKS + b"0005 ; a=b\r\nhello\r\n000\r\nTrailer: x\r\n\r\n", b"hello"),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", b""),
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
    bytewise = [packed[at : at + 1] for at in range(len(packed))]
    assert await body(told(OK + framing, *bytewise)) == b"hello" * 1000
    for spoilt in (b"hello", packed[:-1], packed + b"x", packed + packed[:-1], packed[:10]):
        with pytest.raises(Broken, match="not compressed as it says"):
            await body(told(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(spoilt), spoilt))


async def test_events_that_were_compressed_one_by_one_are_heard_one_by_one() -> None:
    """As Kubernetes 1.37 sends a watch that began with the present objects."""
    members = [gzip.compress(event) for event in (b"bookmark", b"added", b"deleted")]
    framing = b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = [b"%x\r\n%s\r\n" % (len(each), each) for each in members]
    connection = told(OK + framing, chunks[0])
    assert await connection.read(1.0) == b"bookmark"
    connection.data_received(chunks[1][:15])
    connection.data_received(chunks[1][15:] + chunks[2])
    assert await connection.read(1.0) == b"addeddeleted"
    connection.data_received(b"0\r\n\r\n")
    assert await connection.read(1.0) == b""
    assert await body(told(OK + framing, b"0\r\n\r\n")) == b""


@pytest.mark.parametrize("framed", [b"Content-Length: 5\r\n\r\nhello", CHUNKS + b"5\r\nhello\r\n0\r\n\r\n"])
@pytest.mark.sockets
async def test_what_follows_an_answer_becomes_no_part_of_the_next(framed: bytes) -> None:
    """A server, or somebody on the way, that says more than it was asked is not asked again on that connection."""
    lie = OK + b"Content-Length: %d\r\n\r\n" % len(POD) + POD.replace(b"a", b"x")
    for pieces in ([OK + framed + lie], [OK + framed, lie], [OK + framed + lie[:9], lie[9:]]):
        async with saying(lambda number, pieces=pieces: pieces if number == 0 else [ANSWER]) as server:  # type: ignore[misc]  # a default binds it
            async with Cluster(Access(server.url)) as door:
                assert await door.fetch("/") == b"hello"
                assert (await door.get(PODS, "a", "default")).raw == POD
            assert server.connections == 2


def outcome(raw: bytes, cuts: list[int]) -> bytes | str:
    """The body of what came in pieces before the connection ended, or why there is none."""
    connection, at = Connection(), 0
    for cut in [*sorted(min(cut, len(raw)) for cut in cuts), len(raw)]:
        connection.data_received(raw[at:cut])
        at = cut
    connection.connection_lost(None)
    if connection._head is None:
        return "no answer"
    try:
        connection.read_all(1.0).send(None)  # Everything has come: it never waits.
    except StopIteration as end:
        return bytes(end.value)
    except Broken:
        return "broken"
    raise AssertionError("it waits for what can never come")


ANSWERS = st.sampled_from(
    [
        OK + b"Content-Length: 5\r\n\r\nhello",
        OK + CHUNKS + b"5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + CHUNKS + b"a\r\n0123456789\r\n0\r\n\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + gzip.compress(b"hello", mtime=0),
        b"HTTP/1.1 204 No Content\r\n\r\n",
        OK + b"\r\nuntil the end",
    ]
)


@given(
    ANSWERS,
    st.lists(st.tuples(st.integers(0, 120), st.binary(max_size=4), st.integers(0, 3)), max_size=3),
    st.lists(st.integers(0, 160), max_size=5),
)
def test_what_comes_means_the_same_wherever_it_is_torn(
    raw: bytes, spoiled: list[tuple[int, bytes, int]], cuts: list[int]
) -> None:
    for at, put, gone in spoiled:
        raw = raw[:at] + put + raw[at + gone :]
    whole = outcome(raw, [])
    assert outcome(raw, cuts) == whole
    assert outcome(raw, list(range(len(raw)))) == whole


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP answer"),
        (b"HTTP/1.1 two\r\n\r\n", "no HTTP answer"),
        (OK + b"no colon\r\n\r\n", "no HTTP header"),
        (OK + b"Content-Length: -1\r\n\r\n", "no length"),
        (OK + CHUNKS + b"xyz\r\n", "no chunk"),
        (OK + CHUNKS + b"-5\r\n", "no chunk"),
        (OK + CHUNKS + b"+5\r\nhello\r\n0\r\n\r\n", "no chunk"),
        (OK + CHUNKS + b"0x5\r\nhello\r\n0\r\n\r\n", "no chunk"),
        (OK + CHUNKS + b"0_5\r\nhello\r\n0\r\n\r\n", "no chunk"),
        (OK + CHUNKS + b"\r\n", "no chunk"),
        (OK + CHUNKS + b"11111111111111111\r\n", "no chunk"),
        (OK + CHUNKS + b"1" * 2 * LONGEST_HEAD, "no chunk"),
        (OK + CHUNKS + b"5\r\nhelloworld\r\n0\r\n\r\n", "longer than it says"),
        (OK + CHUNKS + b"5\r\nhello0\r\n\r\n", "longer than it says"),
        (OK + CHUNKS + b"5\r\nhello0", "no chunk"),
        (OK + CHUNKS + b"0\r\n" + b"A: b\r\n" * LONGEST_HEAD, "after an answer do not end"),
        (OK + CHUNKS + b"5\r\nhello\r\n", "closed the connection"),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "not known"),
        (OK + b"Transfer-Encoding: xchunked\r\n\r\n", "not known"),
        (OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "not known"),
        (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "no length"),
        (OK + b"Content-Length: +5\r\n\r\nhello", "no length"),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nhello", "no length"),
        (OK + b"Content-Length : 5\r\n\r\nhello", "no HTTP header"),
        (OK + b"A: b\r\n Content-Length: 5\r\n\r\nhello", "no HTTP header"),
        (OK + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello", "packed in a way that is not known"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", "another language"),
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
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close", False),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", False),
    ],
)
def test_whether_a_connection_is_kept(lines: str, keeps: bool) -> None:
    assert Head(lines).keeps_alive is keeps


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


def echo(request: bytes, chance: random.Random) -> list[bytes]:
    """An answer that repeats the path it was asked for, framed and torn by chance, and sometimes spoilt."""
    said = request.split(b" ")[1]
    match chance.randrange(3):
        case 0:
            raw = OK + b"Content-Length: %d\r\n\r\n%s" % (len(said), said)
        case 1:
            raw = OK + CHUNKS + b"1\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (said[:1], len(said) - 1, said[1:])
        case _:
            packed = gzip.compress(said)
            raw = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(packed), packed)
    spoil = chance.random()
    if spoil < 0.1:
        raw = raw[: chance.randrange(len(raw))]
        pieces = [raw, HANG_UP]
    elif spoil < 0.2:
        pieces = [raw + OK, b"Content-Length: 3\r\n\r\nlie"]
    elif spoil < 0.3:
        pieces = [raw, HANG_UP]
    elif spoil < 0.4:
        pieces = [b"HTTP/1.1 103 Early Hints\r\n\r\n" + raw]
    else:
        cut = chance.randrange(len(raw))
        pieces = [raw[:cut], raw[cut:]]
    return pieces


@pytest.mark.sockets
async def test_everyone_gets_the_answer_to_what_he_asked_or_none() -> None:
    """Two hundred requests share connections while answers are torn, cut off, followed by lies, and given up."""
    chance = random.Random(1)
    server = RawServer()
    answered = given_up = 0
    async with saying(lambda number: echo(server.asked[number], chance), server), Cluster(Access(server.url)) as door:

        async def ask(number: int) -> None:
            nonlocal answered, given_up
            fetching = asyncio.ensure_future(door.fetch(f"/{number}"))
            if chance.random() < 0.2:
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                fetching.cancel()
            try:
                said = await fetching
            except Unreachable:
                return
            except asyncio.CancelledError:
                given_up += 1
                return
            assert said == b"/%d" % number
            answered += 1

        for first in range(0, 200, 20):
            await asyncio.gather(*(ask(number) for number in range(first, first + 20)))
    assert answered > 100
    assert given_up > 5


@pytest.mark.sockets
async def test_an_answer_to_half_a_request_is_the_last_on_its_connection() -> None:
    """A server that refuses before it heard everything may take the rest for the next request."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await heard.wait()
        writer.transport.abort()

    heard = asyncio.Event()
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    place = server.sockets[0].getsockname()
    async with Cluster(Access(f"http://127.0.0.1:{place[1]}")) as door:
        with pytest.raises(ApiError):
            await door.create(PODS, b"x" * (1 << 25), "default")
        assert door._connections is not None
        assert not door._connections._idle
    heard.set()
    server.close()
