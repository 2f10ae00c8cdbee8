"""What an operator sees and uses: logs, metrics, health, and an orderly end."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import random
import signal
from collections.abc import Iterator

import aiohttp
import pytest

from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import PODS
from eachnode.objects.status import NotFound
from eachnode.runtime.informer import Informer
from eachnode.runtime.logs import start_logging, tell
from eachnode.runtime.metrics import Metrics
from eachnode.runtime.queue import WorkQueue, work
from eachnode.runtime.serving import Endpoint, parse_address
from eachnode.runtime.shutdown import until_told
from eachnode.runtime.virtual_time import LoopClock
from tests.runtime.small_server import SmallServer

log = logging.getLogger("eachnode.controllers.daemonset.sync")


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.mark.usefixtures("logging_as_before")
def test_an_action_is_one_line_with_its_because() -> None:
    stream = io.StringIO()
    start_logging(stream=stream)
    tell(log, "created a pod", because="node-1 has none", pod="default/a", spare=2, nothing=None)
    line = stream.getvalue()
    assert line.endswith('Z INFO daemonset.sync: created a pod pod=default/a spare=2 because="node-1 has none"\n')


@pytest.mark.usefixtures("logging_as_before")
def test_lines_for_machines_are_json() -> None:
    stream = io.StringIO()
    start_logging("json", stream=stream)
    tell(log, "created a pod", because='it "must"', pod="default/a")
    try:
        raise ValueError("a bug")
    except ValueError:
        log.exception("failed")
    first, second = map(json.loads, stream.getvalue().splitlines())
    del first["time"]
    assert first == {
        "level": "INFO",
        "source": "daemonset.sync",
        "message": "created a pod",
        "pod": "default/a",
        "because": 'it "must"',
    }
    assert "ValueError: a bug" in second["traceback"]


@pytest.mark.usefixtures("logging_as_before")
def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    start_logging(level="warning", stream=stream)
    tell(log, "created a pod")
    log.warning("careful")
    assert stream.getvalue().count("\n") == 1


async def test_queues_informers_and_calls_show_in_the_metrics() -> None:
    metrics = Metrics()
    server = SmallServer()
    server.put(PODS, {"metadata": {"name": "a", "namespace": "ns"}})
    door = metrics.metered(server)
    pods = Informer(door, PODS, MetadataOnly, clock=LoopClock(), chance=random.Random(1))
    keys: WorkQueue[str] = WorkQueue(LoopClock())
    metrics.watch_informer(pods)
    on_pass = metrics.watch_queue("daemonset", keys)
    metrics.computed("nodes", "Nodes by verdict", ("verdict",), lambda: {("run",): 3, ("refuse",): 1})
    metrics.counter("pods_created", "Pods created").inc(2)

    async def reconcile(key: str) -> None:
        with pytest.raises(NotFound):
            await door.get(PODS, "missing", "ns")

    tasks = [asyncio.create_task(pods.run()), asyncio.create_task(work(keys, reconcile, on_pass=on_pass))]
    await pods.synced.wait()
    keys.add("one")
    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    keys.add("two")
    lines = metrics.text().decode().splitlines()
    for expected in [
        'eachnode_workqueue_depth{queue="daemonset"} 1.0',
        'eachnode_workqueue_adds_total{queue="daemonset"} 2.0',
        'eachnode_sync_seconds_count{outcome="done",queue="daemonset"} 1.0',
        'eachnode_workqueue_wait_seconds_count{queue="daemonset"} 1.0',
        'eachnode_api_calls_total{code="404",resource="pods",verb="get"} 1.0',
        'eachnode_api_calls_total{code="200",resource="pods",verb="watch"} 1.0',
        'eachnode_cache_objects{resource="pods"} 1.0',
        'eachnode_cache_synced{resource="pods"} 1.0',
        'eachnode_watches_opened_total{resource="pods"} 1.0',
        'eachnode_nodes{verdict="run"} 3.0',
        "eachnode_pods_created_total 2.0",
    ]:
        assert expected in lines


@pytest.mark.sockets
async def test_health_and_readiness_name_their_checks() -> None:
    trouble = "pods: cannot connect"
    endpoint = Endpoint(Metrics(), ready={"caches": lambda: trouble, "server": lambda: ""}, state=lambda: "follower")
    port = await endpoint.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

        async def ask(path: str) -> tuple[int, str]:
            async with session.get(path) as response:
                return response.status, await response.text()

        assert await ask("/healthz") == (200, "follower\nok\n")
        assert await ask("/readyz") == (503, "[-] caches: pods: cannot connect\n[+] server\nfollower\nnot ok\n")
        trouble = ""
        assert (await ask("/readyz"))[0] == 200
        code, text = await ask("/metrics")
        assert code == 200
        assert "# HELP eachnode_sync_seconds" in text
        assert (await ask("/other"))[0] == 404
    await endpoint.stop()


@pytest.mark.sockets
async def test_an_address_that_is_taken_is_an_error() -> None:
    one, two = Endpoint(Metrics(), ready={}), Endpoint(Metrics(), ready={})
    port = await one.start("127.0.0.1", 0)
    with pytest.raises(OSError, match="in use"):
        await two.start("127.0.0.1", port)
    await one.stop()


def test_addresses_are_read_as_people_write_them() -> None:
    assert parse_address(":8080") == ("0.0.0.0", 8080)
    assert parse_address("localhost:0") == ("localhost", 0)
    assert parse_address("[::1]:9") == ("::1", 9)
    for wrong in ("8080", "host:", "host:port", ":70000"):
        with pytest.raises(ValueError, match="HOST:PORT"):
            parse_address(wrong)


@pytest.mark.sockets
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_finish_what_is_in_flight(number: signal.Signals) -> None:
    keys: WorkQueue[str] = WorkQueue(LoopClock())
    finished: list[str] = []
    started = asyncio.Event()

    async def reconcile(key: str) -> None:
        started.set()
        await asyncio.sleep(0.05)
        finished.append(key)

    async def send() -> None:
        await started.wait()
        os.kill(os.getpid(), number)

    keys.add("a")
    keys.add("b")
    sending = asyncio.create_task(send())
    await until_told(lambda: work(keys, reconcile), keys.close)
    await sending
    assert finished == ["a"]


@pytest.mark.sockets
async def test_a_second_signal_waits_for_nothing() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    def again() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.get_running_loop().call_later(0.02, again)
    async with asyncio.timeout(5):
        await until_told(forever, again)


@pytest.mark.sockets
async def test_work_that_does_not_end_in_time_is_given_up() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    asyncio.get_running_loop().call_later(0.02, os.kill, os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(5):
        await until_told(forever, lambda: None, grace=0.05)


async def test_work_that_fails_fails_here_too() -> None:
    async def broken() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await until_told(broken, lambda: None)
