"""Two instances and one lease, on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from eachnode.objects.meta import Key
from eachnode.objects.resources import LEASES, PODS
from eachnode.objects.status import InternalError, Unreachable
from eachnode.runtime.leader import LeaderElection, NotLeading
from eachnode.runtime.virtual_time import LoopClock
from tests.runtime.small_server import SmallServer


def instance(server: SmallServer, identity: str, seed: int = 1) -> LeaderElection:
    return LeaderElection(
        server,
        clock=LoopClock(),
        chance=random.Random(seed),
        identity=identity,
        name="eachnode",
        namespace="kube-system",
    )


def the_lease(server: SmallServer) -> dict[str, Any]:
    return server.objects[(LEASES, Key("kube-system", "eachnode"))]


async def forever() -> None:
    await asyncio.Event().wait()


async def leading(election: LeaderElection) -> None:
    while not election.leading:
        await asyncio.sleep(0.05)


def start(election: LeaderElection, lead: Callable[[], Awaitable[None]] = forever) -> asyncio.Task[None]:
    return asyncio.create_task(election.run(lead))


async def stop(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_of_two_leads() -> None:
    server = SmallServer()
    one, two = instance(server, "one", 1), instance(server, "two", 2)
    tasks = start(one), start(two)
    for _ in range(600):
        await asyncio.sleep(0.5)
        assert one.leading + two.leading <= 1
    assert one.leading + two.leading == 1
    await stop(*tasks)


async def test_the_lease_says_who_leads_since_when_and_renews() -> None:
    server = SmallServer()
    one = instance(server, "one")
    task = start(one)
    await leading(one)
    first = the_lease(server)["spec"]
    assert first["holderIdentity"] == "one"
    assert first["leaseDurationSeconds"] == 15
    assert first["leaseTransitions"] == 0
    await asyncio.sleep(5)
    later = the_lease(server)["spec"]
    assert later["acquireTime"] == first["acquireTime"]
    assert later["renewTime"] > first["renewTime"]
    await stop(task)


async def test_a_leader_that_vanishes_is_replaced_within_the_lease() -> None:
    server = SmallServer()
    one, two = instance(server, "one", 1), instance(server, "two", 2)
    task = start(one)
    await leading(one)
    other = start(two)
    await asyncio.sleep(7)
    lost_at = asyncio.get_running_loop().time()
    one._door = DeadDoor()  # It vanishes without a farewell.
    await leading(two)
    assert asyncio.get_running_loop().time() - lost_at <= 15.1
    assert not one.leading
    assert the_lease(server)["spec"]["leaseTransitions"] == 1
    await stop(task, other)


class DeadDoor(SmallServer):
    def __init__(self) -> None:
        super().__init__()
        self.before_request = _dead


def _dead(what: str) -> None:
    raise Unreachable("nobody there")


async def test_an_old_leader_that_wakes_up_late_writes_nothing() -> None:
    server = SmallServer()
    one = instance(server, "one")
    door = one.fenced(server)
    task = start(one)
    await leading(one)
    await door.create(PODS, b'{"metadata":{"name":"a"}}', "default")
    # The process stands still: no renewal runs, time passes.
    loop = asyncio.get_running_loop()
    loop.now += 60  # type: ignore[attr-defined] # the virtual loop's clock
    with pytest.raises(NotLeading):
        await door.create(PODS, b'{"metadata":{"name":"b"}}', "default")
    assert [what for what in server.requests if what == "create pods"] == ["create pods"]
    await door.get(PODS, "a", "default")
    await stop(task)


async def test_a_leader_stops_trusting_its_lease_before_anybody_may_take_it() -> None:
    server = SmallServer()
    one, two = instance(server, "one", 1), instance(server, "two", 2)
    task, other = start(one), start(two)
    await leading(one)
    one._door = DeadDoor()
    trusted_until = taken_at = 0.0
    while not taken_at:
        now = asyncio.get_running_loop().time()
        if one.leading:
            trusted_until = now
        if two.leading:
            taken_at = now
        await asyncio.sleep(0.1)
    assert taken_at - trusted_until > 4
    await stop(task, other)


async def test_a_leader_that_says_goodbye_is_replaced_at_once() -> None:
    server = SmallServer()
    one, two = instance(server, "one", 1), instance(server, "two", 2)
    task, other = start(one), start(two)
    await leading(one)
    await asyncio.sleep(1)
    await stop(task)
    left_at = asyncio.get_running_loop().time()
    await leading(two)
    assert asyncio.get_running_loop().time() - left_at < 1
    await stop(other)


async def test_work_that_is_finished_ends_the_run_and_releases_the_lease() -> None:
    server = SmallServer()
    one = instance(server, "one")

    async def lead() -> None:
        await asyncio.sleep(30)

    await one.run(lead)
    assert "holderIdentity" not in the_lease(server)["spec"]
    assert not one.leading


async def test_the_failure_of_the_work_is_told() -> None:
    server = SmallServer()

    async def lead() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await instance(server, "one").run(lead)


async def test_losing_the_lease_cancels_the_work_and_winning_it_again_begins_anew() -> None:
    server = SmallServer()
    one = instance(server, "one")
    began: list[float] = []

    async def lead() -> None:
        began.append(asyncio.get_running_loop().time())
        await forever()

    task = start(one, lead)
    await leading(one)
    lease = the_lease(server)
    server.put(LEASES, lease | {"spec": lease["spec"] | {"holderIdentity": "thief", "leaseDurationSeconds": 15}})
    await asyncio.sleep(3)
    assert not one.leading
    while len(began) < 2:
        await asyncio.sleep(0.1)
    assert began[1] - began[0] >= 15
    await stop(task)


async def test_a_few_failing_renewals_do_no_harm() -> None:
    server = SmallServer()
    one = instance(server, "one")
    task = start(one)
    await leading(one)
    server.failures.extend([InternalError("no"), Unreachable("silence"), InternalError("no")])
    await asyncio.sleep(20)
    assert one.leading
    assert the_lease(server)["spec"]["leaseTransitions"] == 0
    await stop(task)


async def test_somebody_who_touches_the_lease_does_not_cost_the_leadership() -> None:
    server = SmallServer()
    one = instance(server, "one")
    task = start(one)
    await leading(one)
    lease = the_lease(server)
    server.put(LEASES, lease | {"metadata": lease["metadata"] | {"labels": {"seen": "yes"}}})
    await asyncio.sleep(20)
    assert one.leading
    assert the_lease(server)["metadata"]["labels"] == {"seen": "yes"}
    await stop(task)


async def test_a_remote_clock_that_is_wrong_does_not_matter() -> None:
    server = SmallServer()
    ancient = {"holderIdentity": "two", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}
    server.put(LEASES, {"metadata": {"name": "eachnode", "namespace": "kube-system"}, "spec": ancient})
    one = instance(server, "one")
    task = start(one)
    await asyncio.sleep(14)
    assert not one.leading
    await asyncio.sleep(3)
    assert one.leading
    await stop(task)


def test_timings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="outlast"):
        LeaderElection(
            SmallServer(),
            clock=LoopClock(),
            chance=random.Random(1),
            identity="one",
            name="eachnode",
            namespace="kube-system",
            lease_seconds=10,
            renew_within=10,
        )
