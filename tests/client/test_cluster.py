"""The door over HTTP, against a web server that answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from eachnode.client.access import Access
from eachnode.client.cluster import Cluster
from eachnode.client.credentials import FixedCredentials, bearer
from eachnode.client.door import Door, PatchKind
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import CLUSTER_ROLES, DAEMON_SETS, NODES, PODS, Resource
from eachnode.objects.status import (
    AlreadyExists,
    ApiError,
    Gone,
    InternalError,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from tests.client.http_server import Handler, Server, serving

pytestmark = pytest.mark.sockets


def answer(tree: Any, status: int = 200, **headers: str) -> web.Response:
    return web.Response(text=json.dumps(tree), status=status, content_type="application/json", headers=headers)


def status(code: int, reason: str, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message, **more}


POD = {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "5"}}


@asynccontextmanager
async def cluster(handler: Handler, **options: Any) -> AsyncIterator[tuple[Cluster, Server]]:
    access = options.pop("access", {})
    async with serving(handler) as server, Cluster(Access(server.url, **access), **options) as door:
        yield door, server


async def echo(request: web.Request) -> web.StreamResponse:
    return answer(POD, 201 if request.method == "POST" else 200)


async def test_it_is_a_door() -> None:
    door: Door = Cluster(Access("http://nowhere"))
    assert isinstance(door, Cluster)


async def test_each_verb_asks_for_the_right_thing() -> None:
    async with cluster(echo) as (door, server):
        await door.get(PODS, "a", "ns", subresource="status")
        await door.create(PODS, b"{}", "ns", field_manager="me", dry_run=True)
        await door.create(PODS, b"{}", "ns", name="a", subresource="binding")
        await door.update(DAEMON_SETS, "d", b"{}", "ns", subresource="status")
        await door.patch(NODES, "n", b"{}", PatchKind.APPLY, field_manager="me", force=True)
        await door.delete(PODS, "a", "ns", options=DeleteOptions(preconditions=Preconditions(uid="u")))
        await door.delete_collection(PODS, "ns", labels="a=b")
        await door.get(CLUSTER_ROLES, "system:node")
    found = [(each.method, each.path, each.query, each.body) for each in server.asked]
    assert found == [
        ("GET", "/api/v1/namespaces/ns/pods/a/status", {}, b""),
        ("POST", "/api/v1/namespaces/ns/pods", {"fieldManager": "me", "dryRun": "All"}, b"{}"),
        ("POST", "/api/v1/namespaces/ns/pods/a/binding", {}, b"{}"),
        ("PUT", "/apis/apps/v1/namespaces/ns/daemonsets/d/status", {}, b"{}"),
        ("PATCH", "/api/v1/nodes/n", {"fieldManager": "me", "force": "true"}, b"{}"),
        ("DELETE", "/api/v1/namespaces/ns/pods/a", {}, b'{"preconditions":{"uid":"u"}}'),
        ("DELETE", "/api/v1/namespaces/ns/pods", {"labelSelector": "a=b"}, b""),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", {}, b""),
    ]
    assert server.asked[4].header("Content-Type") == ["application/apply-patch+yaml"]
    assert server.asked[0].header("User-Agent")[0].startswith("eachnode/")


async def test_a_list_is_cut_into_its_items() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        metadata = {"resourceVersion": "9", "continue": "more", "remainingItemCount": 3}
        return answer({"kind": "PodList", "metadata": metadata, "items": [POD, POD]})

    async with cluster(handler) as (door, server):
        page = await door.list(PODS, "ns", labels="a in (b,c)", fields="x=y", limit=2, after="here", version="3")
    assert (page.version, page.continues, page.remaining) == ("9", "more", 3)
    assert [document.read(MetadataOnly).metadata.name for document in page.documents] == ["a", "a"]
    assert page.documents[0].tree() == POD
    assert server.last.query == {
        "labelSelector": "a in (b,c)",
        "fieldSelector": "x=y",
        "limit": "2",
        "continue": "here",
        "resourceVersion": "3",
    }


async def test_a_list_without_items_is_empty_and_something_else_is_no_list() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return answer({"items": None} if "pods" in request.path else ["what?"])

    async with cluster(handler) as (door, _):
        assert (await door.list(PODS)).documents == ()
        with pytest.raises(Unreachable, match="no list"):
            await door.list(NODES)


def line(change: str, **metadata: Any) -> bytes:
    return json.dumps({"type": change, "object": {"metadata": metadata}}).encode() + b"\n"


def watch_of(*chunks: bytes, keep_open: float = 0.0) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.02)
        await asyncio.sleep(keep_open)
        return response

    return handler


async def test_a_watch_is_cut_into_batches_wherever_its_bytes_are_torn() -> None:
    ending = line("BOOKMARK", resourceVersion="7", annotations={"k8s.io/initial-events-end": "true"})
    everything = line("ADDED", name="a") + line("ADDED", name="ü") + ending + line("DELETED", name="a")
    for at in range(1, len(everything), 7):
        async with cluster(watch_of(everything[:at], everything[at:])) as (door, server):
            batches = [batch async for batch in door.watch(NODES, version="5", initial=True, timeout=300)]
        events = [event for batch in batches for event in batch]
        assert [(event.type, event.initial_end) for event in events] == [
            ("ADDED", False),
            ("ADDED", False),
            ("BOOKMARK", True),
            ("DELETED", False),
        ]
        assert events[1].document.read(MetadataOnly).metadata.name == "ü"
        assert len(batches) <= 2
        if at > 60:
            break
    assert server.last.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "300",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }


async def test_an_error_in_a_watch_is_raised_as_what_it_means() -> None:
    error = json.dumps({"type": "ERROR", "object": status(410, "Expired", "too old")}).encode() + b"\n"
    async with cluster(watch_of(line("ADDED", name="a"), error)) as (door, _):
        stream = door.watch(NODES, version="1")
        assert len(await anext(stream)) == 1
        with pytest.raises(Gone, match="too old"):
            await anext(stream)


async def test_a_watch_that_is_refused_raises_the_refusal() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return answer(status(410, "Expired"), 410)

    async with cluster(handler) as (door, _):
        with pytest.raises(Gone):
            await anext(door.watch(NODES, version="1"))


async def test_a_silent_connection_is_noticed() -> None:
    async with cluster(watch_of(line("ADDED", name="a"), keep_open=30), watch_silence=0.2) as (door, _):
        stream = door.watch(NODES, version="1")
        await anext(stream)
        async with asyncio.timeout(5):
            with pytest.raises(Unreachable, match="no answer in time"):
                await anext(stream)


async def test_a_connection_cut_in_mid_sentence_ends_the_watch() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", name="a") + b'{"type":"AD')
        assert request.transport is not None
        request.transport.close()
        return response

    async with cluster(handler) as (door, _):
        batches = [batch async for batch in door.watch(NODES, version="1")]
    assert [len(batch) for batch in batches] == [1]


async def test_a_watch_that_is_closed_gives_its_connection_up() -> None:
    gone = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(line("ADDED", name="a"))
                await asyncio.sleep(0.01)
        except (ConnectionError, asyncio.CancelledError):
            gone.set()
            raise

    async with cluster(handler) as (door, _):
        stream = door.watch(NODES, version="1")
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined] # it is a generator
        async with asyncio.timeout(5):
            await gone.wait()


@pytest.mark.parametrize(
    ("code", "body", "kind", "message"),
    [
        (404, status(404, "NotFound", 'pods "a" not found'), NotFound, 'pods "a" not found'),
        (409, status(409, "AlreadyExists", "is there"), AlreadyExists, "is there"),
        (500, status(500, "InternalError", "oh"), InternalError, "oh"),
    ],
)
async def test_a_refusal_is_raised_as_what_it_means(
    code: int, body: dict[str, Any], kind: type[ApiError], message: str
) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return answer(body, code)

    async with cluster(handler) as (door, _):
        with pytest.raises(kind) as caught:
            await door.get(PODS, "a", "ns")
    assert str(caught.value) == message


@pytest.mark.parametrize(("code", "text"), [(502, "<html>bad\n gateway</html>"), (404, ""), (302, ""), (500, "[1]")])
async def test_an_answer_that_is_no_status_is_still_named(code: int, text: str) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text=text)

    async with cluster(handler) as (door, _):
        with pytest.raises(ApiError, match=f"/api/v1/pods/a: the server answered {code}") as caught:
            await door.get(PODS, "a")
    assert caught.value.code == code
    assert "\n" not in str(caught.value)


async def test_nobody_there_is_unreachable_and_says_where() -> None:
    async with Cluster(Access("http://127.0.0.1:1")) as door:
        with pytest.raises(Unreachable, match=r"http://127.0.0.1:1: cannot connect: .*refused"):
            await door.get(PODS, "a")


def later(times: int, code: int, **headers: str) -> Handler:
    left = times

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal left
        if left:
            left -= 1
            return answer(status(code, "TooManyRequests" if code == 429 else "ServiceUnavailable"), code, **headers)
        return answer(POD)

    return handler


async def test_later_means_the_same_request_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = quick_sleep(monkeypatch)
    async with cluster(later(2, 429, **{"Retry-After": "3"})) as (door, server):
        await door.create(PODS, b"{}", "ns")
    assert [each.method for each in server.asked] == ["POST"] * 3
    assert len(waits) == 2
    assert all(3 <= wait <= 3.75 for wait in waits)


async def test_unavailable_is_asked_again_only_when_that_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_sleep(monkeypatch)
    async with cluster(later(1, 503, **{"Retry-After": "1"})) as (door, server):
        await door.get(PODS, "a")
        assert len(server.asked) == 2
    async with cluster(later(1, 503, **{"Retry-After": "1"})) as (door, server):
        with pytest.raises(Unavailable) as caught:
            await door.create(PODS, b"{}", "ns")
        assert caught.value.retry_after == 1
        assert len(server.asked) == 1


async def test_a_refusal_without_a_time_is_not_repeated() -> None:
    """An eviction that a disruption budget forbids, say."""
    async with cluster(later(1, 429)) as (door, server):
        with pytest.raises(TooManyRequests):
            await door.create(PODS, b"{}", "ns", name="a", subresource="eviction")
    assert len(server.asked) == 1


async def test_asking_again_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = quick_sleep(monkeypatch)
    async with cluster(later(99, 429, **{"Retry-After": "9999"})) as (door, server):
        with pytest.raises(TooManyRequests):
            await door.get(PODS, "a")
    assert len(server.asked) == 10
    assert max(waits) <= 75


def quick_sleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits of the client take no time but are noted."""
    waits: list[float] = []
    sleep = asyncio.sleep

    async def quick(seconds: float) -> None:
        if seconds >= 1:  # The test's own server sleeps shorter.
            waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("eachnode.client.cluster.asyncio.sleep", quick)
    return waits


