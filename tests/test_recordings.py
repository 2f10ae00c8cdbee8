"""The recorded conversations with a real Kubernetes v1.37, played against `eachnode up` as a user starts it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import Server, started
from tests.replay.player import Client, Player

KEPT = Path(__file__).parent / "oracle"
SHARED = Path(__file__).parents[2] / "shared" / "oracle"
RECORDINGS = sorted(KEPT.glob("*/*.json"))
# How often the whole life of a DaemonSet is played: once could be luck.
TIMES = {"api": 1, "daemonset": 2}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", "0") as running:
        yield running


@pytest.mark.sockets
@pytest.mark.xdist_group("recordings")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_server_answers_as_it_was_recorded(server: Server, path: Path) -> None:
    recording = json.loads(path.read_text())
    for _ in range(TIMES[path.parent.name]):
        differences = Player(Client(server.url, server.token)).play(recording)
        assert not differences, "\n\n".join(differences)


@pytest.mark.skipif(not SHARED.exists(), reason="the originals of the recordings are not beside this clone")
def test_the_kept_recordings_are_the_originals() -> None:
    originals = {path.relative_to(SHARED): path.read_bytes() for path in SHARED.glob("*/*.json")}
    assert {path.relative_to(KEPT): path.read_bytes() for path in RECORDINGS} == originals


def test_the_player_tells_a_difference() -> None:
    class Lying(Client):
        def call(self, step: str, body: object = None, headers: object = None) -> tuple[int, object, list[str]]:
            return 200, {"kind": "Namespace", "metadata": {"name": "other", "uid": "u-2"}}, []

    answer = {"status": 200, "body": {"kind": "Namespace", "metadata": {"name": "n", "uid": "<uid-1>"}}}
    recording = {"steps": [{"request": "GET /api/v1/namespaces/n", "answer": answer}]}
    (difference,) = Player(Lying("http://127.0.0.1:1", "")).play(recording)
    assert "other" in difference
