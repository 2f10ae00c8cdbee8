"""What watches tell, from which version on, through selectors, and when they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from eachnode.objects.resources import CONFIG_MAPS, EVENTS, EVENTS_V1, PODS
from eachnode.objects.status import ApiError, BadRequest, Gone
from eachnode.objects.watching import WatchEvent
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Call, Caller
from eachnode.server.store import HistoryLimits, Told
from eachnode.server.verbs.watch import WatchOptions
from tests.server.apis import HOME, add, body, collect, open_api, pod_body, told, version_of

MERGE = "application/merge-patch+json"


async def relabel(api: ApiServer, name: str, **labels: str) -> dict[str, object]:
    changes = json.dumps({"metadata": {"labels": labels}}).encode()
    return (await api.patch(CONFIG_MAPS, name, changes, MERGE, HOME)).tree()


async def test_a_watch_from_a_version_replays_what_happened_since() -> None:
    api = open_api()
    start = str(api.store.committed)
    await add(api, "w")
    await relabel(api, "w", a="b")
    await api.delete(CONFIG_MAPS, "w", HOME)
    await add(api, "w")
    events = await collect(api.watch(CONFIG_MAPS, HOME, version=start), 4)
    assert [change for change, _ in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    versions = [version_of(tree) for _, tree in events]
    assert versions == sorted(set(versions)), "a deletion carries the version at which it happened"


@pytest.mark.parametrize("version", ["", "0"])
async def test_a_watch_without_a_version_begins_with_what_is_there(version: str) -> None:
    api = open_api()
    await add(api, "b", "a")
    await relabel(api, "a", x="y")
    stream = asyncio.create_task(collect(api.watch(CONFIG_MAPS, HOME, version=version), 3))
    await asyncio.sleep(0)
    await add(api, "c")
    assert told(await stream) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_initial_events_end_with_a_bookmark_that_says_so() -> None:
    api = open_api()
    await add(api, "a")
    stream = api.watch(CONFIG_MAPS, HOME, initial=True)
    batches = [await anext(stream), await anext(stream)]
    assert [event.type for batch in batches for event in batch] == ["ADDED", "BOOKMARK"]
    end = batches[1][0]
    assert end.initial_end
    assert end.document.tree() == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "resourceVersion": str(api.store.committed),
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
    }


async def test_leaving_a_selection_is_a_deletion_with_the_last_state_that_matched() -> None:
    api = open_api()
    start = str(api.store.committed)
    await add(api, "w", labels={"lit": "yes"})
    left = await relabel(api, "w", lit="no")
    back = await relabel(api, "w", lit="yes")
    events = await collect(api.watch(CONFIG_MAPS, labels="lit=yes", version=start), 3)
    assert told(events) == [("ADDED", "w"), ("DELETED", "w"), ("ADDED", "w")]
    assert events[1][1]["metadata"]["labels"] == {"lit": "yes"}
    assert version_of(events[1][1]) == version_of(left)
    assert events[2][1] == back


async def test_selectors_are_judged_the_same_live_as_in_the_past() -> None:
    api = open_api()
    start = str(api.store.committed)
    queries: list[dict[str, Any]] = [
        {"labels": "lit=yes"},
        {"labels": "lit in (yes,no)"},
        {"labels": "!lit"},
        {"labels": "lit!=yes,a"},
        {"fields": "metadata.name=a"},
        {"fields": "metadata.name!=a"},
        {"namespace": HOME},
        {"namespace": "elsewhere"},
        {},
    ]
    ends: dict[str, Any] = {"namespace": "", "labels": "", "fields": ""}
    live = [
        asyncio.create_task(collect(api.watch(CONFIG_MAPS, **{**ends, **query}, version=start, timeout=5), 99))
        for query in queries
    ]
    await asyncio.sleep(0)
    await add(api, "a", "b", labels={"lit": "yes"})
    await add(api, "c", namespace="elsewhere")
    await relabel(api, "a", lit="no", a="b")
    await api.delete(CONFIG_MAPS, "b", HOME)
    await api.patch(CONFIG_MAPS, "c", b'{"metadata":{"labels":{"lit":"no","a":"x"}}}', MERGE, "elsewhere")
    past = [
        await collect(api.watch(CONFIG_MAPS, **{**ends, **query}, version=start, timeout=5), 99) for query in queries
    ]
    assert [await task for task in live] == past
    assert [told(events) for events in past][:3] == [
        [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("DELETED", "b")],
        [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "c")],
        [("ADDED", "c"), ("DELETED", "c")],
    ]
    assert len(past[8]) == 6


async def test_a_pod_that_is_bound_enters_the_watch_of_its_node() -> None:
    api = open_api()
    await api.create(PODS, pod_body("p"), HOME)
    stream = asyncio.create_task(collect(api.watch(PODS, fields="spec.nodeName=n1", version="1"), 1))
    await asyncio.sleep(0)
    served = api.registry.served(PODS)
    await api.update(
        PODS, "p", pod_body("p", "n1"), HOME, subresource="status"
    )  # A status write leaves the spec alone: still unbound.
    assert not stream.done()
    old = served.shelf.get(HOME, "p")
    assert old is not None
    await api.delete(PODS, "p", HOME)
    await api.create(PODS, pod_body("q", "n1"), HOME)
    assert told(await stream) == [("ADDED", "q")]


async def test_bookmarks_come_about_every_minute_and_carry_the_newest_version() -> None:
    api = open_api()
    await add(api, "a")
    stream = api.watch(PODS, version=str(api.store.committed))
    begin = asyncio.get_running_loop().time()
    first = await anext(stream)
    between = asyncio.get_running_loop().time() - begin
    await add(api, "b")
    second = await anext(stream)
    assert 50 <= between <= 70
    assert [event.type for event in [*first, *second]] == ["BOOKMARK", "BOOKMARK"]
    assert version_of(second[0].document.tree()) == api.store.committed > version_of(first[0].document.tree())


async def test_a_watch_ends_at_its_timeout() -> None:
    api = open_api()
    begin = asyncio.get_running_loop().time()
    events = await collect(api.watch(CONFIG_MAPS, version="1", timeout=3.0), 1)
    assert events == []
    assert asyncio.get_running_loop().time() - begin == pytest.approx(3.0)


async def test_a_version_that_is_forgotten_is_gone() -> None:
    api = open_api(limits=HistoryLimits(seconds=0.0, always=5))
    start = api.store.committed
    await add(api, *(f"c{number}" for number in range(40)))
    await asyncio.sleep(1)
    await add(api, "last")
    with pytest.raises(Gone) as gone:
        await collect(api.watch(CONFIG_MAPS, version=str(start)), 1)
    oldest = api.registry.served(CONFIG_MAPS).shelf.history.oldest
    assert gone.value.message == f"too old resource version: {start} ({oldest})"
    assert gone.value.reason == "Expired"
    events = await collect(api.watch(CONFIG_MAPS, version=str(oldest)), 5)
    assert told(events)[-1] == ("ADDED", "last")


@pytest.mark.parametrize("query", [{}, {"namespace": HOME}, {"fields": "metadata.name!=x"}])
async def test_a_reader_that_is_too_slow_is_cut_off_and_others_are_not(query: dict[str, Any]) -> None:
    api = open_api(limits=HistoryLimits(changes=20, always=5))
    slow = api.watch(CONFIG_MAPS, version="1", **query)
    fast_seen: list[str] = []

    async def read_fast() -> None:
        async for batch in api.watch(CONFIG_MAPS, version="1", **query):
            fast_seen.extend(name for _, name in told([(event.type, event.document.tree()) for event in batch]))

    fast = asyncio.create_task(read_fast())
    await add(api, "first")
    assert told([(event.type, event.document.tree()) for event in await anext(slow)]) == [("ADDED", "first")]
    for number in range(60):
        await add(api, f"c{number}")
        await asyncio.sleep(0)
    with pytest.raises(Gone):
        await anext(slow)
    await asyncio.sleep(0)
    assert len(fast_seen) == 61
    fast.cancel()


async def test_the_history_is_bounded_by_bytes_and_by_time() -> None:
    api = open_api(limits=HistoryLimits(bytes=20_000, seconds=60.0, always=3))
    history = api.registry.served(CONFIG_MAPS).shelf.history
    for number in range(100):
        await add(api, f"c{number}", data={"k": "v" * 1000})
    assert 10 <= len(history.main.changes) <= 25
    await asyncio.sleep(61)
    await add(api, "last")
    assert len(history.main.changes) <= 4


async def test_a_thousand_watchers_each_see_every_event_and_share_its_line() -> None:
    api = open_api()

    async def first_batch() -> Sequence[WatchEvent]:
        return await anext(api.watch(CONFIG_MAPS, version="1"))

    streams = [asyncio.create_task(first_batch()) for _ in range(1000)]
    await asyncio.sleep(0)
    await add(api, "a")
    batches = await asyncio.gather(*streams)
    lines = {id(event.line) for batch in batches for event in batch if isinstance(event, Told)}
    assert len(batches) == 1000
    assert len(lines) == 1
    event = batches[0][0]
    assert isinstance(event, Told)
    assert json.loads(event.line) == {"type": "ADDED", "object": event.document.tree()}
    assert event.line.endswith(b"\n")


async def test_an_event_does_not_wake_watchers_of_other_nodes() -> None:
    api = open_api()
    woken: list[str] = []

    async def watch_node(node: str) -> None:
        async for batch in api.watch(PODS, fields=f"spec.nodeName={node}", version="1"):
            woken.extend(node for _ in batch)

    watchers = [asyncio.create_task(watch_node(f"n{number}")) for number in range(50)]
    await asyncio.sleep(0)
    lanes = api.registry.served(PODS).shelf.history
    steps: list[int] = []
    await api.create(PODS, pod_body("p", "n7"), HOME)
    await asyncio.sleep(0)
    steps.append(sum(1 for lane in lanes.lanes() if lane.changes))
    assert woken == ["n7"]
    assert steps == [1], "only the lane of that node has the change"
    for watcher in watchers:
        watcher.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
    assert list(lanes.lanes()) == [], "lanes go with their last watcher"


async def test_a_version_of_the_future_shows_only_what_comes_after_it() -> None:
    api = open_api()
    stream = asyncio.create_task(collect(api.watch(CONFIG_MAPS, version=str(api.store.committed + 1)), 1))
    await asyncio.sleep(0)
    await add(api, "not-yet", "then")
    assert told(await stream) == [("ADDED", "then")]


async def test_queries_that_make_no_sense_are_refused_at_once() -> None:
    api = open_api()
    with pytest.raises(ApiError, match=r"strconv\.ParseUint"):
        api.watch(CONFIG_MAPS, version="banana")
    with pytest.raises(BadRequest, match="not a known field selector"):
        api.watch(CONFIG_MAPS, fields="data.k=v")
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        api.watch(CONFIG_MAPS, labels="a near (b)")


async def test_without_bookmarks_there_are_none() -> None:
    api = open_api()
    await add(api, "a")
    call = Call(Caller("me"), 0.0)
    stream = api.watch_as(call, CONFIG_MAPS, options=WatchOptions(initial=True, timeout=200.0))
    assert told(await collect(stream, 9, bookmarks=True)) == [("ADDED", "a")]


async def test_events_are_watched_in_the_form_of_their_group() -> None:
    api = open_api()
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": HOME}, "reason": "R", "message": "hello"}
    await api.create(EVENTS, json.dumps({**event, "metadata": {"name": "e"}}).encode(), HOME)
    [(_, tree)] = await collect(api.watch(EVENTS_V1, HOME, fields="regarding.name=p"), 1)
    assert (tree["apiVersion"], tree["note"]) == ("events.k8s.io/v1", "hello")
    assert await collect(api.watch(EVENTS_V1, HOME, fields="regarding.name=q", timeout=1), 1) == []


async def test_names_with_special_places_in_the_order_stay_in_their_namespace() -> None:
    api = open_api()
    for namespace in ("a", "a-b", "a0"):
        await add(api, "x", namespace=namespace)
    for namespace in ("a", "a-b", "a0"):
        events = await collect(api.watch(CONFIG_MAPS, namespace, timeout=1), 5)
        assert [tree["metadata"]["namespace"] for _, tree in events] == [namespace]


async def test_a_body_of_one_object_is_never_shared_with_another() -> None:
    api = open_api()
    await api.create(CONFIG_MAPS, body("a", data={"resourceVersion": "2", "k": '"resourceVersion":"2"'}), HOME)
    await api.delete(CONFIG_MAPS, "a", HOME)
    [_, (_, tree)] = await collect(api.watch(CONFIG_MAPS, version="1"), 2)
    assert tree["data"] == {"resourceVersion": "2", "k": '"resourceVersion":"2"'}