async def test_writes_are_bounded_in_flight_and_reads_are_not() -> None:
    busy = most = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        return answer(POD)

    async with cluster(handler, max_in_flight=3) as (door, _):
        await asyncio.gather(*(door.create(PODS, b"{}", "ns") for _ in range(12)))
        assert most == 3
        await asyncio.gather(*(door.get(PODS, "a", "ns") for _ in range(12)))
        assert most > 3


async def test_after_401_renewed_credentials_are_tried_once() -> None:
    class Renewing(FixedCredentials):
        token = "old"

        async def headers(self) -> dict[str, str]:
            return bearer(self.token)

        async def refused(self) -> bool:
            self.token = "new"
            return True

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] == f"Bearer {accepted}":
            return answer(POD)
        return answer(status(401, "Unauthorized", "Unauthorized"), 401)

    accepted = "new"
    async with cluster(handler, access={"credentials": Renewing()}) as (door, server):
        await door.get(PODS, "a")
        assert len(server.asked) == 2
        accepted = "another"
        with pytest.raises(Unauthorized):
            await door.get(PODS, "a")
        assert len(server.asked) == 4


async def test_impersonation_headers_may_repeat() -> None:
    impersonation = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with cluster(echo, access={"impersonation": impersonation}) as (door, server):
        await door.get(PODS, "a")
    assert server.last.header("Impersonate-Group") == ["a", "b"]


