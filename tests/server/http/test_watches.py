"""Watches over HTTP."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from eachnode.objects.document import Document
from eachnode.server.http.negotiation import Form
from eachnode.server.http.shapes import Shaper, TableWatch
from eachnode.server.kind import Kind
from eachnode.server.kinds import BUILT_IN
from tests.server.http.sites import Site, config_map, impatient, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"


async def make(site: Site, *names: str) -> str:
    """Creates objects; answers with the version of the last."""
    version = ""
    for name in names:
        made = await site.call(f"POST {MAPS}", config_map(name))
        version = made.body["metadata"]["resourceVersion"]
    return version


async def test_a_watch_tells_what_is_there_and_what_happens() -> None:
    async with running() as site:
        await make(site, "a")
        async with site.lines(f"{MAPS}?watch=true") as lines:
            assert (await anext(lines))["object"]["metadata"]["name"] == "a"
            await make(site, "b")
            event = await anext(lines)
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")
            await site.call(f"DELETE {MAPS}/a")
            event = await anext(lines)
            assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "a")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/watch/namespaces/home/configmaps/b",
        "/api/v1/watch/namespaces/home/configmaps?fieldSelector=metadata.name%3Db",
        f"{MAPS}?watch=1&fieldSelector=metadata.name%3Db",
    ],
)
async def test_one_object_can_be_watched_in_old_ways_too(path: str) -> None:
    async with running() as site:
        await make(site, "a", "b")
        async with site.lines(path) as lines:
            assert (await anext(lines))["object"]["metadata"]["name"] == "b"


async def test_initial_events_end_with_a_bookmark_for_those_who_take_bookmarks() -> None:
    initial = f"{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    async with running() as site:
        await make(site, "a")
        async with site.lines(f"{initial}&allowWatchBookmarks=true") as lines:
            assert (await anext(lines))["type"] == "ADDED"
            end = await anext(lines)
            assert end["type"] == "BOOKMARK"
            assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        bare = f"{MAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true"  # From nowhere means the same.
        async with site.lines(bare) as lines:
            assert [event["type"] async for event in lines] == ["ADDED", "BOOKMARK"]
        async with site.lines(initial) as lines:
            assert [event["type"] async for event in lines] == ["ADDED"]


async def test_a_watch_can_begin_now_without_what_is_there() -> None:
    query = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    async with running() as site:
        await make(site, "a")
        async with site.lines(f"{MAPS}?{query}") as lines:
            await make(site, "b")
            assert (await anext(lines))["object"]["metadata"]["name"] == "b"


async def test_a_watch_ends_cleanly_when_its_time_is_over() -> None:
    async with running() as site, site.lines(f"{MAPS}?watch=true&timeoutSeconds=1") as lines:
        assert [event async for event in lines] == []


async def test_a_watch_in_rows_tells_its_columns_once() -> None:
    async with running() as site:
        await make(site, "a", "b")
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with site.lines(f"{MAPS}?{query}", Accept=accept) as lines:
            first, second, bookmark = [await anext(lines) for _ in range(3)]
        assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert second["object"]["columnDefinitions"] is None
        assert second["object"]["rows"][0]["cells"][0] == "b"
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["rows"][0]["object"]["metadata"]["resourceVersion"]


async def test_a_watch_of_metadata_alone() -> None:
    async with running() as site:
        await make(site, "a")
        accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
        async with site.lines(f"{MAPS}?watch=true", Accept=accept) as lines:
            event = await anext(lines)
        assert event["object"].keys() == {"kind", "apiVersion", "metadata"}


async def test_a_watch_that_cannot_begin_is_refused_with_a_status() -> None:
    async with running() as site:
        for query in (
            "labelSelector=a+near+b",
            "fieldSelector=data.k%3Dv",
            "timeoutSeconds=x",
        ):
            refused = await site.call(f"GET {MAPS}?watch=true&{query}")
            assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
        assert (await site.call(f"GET {MAPS}?watch=true&resourceVersion=banana")).status == 500
        assert (await site.call(f"GET {MAPS}?watch=true", Accept="application/yaml")).status == 406


async def test_a_version_too_old_is_said_within_the_watch() -> None:
    async with running() as site:
        shelf = site.front.api.registry.served(_config_maps(site)).shelf
        await make(site, *(f"c{number}" for number in range(3)))
        shelf.history.oldest = 1_000
        async with site.lines(f"{MAPS}?watch=true&resourceVersion=2") as lines:
            event = await anext(lines)
            assert event["type"] == "ERROR"
            assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
            assert [event async for event in lines] == []


async def test_stopping_ends_all_watches_cleanly() -> None:
    async with running() as site, site.lines(f"{MAPS}?watch=true") as lines:
        await make(site, "a")
        await anext(lines)
        stopping = asyncio.create_task(site.front.stop())
        assert [event async for event in lines] == []
        await stopping


async def test_a_watcher_who_leaves_is_forgotten() -> None:
    async with running() as site:
        async with site.lines(f"{MAPS}?watch=true") as lines:
            await make(site, "a")
            await anext(lines)
            assert site.front.metrics.watchers == 1
        async with asyncio.timeout(5):
            while site.front.metrics.watchers:
                await asyncio.sleep(0)


async def test_a_watcher_who_does_not_read_is_cut_off() -> None:
    async with running(patience=impatient(reading=0.3)) as site, site.connected() as (_, writer):
        request = f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-secret\r\n\r\n"
        writer.write(request.encode())
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a stream's transport can
        for number in range(60):
            await site.call(f"POST {MAPS}", config_map(f"c{number}", k="v" * 250_000))
        async with asyncio.timeout(10):
            while site.front.metrics.watchers or not site.front.metrics.cut_off:
                await asyncio.sleep(0.01)


async def test_many_watchers_see_every_event() -> None:
    watchers, events = 60, 20

    async def watch(site: Site, ready: asyncio.Semaphore) -> list[str]:
        async with site.connected() as (reader, writer):
            request = f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-secret\r\n\r\n"
            writer.write(request.encode())
            await reader.readuntil(b"\r\n\r\n")
            ready.release()
            found: list[str] = []
            while len(found) < events:
                line = await reader.readline()
                found += [json.loads(line)["object"]["metadata"]["name"]] if line.startswith(b"{") else []
            return found

    async with running() as site:
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(watch(site, ready)) for _ in range(watchers)]
        for _ in range(watchers):
            await ready.acquire()
        names = [f"c{number}" for number in range(events)]
        await make(site, *names)
        assert await asyncio.gather(*tasks) == [names] * watchers


def _config_maps(site: Site):  # type: ignore[no-untyped-def]  # one of the registry's resources
    return next(served.resource for served in site.front.api.registry if served.resource.plural == "configmaps")


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.resource.qualified)
def test_a_bookmark_is_a_row_of_every_kind(kind: Kind) -> None:
    bookmark = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    document = Document(msgspec.json.encode({**bookmark, "metadata": {"resourceVersion": "7"}}))
    watch = TableWatch(Shaper(kind, Form("application/json", "Table", "v1"), "Metadata"))
    (row,) = msgspec.json.decode(watch.one(document, 0.0, bookmark=True))["rows"]
    assert len(row["cells"]) == len(kind.columns)
    assert row["object"]["metadata"]["resourceVersion"] == "7"
