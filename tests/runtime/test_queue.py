"""The work queue and its workers."""

from __future__ import annotations

import asyncio
import logging

import pytest

from eachnode.objects.status import Conflict
from eachnode.runtime.queue import Closed, WorkQueue, work
from eachnode.runtime.virtual_time import LoopClock


def queue() -> WorkQueue[str]:
    return WorkQueue(LoopClock())


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_key_added_many_times_is_handed_out_once() -> None:
    keys = queue()
    for key in "abaab":
        keys.add(key)
    assert len(keys) == 2
    assert [await keys.get(), await keys.get()] == ["a", "b"]
    assert len(keys) == 0


async def test_a_key_is_never_in_two_hands_and_comes_back_if_added_meanwhile() -> None:
    keys = queue()
    keys.add("a")
    key = await keys.get()
    keys.add("a")
    assert len(keys) == 0
    keys.done(key)
    assert await keys.get() == "a"
    keys.done("a")
    assert len(keys) == 0


async def test_the_earliest_of_several_alarms_wins() -> None:
    keys = queue()
    keys.add_after("a", 10)
    keys.add_after("a", 3)
    keys.add_after("a", 7)
    await keys.get()
    assert now() == 3
    keys.done("a")
    await asyncio.sleep(60)
    assert len(keys) == 0


async def test_pauses_double_from_five_milliseconds_to_a_thousand_seconds() -> None:
    keys = queue()
    pauses = []
    for _ in range(20):
        before = now()
        keys.retry("a")
        await keys.get()
        pauses.append(now() - before)
        keys.done("a")
    assert pauses[:4] == pytest.approx([0.005, 0.01, 0.02, 0.04])
    assert pauses[17] == pytest.approx(0.005 * 2**17)
    assert pauses[18:] == pytest.approx([1000, 1000])
    keys.forget("a")
    before = now()
    keys.retry("a")
    await keys.get()
    assert now() - before == pytest.approx(0.005)


async def test_a_waiting_worker_that_is_cancelled_passes_its_turn_on() -> None:
    keys = queue()
    one, two = asyncio.create_task(keys.get()), asyncio.create_task(keys.get())
    await asyncio.sleep(0)
    keys.add("a")
    one.cancel()
    assert await two == "a"


async def test_waiting_is_measured() -> None:
    keys = queue()
    waits: list[float] = []
    keys.on_taken = waits.append
    keys.add("a")
    await asyncio.sleep(2)
    await keys.get()
    assert waits == [pytest.approx(2)]


async def test_a_closed_queue_hands_nothing_out() -> None:
    keys = queue()
    waiting = asyncio.create_task(keys.get())
    await asyncio.sleep(0)
    keys.add_after("later", 5)
    keys.close()
    with pytest.raises(Closed):
        await waiting
    keys.add("a")
    keys.add_after("b", 1)
    with pytest.raises(Closed):
        await keys.get()


async def test_a_pass_that_returns_seconds_is_looked_at_again_after_them() -> None:
    keys = queue()
    passes: list[float] = []

    async def reconcile(key: str) -> float | None:
        passes.append(now())
        return 30.0 if len(passes) < 3 else None

    keys.add("a")
    worker = asyncio.create_task(work(keys, reconcile))
    await asyncio.sleep(1000)
    assert passes == [0, 30, 60]
    keys.close()
    await worker


async def test_a_pass_that_fails_is_repeated_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    keys = queue()
    passes: list[float] = []
    outcomes: list[str] = []

    async def reconcile(key: str) -> float | None:
        passes.append(now())
        if len(passes) == 1:
            raise Conflict("somebody else wrote")
        if len(passes) == 2:
            raise RuntimeError("a bug")
        return None

    keys.add("a")
    with caplog.at_level(logging.INFO):
        worker = asyncio.create_task(work(keys, reconcile, on_pass=lambda _, outcome: outcomes.append(outcome)))
        await asyncio.sleep(10)
    assert passes == pytest.approx([0, 0.005, 0.015])
    assert outcomes == ["error", "error", "done"]
    assert [record.levelname for record in caplog.records] == ["INFO", "ERROR"]
    assert "somebody else wrote" in caplog.text
    assert "a bug" in caplog.text
    assert keys.failures("a") == 0
    keys.close()
    await worker


async def test_closing_lets_what_is_in_flight_finish() -> None:
    keys = queue()
    finished: list[str] = []

    async def reconcile(key: str) -> None:
        await asyncio.sleep(5)
        finished.append(key)

    for key in "abc":
        keys.add(key)
    worker = asyncio.create_task(work(keys, reconcile, workers=2))
    await asyncio.sleep(1)
    keys.close()
    await worker
    assert finished == ["a", "b"]


async def test_workers_work_at_the_same_time_on_different_keys() -> None:
    keys = queue()

    async def reconcile(key: str) -> None:
        await asyncio.sleep(10)

    for key in "abcd":
        keys.add(key)
    worker = asyncio.create_task(work(keys, reconcile, workers=4))
    await asyncio.sleep(0.1)
    assert keys.working == 4
    await asyncio.sleep(10)
    assert keys.working == 0
    keys.close()
    await worker
