"""Two instances and one lease, on virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from eachnode.client.door import Door
from eachnode.client.faulty import Faults, Faulty
from eachnode.client.intercepting import Call, Intercepting
from eachnode.objects.meta import Key
from eachnode.objects.resources import LEASES, PODS
from eachnode.objects.status import ApiError, InternalError, Unreachable
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


async def test_one_who_is_heard_but_hears_nothing_does_not_keep_the_others_out() -> None:
    server = SmallServer()
    deaf = Faulty(server, Faults(), chance=random.Random(1))
    one, two = instance(server, "one", 1), instance(server, "two", 2)
    one._door = deaf
    task, other = start(one), start(two)
    await leading(one)
    deaf.faults = Faults(lost_answer=1.0)
    since = asyncio.get_running_loop().time()
    await leading(two)
    assert asyncio.get_running_loop().time() - since < 45
    await stop(task, other)


@pytest.mark.parametrize("seed", range(25))
async def test_whatever_happens_only_the_holder_of_the_lease_writes(seed: int) -> None:
    chance = random.Random(seed)
    server = SmallServer()
    faults = Faults(
        conflict=0.05, internal=0.1, lost_request=0.1, lost_answer=0.1, slow=0.3, slowest=4.9, watch_lost=0.1
    )
    doors = [Faulty(server, faults, chance=random.Random(seed + number)) for number in range(3)]
    writers: list[str] = []

    async def write_forever(door: Door, identity: str) -> None:
        while True:
            with contextlib.suppress(ApiError, Unreachable):
                await door.create(PODS, b'{"metadata":{"name":"%s-%d"}}' % (identity.encode(), len(writers)), identity)
            await asyncio.sleep(0.3)

    def arrived(what: str) -> None:
        if what == "create pods":
            created_by = current_writer[0]
            writers.append(created_by)
            assert the_lease(server)["spec"]["holderIdentity"] == created_by

    current_writer = [""]

    class Signed(Intercepting):
        """Says whose request is arriving at the server."""

        def __init__(self, door: Door, identity: str) -> None:
            super().__init__(door)
            self._identity = identity

        async def request(self, call: Call, send: Callable[[], Awaitable[Any]]) -> Any:
            current_writer[0] = self._identity
            return await send()

    server.before_request = arrived
    broken: list[BaseException] = []
    tasks = []
    for number in range(3):
        identity = f"n{number}"
        doors[number] = Faulty(Signed(server, identity), faults, chance=random.Random(seed * 3 + number))
        election = LeaderElection(
            doors[number],
            clock=LoopClock(),
            chance=random.Random(seed * 3 + number),
            identity=identity,
            name="eachnode",
            namespace="kube-system",
        )
        fenced = election.fenced(doors[number])
        tasks.append(start(election, lambda fenced=fenced, identity=identity: write_forever(fenced, identity)))  # type: ignore[misc] # bound
        tasks.append(asyncio.create_task(write_forever(fenced, identity)))  # One who never hears that it was cancelled.
    for _ in range(20):
        await asyncio.sleep(chance.random() * 30)
        # One of them is cut off for a while; its requests get no answer but may have arrived.
        cut = chance.choice(doors)
        cut.faults = replace(faults, lost_answer=1.0) if chance.random() < 0.5 else replace(faults, lost_request=1.0)
        await asyncio.sleep(chance.random() * 40)
        cut.faults = faults
    broken += [task.exception() or AssertionError("ended") for task in tasks if task.done()]
    assert not broken
    assert len(set(writers)) > 1
    await stop(*tasks)


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
