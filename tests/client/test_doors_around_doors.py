"""The doors that wrap a door: what each adds, and that nothing is lost on the way through."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from eachnode.client.door import Door, PatchKind
from eachnode.client.faulty import NONE, Faults, Faulty
from eachnode.client.intercepting import Call, Intercepting
from eachnode.client.metered import Metered
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.objects.status import (
    ApiError,
    Conflict,
    Gone,
    InternalError,
    Invalid,
    NotFound,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from tests.recording import Recording
from tests.runtime.small_server import SmallServer

POD = b'{"metadata":{"name":"a"}}'
OPTIONS = DeleteOptions(grace_period_seconds=3)
VERBS: dict[str, Callable[[Door], Awaitable[object]]] = {
    "get": lambda door: door.get(PODS, "a", "ns", subresource="status"),
    "list": lambda door: door.list(PODS, "ns", labels="l", fields="f", limit=1, after="c", version="v"),
    "create": lambda door: door.create(PODS, POD, "ns", name="a", subresource="s", field_manager="m", dry_run=True),
    "update": lambda door: door.update(PODS, "a", POD, "ns", subresource="s", field_manager="m", dry_run=True),
    "patch": lambda door: door.patch(
        PODS, "a", POD, PatchKind.MERGE, "ns", subresource="s", field_manager="m", force=True, dry_run=True
    ),
    "delete": lambda door: door.delete(PODS, "a", "ns", options=OPTIONS),
    "delete_collection": lambda door: door.delete_collection(PODS, "ns", labels="l", options=OPTIONS),
}


class Listener:
    """Notes every call with all its arguments, however they were passed."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, verb: str) -> Any:
        signature = inspect.signature(getattr(SmallServer, verb))

        def hear(*positional: Any, **named: Any) -> Any:
            bound = signature.bind(None, *positional, **named)
            bound.apply_defaults()
            self.heard.append((verb, {key: bound.arguments[key] for key in list(bound.arguments)[1:]}))
            return _nothing() if verb == "watch" else _empty()

        return hear


async def _empty() -> Document:
    return Document(POD)


async def _nothing() -> AsyncIterator[Sequence[Any]]:
    return
    yield ()


def listener() -> tuple[Any, list[tuple[str, dict[str, Any]]]]:
    made = Listener()
    return made, made.heard


@pytest.mark.parametrize("verb", VERBS)
async def test_nothing_is_lost_on_the_way_through(verb: str) -> None:
    direct, wanted = listener()
    await VERBS[verb](direct)
    wrapped, heard = listener()
    await VERBS[verb](Intercepting(wrapped))
    assert heard == wanted


async def test_a_watch_goes_through_whole() -> None:
    options: dict[str, Any] = {"labels": "l", "fields": "f", "version": "v", "initial": True, "timeout": 3.0}
    direct, wanted = listener()
    direct.watch(PODS, "ns", **options)
    wrapped, heard = listener()
    assert [batch async for batch in Intercepting(wrapped).watch(PODS, "ns", **options)] == []
    assert heard == wanted


async def test_a_recording_knows_the_calls_and_the_permissions_they_needed() -> None:
    server = SmallServer()
    door = Recording(server)
    await door.create(PODS, POD, "ns")
    with pytest.raises(NotFound):
        await door.patch(DAEMON_SETS, "d", b"{}", PatchKind.MERGE, "ns", subresource="status")
    with pytest.raises(NotFound):
        await door.get(DAEMON_SETS, "missing", "ns")
    door.watch(NODES)
    assert door.calls[0] == Call("create", PODS, Key("ns", ""))
    assert [str(call) for call in door.calls] == [
        "create pods ns/",
        "patch daemonsets.apps/status ns/d",
        "get daemonsets.apps ns/missing",
        "watch nodes",
    ]
    assert [call.verb for call in door.writes] == ["create", "patch"]
    assert door.count()["create", "pods"] == 1
    assert door.permissions() == {
        ("", "pods", "create"),
        ("apps", "daemonsets/status", "patch"),
        ("apps", "daemonsets", "get"),
        ("", "nodes", "watch"),
    }


async def test_calls_are_metered_with_their_codes_and_seconds() -> None:
    server = SmallServer()
    told: list[tuple[str, str, float]] = []
    door = Metered(server, lambda call, code, seconds: told.append((call.verb, code, seconds)))
    await door.create(PODS, POD, "ns")
    server.failures.extend([Conflict("no"), Unreachable("silence")])
    with pytest.raises(Conflict):
        await door.delete(PODS, "a", "ns")
    with pytest.raises(Unreachable):
        await door.list(PODS)
    async for _ in door.watch(PODS, initial=True, timeout=30):
        pass
    assert told == [("create", "201", 0), ("delete", "409", 0), ("list", "unreachable", 0), ("watch", "200", 30)]


@pytest.mark.parametrize(
    ("faults", "error", "done"),
    [
        (Faults(conflict=1), Conflict, False),
        (Faults(too_many=1), TooManyRequests, False),
        (Faults(internal=1), InternalError, False),
        (Faults(unavailable=1), Unavailable, False),
        (Faults(lost_request=1), Unreachable, False),
        (Faults(lost_answer=1), Unreachable, True),
    ],
)
async def test_a_fault_is_raised_and_the_write_done_or_not(faults: Faults, error: type[ApiError], done: bool) -> None:
    server = SmallServer()
    server.put(PODS, {"metadata": {"name": "a", "namespace": "ns"}})
    door = Faulty(server, faults, chance=random.Random(1))
    with pytest.raises(error):
        await door.delete(PODS, "a", "ns")
    assert (not server.objects) == done
    door.faults = NONE
    if not done:
        await door.delete(PODS, "a", "ns")


async def test_a_slow_server_takes_its_time() -> None:
    door = Faulty(SmallServer(), Faults(slow=1, slowest=10), chance=random.Random(1))
    before = asyncio.get_running_loop().time()
    await door.list(PODS)
    assert 0 < asyncio.get_running_loop().time() - before <= 10


async def test_watches_meet_their_own_faults() -> None:
    server = SmallServer()
    server.put(PODS, {"metadata": {"name": "a", "namespace": "ns"}})
    door = Faulty(server, Faults(no_initial=True), chance=random.Random(1))
    with pytest.raises(Invalid):
        await anext(door.watch(PODS, initial=True))
    door.faults = Faults(too_old=1)
    with pytest.raises(Gone):
        await anext(door.watch(PODS, version="0"))
    door.faults = Faults(watch_lost=1)
    with pytest.raises(Unreachable):
        await anext(door.watch(PODS, version="0"))
    door.faults = Faults(watch_ends=1)
    assert [len(batch) async for batch in door.watch(PODS, version="0")] == [1]
    door.faults = Faults(watch_late=1, latest=8)
    before = asyncio.get_running_loop().time()
    await anext(door.watch(PODS, version="0"))
    assert 0 < asyncio.get_running_loop().time() - before <= 8


async def test_the_same_seed_brings_the_same_faults() -> None:
    async def run(seed: int) -> list[str]:
        server = SmallServer()
        door = Faulty(server, Faults(internal=0.3, lost_answer=0.3), chance=random.Random(seed))
        outcomes = []
        for number in range(30):
            try:
                await door.create(PODS, b'{"metadata":{"name":"p%d"}}' % number, "ns")
                outcomes.append("done")
            except (ApiError, Unreachable) as error:
                outcomes.append(type(error).__name__)
        return outcomes

    assert await run(1) == await run(1)
    assert await run(1) != await run(2)