async def test_what_is_compressed_is_unpacked() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = answer({"items": [POD] * 100})
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with cluster(handler) as (door, server):
        assert len((await door.list(PODS)).documents) == 100
    assert server.last.header("Accept-Encoding") == ["gzip"]


async def test_a_proxy_is_asked_for_the_server() -> None:
    async with serving(echo) as proxy, Cluster(Access("http://far.example:80", proxy=proxy.url)) as door:
        await door.get(PODS, "a")
    assert proxy.last.header("Host") == ["far.example"]


async def test_discovery_tells_what_can_be_looped_over_in_its_preferred_version() -> None:
    verbs = ["list", "watch", "delete", "get"]

    def kind(name: str, kind: str, verbs: list[str] = verbs) -> dict[str, Any]:
        return {"name": name, "kind": kind, "namespaced": True, "singularName": "", "verbs": verbs}

    pages = {
        "/apis": {
            "groups": [
                {
                    "name": "apps",
                    "versions": [{"version": "v1beta1"}, {"version": "v1"}],
                    "preferredVersion": {"version": "v1"},
                },
                {"name": "broken.example", "versions": [{"version": "v1"}]},
            ]
        },
        "/api/v1": {
            "resources": [kind("pods", "Pod"), kind("pods/status", "Pod"), kind("bindings", "Binding", ["create"])]
        },
        "/apis/apps/v1": {"resources": [kind("daemonsets", "DaemonSet")]},
        "/apis/apps/v1beta1": {"resources": [kind("daemonsets", "DaemonSet"), kind("olds", "Old")]},
    }

    async def handler(request: web.Request) -> web.StreamResponse:
        page = pages.get(request.path)
        return answer(page) if page else answer(status(503, "ServiceUnavailable", "down"), 503)

    async with cluster(handler) as (door, _):
        assert await door.served() == [PODS, DAEMON_SETS, Resource("apps", "v1beta1", "olds", "Old")]
