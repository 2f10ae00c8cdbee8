"""Events: what is written for what is recorded."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from eachnode.objects.resources import EVENTS
from eachnode.objects.status import Cause, Details, Forbidden, Unreachable
from eachnode.runtime.events import COMBINED, EventRecorder, Memory, ObjectReference
from eachnode.runtime.virtual_time import LoopClock
from tests.runtime.small_server import SmallServer

DAEMON_SET = ObjectReference("apps/v1", "DaemonSet", "logging", "fluentd", "uid-1", resource_version="7")


def recorder(server: SmallServer) -> EventRecorder:
    return EventRecorder(server, clock=LoopClock(), chance=random.Random(1), component="daemonset-controller")


def written(server: SmallServer) -> list[dict[str, Any]]:
    return [tree for (of, _), tree in server.objects.items() if of == EVENTS]


@asynccontextmanager
async def running(events: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(events.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.behaviour(177)
async def test_an_event_names_its_object_and_its_source() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "Created pod: fluentd-x")
        await asyncio.sleep(1)
    (event,) = written(server)
    name = event["metadata"].pop("name")
    assert re.fullmatch(r"fluentd\.[0-9a-f]{16}", name)
    assert {key: event[key] for key in event if key != "metadata"} == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": {
            "kind": "DaemonSet",
            "namespace": "logging",
            "name": "fluentd",
            "uid": "uid-1",
            "apiVersion": "apps/v1",
            "resourceVersion": "7",
        },
        "reason": "SuccessfulCreate",
        "message": "Created pod: fluentd-x",
        "source": {"component": "daemonset-controller"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "daemonset-controller",
        "reportingInstance": "",
    }
    assert event["metadata"]["namespace"] == "logging"


@pytest.mark.behaviour(177)
async def test_an_object_whose_name_is_no_subdomain_gets_events_named_by_a_uuid() -> None:
    server = SmallServer()
    events = recorder(server)
    odd = ObjectReference("v1", "Node", "", "Node_1", "uid-2")
    async with running(events):
        events.record(odd, "Normal", "Seen", "hello")
        await asyncio.sleep(1)
    (event,) = written(server)
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", event["metadata"]["name"]
    )
    assert event["metadata"]["namespace"] == "default"


@pytest.mark.behaviour(177)
async def test_events_of_one_moment_have_different_names() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        for number in range(5):
            events.record(DAEMON_SET, "Normal", "SuccessfulCreate", f"message {number}")
        await asyncio.sleep(1)
    assert len(written(server)) == 5


@pytest.mark.behaviour(178)
async def test_a_repeat_counts_up_the_event_that_exists() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        events.record(DAEMON_SET, "Warning", "FailedDaemonPod", "the pod failed")
        await asyncio.sleep(30)
        changed = ObjectReference("apps/v1", "DaemonSet", "logging", "fluentd", "uid-1", resource_version="9")
        events.record(changed, "Warning", "FailedDaemonPod", "the pod failed")
        await asyncio.sleep(1)
    (event,) = written(server)
    assert (event["count"], event["message"]) == (2, "the pod failed")
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:00:30Z"
    assert event["involvedObject"]["resourceVersion"] == "7"
    assert server.requests == ["create events", "patch events"]


@pytest.mark.behaviour(178)
@pytest.mark.parametrize(
    "other",
    [
        ObjectReference("apps/v1", "DaemonSet", "logging", "fluentd", "uid-2"),
        ObjectReference("apps/v1beta1", "DaemonSet", "logging", "fluentd", "uid-1"),
        ObjectReference("apps/v1", "DaemonSet", "logging", "fluentd", "uid-1", field_path="spec"),
    ],
)
async def test_the_same_message_about_something_else_is_no_repeat(other: ObjectReference) -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        events.record(DAEMON_SET, "Warning", "FailedDaemonPod", "the pod failed")
        events.record(other, "Warning", "FailedDaemonPod", "the pod failed")
        await asyncio.sleep(1)
    assert [event["count"] for event in written(server)] == [1, 1]


@pytest.mark.behaviour(178)
async def test_a_repeat_of_an_event_that_has_expired_is_written_anew() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        events.record(DAEMON_SET, "Warning", "FailedDaemonPod", "the pod failed")
        await asyncio.sleep(1)
        server.objects.clear()
        events.record(DAEMON_SET, "Warning", "FailedDaemonPod", "the pod failed")
        await asyncio.sleep(1)
    (event,) = written(server)
    assert event["count"] == 2
    assert server.requests == ["create events", "patch events", "create events"]


@pytest.mark.behaviour(179)
async def test_twenty_created_pods_are_nine_events_and_one_that_combines_the_others() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        for number in range(1, 21):
            events.record(DAEMON_SET, "Normal", "SuccessfulCreate", f"Created pod: fluentd-{number}")
        await asyncio.sleep(1)
    found = written(server)
    assert [event["count"] for event in found] == [1] * 9 + [11]
    assert found[-1]["message"] == f"{COMBINED}Created pod: fluentd-20"
    assert COMBINED == "(combined from similar events): "
    assert [event["reportingComponent"] for event in found] == ["daemonset-controller"] * 9 + [""]
    assert {event["source"]["component"] for event in found} == {"daemonset-controller"}


@pytest.mark.behaviour(179)
async def test_after_ten_quiet_minutes_messages_stand_alone_again() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        for number in range(9):
            events.record(DAEMON_SET, "Normal", "SuccessfulCreate", f"message {number}")
        await asyncio.sleep(599)
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "soon after")
        await asyncio.sleep(601)
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "much later")
        await asyncio.sleep(1)
    messages = [event["message"] for event in written(server)]
    assert messages[-2:] == [f"{COMBINED}soon after", "much later"]


@pytest.mark.behaviour(179)
async def test_other_reasons_and_types_are_not_combined() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        for number in range(8):
            events.record(DAEMON_SET, "Normal", "SuccessfulCreate", f"created {number}")
            events.record(DAEMON_SET, "Normal", "SuccessfulDelete", f"deleted {number}")
        await asyncio.sleep(1)
    assert not [event for event in written(server) if event["message"].startswith(COMBINED)]


@pytest.mark.behaviour(180)
async def test_more_than_25_events_about_an_object_only_count_until_five_minutes_have_passed() -> None:
    server = SmallServer()
    events = recorder(server)
    async with running(events):
        for _ in range(40):
            events.record(DAEMON_SET, "Warning", "FailedCreate", "no room")
        await asyncio.sleep(1)
        (event,) = written(server)
        assert event["count"] == 25
        await asyncio.sleep(300)
        events.record(DAEMON_SET, "Warning", "FailedCreate", "no room")
        events.record(DAEMON_SET, "Warning", "FailedCreate", "no room")
        await asyncio.sleep(1)
    (event,) = written(server)
    assert event["count"] == 41


@pytest.mark.behaviour(180)
async def test_the_limit_is_per_object_and_type() -> None:
    server = SmallServer()
    events = recorder(server)
    other = ObjectReference("apps/v1", "DaemonSet", "logging", "other", "uid-9")
    async with running(events):
        for _ in range(30):
            events.record(DAEMON_SET, "Warning", "FailedCreate", "no room")
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "room")
        events.record(other, "Warning", "FailedCreate", "no room")
        await asyncio.sleep(1)
    assert sorted(event["count"] for event in written(server)) == [1, 1, 25]


@pytest.mark.behaviour(180)
def test_4096_things_are_remembered_and_the_one_used_longest_ago_is_forgotten_first() -> None:
    memory: Memory[int] = Memory(3)
    for number in range(3):
        memory.put(number, number)
    assert memory.get(0) == 0
    memory.put(3, 3)
    assert [memory.get(number) for number in range(4)] == [0, None, 2, 3]
    assert len(memory) == 3


@pytest.mark.behaviour(181)
async def test_recording_waits_for_nothing_and_a_thousand_events_wait_at_most() -> None:
    server = SmallServer()
    events = recorder(server)
    for number in range(1003):
        subject = ObjectReference("v1", "Pod", "default", f"p{number}", f"uid-{number}")
        events.record(subject, "Normal", "Seen", "hello")
    assert server.requests == []
    assert events.dropped == 3
    async with running(events):
        await asyncio.sleep(1)
    assert len(written(server)) == 1000


@pytest.mark.behaviour(181)
@pytest.mark.parametrize(
    "refusal",
    [
        Forbidden("terminating", details=Details(causes=(Cause(reason="NamespaceTerminating"),))),
        Forbidden("you may not create events"),
    ],
)
async def test_a_refused_event_is_lost_and_the_next_is_written(refusal: Forbidden) -> None:
    server = SmallServer()
    events = recorder(server)
    server.failures.append(refusal)
    async with running(events):
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "one")
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "two")
        await asyncio.sleep(1)
    assert [event["message"] for event in written(server)] == ["two"]
    assert server.requests == ["create events"] * 2


@pytest.mark.behaviour(181)
async def test_silence_is_retried_every_ten_seconds_twelve_times_in_all() -> None:
    server = SmallServer()
    events = recorder(server)
    times: list[float] = []
    server.before_request = lambda _: times.append(asyncio.get_running_loop().time())
    server.failures.extend([Unreachable("silence")] * 12)
    async with running(events):
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "one")
        events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "two")
        await asyncio.sleep(300)
    assert len(times) == 13
    assert 0 < times[1] - times[0] < 10
    assert all(times[number + 1] - times[number] == pytest.approx(10) for number in range(1, 11))
    assert [event["message"] for event in written(server)] == ["two"]


async def test_a_farewell_tries_what_waits_once() -> None:
    server = SmallServer()
    events = recorder(server)
    server.failures.append(Unreachable("silence"))
    events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "one")
    events.record(DAEMON_SET, "Normal", "SuccessfulCreate", "two")
    await events.drain()
    assert [event["message"] for event in written(server)] == ["two"]
