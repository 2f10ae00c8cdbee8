"""A server killed in the middle of its work loses nothing that it acknowledged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eachnode.objects.resources import CONFIG_MAPS
from tests.server.apis import HOME, add, name_of, names, open_api, version_of

_WRITER = """
import asyncio, sys
from tests.server.apis import CONFIG_MAPS, HOME, body, open_api

async def write(worker):
    for turn in range(100000):
        name = f"{worker}-{turn}"
        made = (await api.create(CONFIG_MAPS, body(name, data={"k": "v" * 200}), HOME)).tree()
        print("made", name, made["metadata"]["resourceVersion"], flush=True)
        if turn % 3 == 2:
            print("going", f"{worker}-{turn - 1}", 0, flush=True)
            await api.delete(CONFIG_MAPS, f"{worker}-{turn - 1}", HOME)
            print("gone", f"{worker}-{turn - 1}", 0, flush=True)

async def main():
    global api
    api = open_api(sys.argv[1])
    await asyncio.gather(*(write(f"{sys.argv[2]}-w{number}") for number in range(8)))

asyncio.run(main())
"""


def acknowledged(path: Path, run: int, lines: int) -> list[list[str]]:
    """What a writer was told was done before it was killed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), f"r{run}"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    assert writer.stdout is not None
    told = [writer.stdout.readline() for _ in range(lines)]
    writer.send_signal(signal.SIGKILL)
    told += writer.stdout.readlines()
    writer.wait(10)
    writer.stdout.close()
    return [line.split() for line in told if line.endswith("\n")]


@pytest.mark.sockets
async def test_killed_again_and_again_nothing_acknowledged_is_lost_and_versions_never_repeat(tmp_path: Path) -> None:
    there: set[str] = set()
    newest = 0
    for run, lines in enumerate((60, 150, 7)):
        told = acknowledged(tmp_path / "db", run, lines)
        gone, going = ({name for what, name, _ in told if what == said} for said in ("gone", "going"))
        made = {name: int(version) for what, name, version in told if what == "made"}
        assert min(made.values()) > newest, "a version of an earlier life was handed out again"
        there |= made.keys() - going
        newest = max(newest, *made.values())
        api = open_api(tmp_path / "db")
        found = {name_of(document) for document in (await api.list(CONFIG_MAPS, HOME)).documents}
        assert there <= found
        assert not gone & found
        assert version_of(await add(api, f"after-{run}")) > newest
        newest, there = api.store.committed, found | {f"after-{run}"}
        api.store.close()


@pytest.mark.sockets
async def test_ten_thousand_objects_are_loaded_within_a_second(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    for batch in range(10):
        await add(api, *(f"c-{batch}-{number}" for number in range(1000)), data={"k": "v" * 1000}, labels={"a": "b"})
    api.store.close()
    start = time.process_time()
    api = open_api(tmp_path / "db")
    spent = time.process_time() - start
    assert len(await names(api)) == 10_000
    assert spent < 1.0
    api.store.close()
