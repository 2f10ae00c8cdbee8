"""An informer against a small server on virtual time: what its subscribers see, whatever happens to connections."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from eachnode.client.faulty import NONE, Faults, Faulty
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, Metadata, MetadataOnly
from eachnode.objects.resources import NODES, PODS
from eachnode.objects.status import Forbidden, Gone, InternalError, Invalid, Unavailable, Unreachable
from eachnode.objects.watching import Page, WatchEvent
from eachnode.runtime.informer import Informer, State
from eachnode.runtime.virtual_time import LoopClock
from tests.runtime.small_server import SmallServer

Seen = list[str]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    size: int = 0


def informer(door: Any, **options: Any) -> Informer[Node]:
    return Informer(door, NODES, Node, clock=LoopClock(), chance=random.Random(1), **options)


def node(name: str, size: int = 0, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | metadata, "size": size}


def record(nodes: Informer[Node]) -> Seen:
    """What a subscriber sees, in short: +a, a:1>2, -a."""
    seen: Seen = []

    def react(old: Node | None, new: Node | None) -> None:
        if old is None and new is not None:
            seen.append(f"+{new.metadata.name}")
        elif new is None and old is not None:
            seen.append(f"-{old.metadata.name}")
        elif old is not None and new is not None:
            seen.append(f"{new.metadata.name}:{old.size}>{new.size}")

    nodes.subscribe(react)
    return seen


@asynccontextmanager
async def running(nodes: Informer[Node]) -> AsyncIterator[None]:
    task = asyncio.create_task(nodes.run())
    await nodes.synced.wait()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def settle(seconds: float = 0.01) -> None:
    await asyncio.sleep(seconds)


@pytest.mark.parametrize("streams_initial", [True, False])
async def test_what_is_there_and_what_changes_is_told(streams_initial: bool) -> None:
    server = SmallServer(streams_initial=streams_initial)
    server.put(NODES, node("a", 1))
    server.put(NODES, node("b", 1))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("a", 2))
        server.put(NODES, node("c"))
        server.remove(NODES, "b")
        await settle()
        assert seen == ["+a", "+b", "a:1>2", "+c", "-b"]
        assert sorted(nodes.items) == [Key("", "a"), Key("", "c")]
        assert nodes.version == str(server.version)
        assert nodes.state is State.WATCHING


async def test_a_server_that_does_not_stream_initial_objects_is_asked_only_once() -> None:
    server = SmallServer(streams_initial=False)
    nodes = informer(server)
    async with running(nodes):
        server.forget_history()
        server.put(NODES, node("a"))
        server.forget_history()
        server.break_connections()
        await settle(5)
    assert server.requests == ["watch nodes", "list nodes", "watch nodes", "watch nodes", "list nodes", "watch nodes"]


async def test_a_server_that_ignores_the_wish_for_initial_objects_is_listed() -> None:
    class Silent(SmallServer):
        async def watch(self, *args: Any, **options: Any) -> AsyncIterator[Sequence[WatchEvent]]:
            if options.get("initial"):
                await asyncio.sleep(3600)
            async for batch in super().watch(*args, **options):
                yield batch

    server = Silent()
    server.put(NODES, node("a"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        assert seen == ["+a"]


async def test_a_server_whose_storage_cannot_stream_initial_objects_is_listed() -> None:
    """A real API server on an old etcd accepts the watch and ends it with an internal error."""

    class OldStorage(SmallServer):
        async def watch(self, *args: Any, **options: Any) -> AsyncIterator[Sequence[WatchEvent]]:
            if options.get("initial"):
                raise InternalError("the required storage feature RequestWatchProgress is disabled")
            async for batch in super().watch(*args, **options):
                yield batch

    server = OldStorage()
    server.put(NODES, node("a"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        assert seen == ["+a"]


async def test_a_late_subscriber_is_told_what_is_there() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    nodes = informer(server)
    async with running(nodes):
        assert record(nodes) == ["+a"]


async def test_a_dropped_watch_resumes_where_it_was_without_listing() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        await settle(5)
        server.break_connections()
        server.put(NODES, node("b"))
        await settle(40)
        assert seen == ["+a", "+b"]
        assert nodes.relists == 0
        assert server.requests == ["watch nodes", "watch nodes"]


async def test_bookmarks_move_the_version_to_resume_from() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    nodes = informer(server)
    async with running(nodes):
        for _ in range(3):
            server.put(PODS, {"metadata": {"name": "p"}})
        server.bookmark(NODES)
        await settle(5)
        assert nodes.version == str(server.version)
        server.forget_history()
        server.break_connections()
        await settle(40)
        assert nodes.relists == 0


@pytest.mark.behaviour(93)
@pytest.mark.parametrize("streams_initial", [True, False])
async def test_after_410_only_differences_are_told_and_what_vanished_is_a_deletion(streams_initial: bool) -> None:
    server = SmallServer(streams_initial=streams_initial)
    for name in "abc":
        server.put(NODES, node(name))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        await settle(5)
        seen.clear()
        server.failures.extend([Unreachable("broken")] * 2)
        server.break_connections()
        await settle(0.1)
        server.remove(NODES, "a")
        server.put(NODES, node("b", 7))
        server.put(NODES, node("d"))
        server.forget_history()
        await settle(60)
        assert seen == ["-a", "b:0>7", "+d"]
        assert nodes.relists == 1


async def test_an_object_replaced_unseen_is_an_end_and_a_beginning() -> None:
    server = SmallServer()
    server.put(NODES, node("a", uid="one"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        await settle(5)
        server.failures.append(Unreachable("broken"))
        server.break_connections()
        await settle(0.1)
        server.remove(NODES, "a")
        server.put(NODES, node("a", uid="two"))
        server.forget_history()
        await settle(60)
        assert seen == ["+a", "-a", "+a"]


async def test_lists_are_read_in_pages() -> None:
    server = SmallServer(streams_initial=False)
    for number in range(1201):
        server.put(NODES, node(f"n{number:04}"))
    nodes = informer(server)
    async with running(nodes):
        assert len(nodes.items) == 1201
        assert server.requests.count("list nodes") == 3


@pytest.mark.behaviour(88)
async def test_the_same_version_again_is_no_change() -> None:
    server = SmallServer()
    server.put(NODES, node("a", 1))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("a", 2))
        await settle()
        server.log.append((server.version + 1, NODES, server.log[-1][2]))
        server.version += 1
        server.put(PODS, {"metadata": {"name": "wake"}})
        await settle()
        assert seen == ["+a", "a:1>2"]


async def test_repeated_batches_bring_nothing_back() -> None:
    server = SmallServer()
    nodes = informer(Faulty(server, Faults(watch_repeats=1.0), chance=random.Random(1)))
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("a"))
        await asyncio.sleep(1)  # Repeated ones come one after another.
        server.remove(NODES, "a")
        await asyncio.sleep(1)
        server.put(NODES, node("b"))
        await asyncio.sleep(1)
        server.put(NODES, node("c"))
        await asyncio.sleep(1)
        assert seen == ["+a", "-a", "+b", "+c"]


async def test_objects_of_no_interest_are_not_kept_and_losing_interest_is_a_deletion() -> None:
    server = SmallServer()
    server.put(NODES, node("a", 1))
    server.put(NODES, node("b", 9))
    nodes = informer(server, keep=lambda item: item.size < 5)
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("a", 8))
        server.put(NODES, node("b", 2))
        server.put(NODES, node("c", 7))
        server.remove(NODES, "c")
        await settle()
        assert seen == ["+a", "-a", "+b"]
        assert list(nodes.items) == [Key("", "b")]


async def test_what_cannot_be_read_is_skipped_and_told_and_stops_nothing() -> None:
    server = SmallServer()
    server.put(NODES, node("a") | {"size": "large"})
    server.put(NODES, node("b", 1))
    told: list[str] = []

    def on_malformed(document: Document, error: Exception) -> None:
        told.append(document.read(MetadataOnly).metadata.name)
        assert "size" in str(error)

    nodes = informer(server, on_malformed=on_malformed)
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("b") | {"size": []})
        server.put(NODES, node("c"))
        server.remove(NODES, "b")
        server.remove(NODES, "a")
        await settle()
        assert seen == ["+b", "+c", "-b"]
        assert told == ["a", "b"]
        assert nodes.malformed == 2


async def test_a_subscriber_that_fails_harms_neither_the_others_nor_the_informer() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    nodes = informer(server)

    def broken(old: Node | None, new: Node | None) -> None:
        raise RuntimeError("a bug")

    nodes.subscribe(broken)
    seen = record(nodes)
    async with running(nodes):
        server.put(NODES, node("b"))
        await settle()
        assert seen == ["+a", "+b"]


async def test_pauses_between_failures_grow_and_are_named() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    server.failures.extend([Unavailable("broken inside")] * 12)
    times: list[float] = []
    server.before_request = lambda _: times.append(asyncio.get_running_loop().time())
    nodes = informer(server)
    task = asyncio.create_task(nodes.run())
    await asyncio.sleep(3)
    assert "broken inside" in nodes.trouble
    await nodes.synced.wait()
    assert nodes.trouble == ""
    pauses = [after - before for before, after in itertools.pairwise(times)]
    for number, pause in enumerate(pauses):
        longest = min(0.8 * 2**number, 30)
        assert longest / 2 <= pause <= longest
    task.cancel()


async def test_a_missing_permission_is_retried_and_named() -> None:
    server = SmallServer(streams_initial=False)
    server.failures.extend([Forbidden("nodes is forbidden: may not list")] * 3)
    nodes = informer(server)
    task = asyncio.create_task(nodes.run())
    await asyncio.sleep(0.1)
    assert "may not list" in nodes.trouble
    assert not nodes.synced.is_set()
    await nodes.synced.wait()
    task.cancel()


async def test_watches_last_five_to_ten_minutes_and_are_followed_by_the_next_at_once() -> None:
    server = SmallServer()
    times: list[float] = []
    server.before_request = lambda _: times.append(asyncio.get_running_loop().time())
    nodes = informer(server)
    async with running(nodes):
        await settle(4000)
    lengths = [after - before for before, after in itertools.pairwise(times)]
    assert 6 <= len(lengths) <= 13
    assert all(300 <= length <= 600 for length in lengths)
    assert len(set(lengths)) > 1


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    class Hasty(SmallServer):
        async def watch(self, *args: Any, **options: Any) -> AsyncIterator[Sequence[WatchEvent]]:
            async for batch in super().watch(*args, **options):
                if options.get("initial"):
                    yield batch
                return

    server = Hasty()
    nodes = informer(server)
    async with running(nodes):
        await settle(600)
    assert len(server.requests) < 40


async def test_a_server_that_forgets_at_once_is_not_hammered() -> None:
    server = SmallServer(streams_initial=False)
    server.put(NODES, node("a"))
    nodes = informer(Faulty(server, Faults(too_old=1.0), chance=random.Random(1)))
    async with running(nodes):
        await settle(600)
    assert len(server.requests) < 70


async def test_a_stale_list_does_not_bring_the_past_back() -> None:
    server = SmallServer(streams_initial=False)
    server.put(NODES, node("a"))
    door = Faulty(server, NONE, chance=random.Random(1))
    nodes = informer(door)
    seen = record(nodes)
    async with running(nodes):
        server.remove(NODES, "a")
        server.put(NODES, node("b"))
        await settle()
        server.put(NODES, node("c"))
        door.faults = Faults(stale_list=1.0, too_old=1.0)
        server.break_connections()
        await settle(0.2)
        assert "as of version 1" in nodes.trouble
        assert list(nodes.items) == [Key("", "b")]
        door.faults = NONE
        await settle(60)
        assert list(nodes.items) == [Key("", "b"), Key("", "c")]
        assert seen == ["+a", "-a", "+b", "+c"]


async def test_a_server_restored_from_a_backup_is_believed_in_the_end() -> None:
    server = SmallServer(streams_initial=False)
    server.version = 100
    server.put(NODES, node("a"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        server.objects.clear()
        server.log.clear()
        server.version = 50
        server.put(NODES, node("b"))
        server.version, server.oldest = 51, 1000
        server.break_connections()
        await settle(1)
        server.oldest = 0
        await settle(120)
        assert seen == ["+a", "-a", "+b"]


async def test_a_snapshot_that_expires_between_pages_is_read_in_one_piece() -> None:
    class Forgetful(SmallServer):
        async def list(self, *args: Any, **options: Any) -> Page:
            if options.get("after"):
                self.requests.append("list too late")
                raise Gone("the continue token is too old")
            return await super().list(*args, **options)

    server = Forgetful(streams_initial=False)
    for number in range(700):
        server.put(NODES, node(f"n{number:04}"))
    nodes = informer(server)
    async with running(nodes):
        assert len(nodes.items) == 700
    assert server.requests[1:4] == ["list nodes", "list too late", "list nodes"]


async def test_an_informer_that_was_stopped_goes_on_where_it_was() -> None:
    server = SmallServer()
    server.put(NODES, node("a"))
    nodes = informer(server)
    seen = record(nodes)
    async with running(nodes):
        await settle()
    server.put(NODES, node("b"))
    async with running(nodes):
        await settle()
    assert seen == ["+a", "+b"]
    assert server.requests == ["watch nodes", "watch nodes"]


async def test_a_refusal_at_the_mere_call_is_one_like_any_other() -> None:
    class Prompt(SmallServer):
        def watch(self, *args: Any, **options: Any) -> AsyncIterator[Sequence[WatchEvent]]:
            if options.get("initial"):
                raise Invalid("sendInitialEvents is forbidden")
            return super().watch(*args, **options)

    server = Prompt()
    server.put(NODES, node("a"))
    nodes = informer(server)
    async with running(nodes):
        assert list(nodes.items) == [Key("", "a")]
    assert asyncio.get_running_loop().time() == 0


CHANGES: list[Callable[[SmallServer, random.Random], object]] = [
    lambda server, chance: server.put(NODES, node(f"n{chance.randrange(8)}", chance.randrange(100))),
    lambda server, chance: (
        server.remove(NODES, sorted(key.name for _, key in server.objects)[0]) if server.objects else None
    ),
    lambda server, chance: server.break_connections(),
    lambda server, chance: server.forget_history(),
    lambda server, chance: server.bookmark(NODES),
]


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_happens_the_informer_ends_up_with_what_is_there(seed: int) -> None:
    chance = random.Random(seed)
    server = SmallServer(streams_initial=seed % 2 == 0)
    everything = Faults(
        too_many=0.1,
        internal=0.1,
        unavailable=0.05,
        lost_request=0.1,
        lost_answer=0.1,
        slow=0.1,
        stale_list=0.2,
        too_old=0.2,
        no_initial=seed % 3 == 0,
        watch_lost=0.2,
        watch_ends=0.1,
        watch_late=0.3,
        watch_repeats=0.2,
    )
    door = Faulty(server, everything, chance=random.Random(seed))
    nodes = informer(door)
    mirror: dict[str, int] = {}
    newest: dict[str, int] = {}

    def react(old: Node | None, new: Node | None) -> None:
        if old is not None:
            assert mirror.pop(old.metadata.name) == old.size
        if new is not None:
            assert new.metadata.name not in mirror
            version = int(new.metadata.resource_version)
            went_back.append(version <= newest.get(new.metadata.name, 0))
            newest[new.metadata.name] = version
            mirror[new.metadata.name] = new.size

    went_back: list[bool] = []
    nodes.subscribe(react)
    task = asyncio.create_task(nodes.run())
    for _ in range(120):
        chance.choice(CHANGES)(server, chance)
        await asyncio.sleep(chance.random() * 3)
    door.faults = NONE
    await asyncio.sleep(120)
    there = {key.name: tree["size"] for (_, key), tree in server.objects.items()}
    assert {key.name: item.size for key, item in nodes.items.items()} == there
    assert mirror == there
    assert went_back
    assert not any(went_back)
    task.cancel()
