"""`eachnode up` where there is no terminal."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import msgspec
import pytest

from eachnode.cli.board.plain import progress_line
from eachnode.objects.daemonset import DaemonSet
from tests.processes import PROGRAM, started

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_line_tells_how_far_a_daemonset_has_come() -> None:
    status = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 1}
    tree = {"metadata": {"namespace": "n", "name": "d"}, "status": status}
    daemonset = msgspec.json.decode(msgspec.json.encode(tree), type=DaemonSet)
    assert progress_line(daemonset) == ("daemonset n/d: 3 wanted, 2 updated, 1 available, 1 where none should be")


@pytest.mark.sockets
def test_plain_lines_follow_the_manifests_given_until_all_is_available() -> None:
    with started("up", "--nodes", "2", "-f", str(EXAMPLES / "nginx.yaml")) as server:
        assert server.process.stdout is not None
        for line in server.process.stdout:
            if line == "daemonset default/nginx-ds: 2 wanted, 2 updated, 2 available\n":
                break
        else:
            raise AssertionError("it ended before everything was available")


def refused(*options: str) -> str:
    """What `eachnode up` says when it does not begin at all."""
    command = [str(PROGRAM), "up", "--plain", "--nodes", "0", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode in (1, 64), ended
    return ended.stderr.removeprefix("error: ").rstrip("\n")


@pytest.mark.sockets
def test_what_keeps_it_from_beginning_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert refused("--listen", address) == (
            f"cannot listen at {address}: Address already in use; "
            "choose another address with --listen (port 0 is any free one)"
        )
    file = tmp_path / "file"
    file.write_text("hello: there\n")
    assert refused("--data-dir", str(file)) == f"{file} is a file, and a directory is needed"
    assert refused("--stages", str(file)) == f"{file}: a stage file holds a list named 'stages'"
    assert refused("--insecure-http", "--listen", "0.0.0.0:0").startswith("refusing to listen at 0.0.0.0 without TLS")
    assert refused("-f", "https://example.com/a.yaml").endswith("fetch it first: curl -sL https://example.com/a.yaml")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused("-f", str(empty)) == f"no objects in {empty}"


@pytest.mark.sockets
def test_a_data_directory_serves_one_cluster_at_a_time(tmp_path: Path) -> None:
    with started("up", "--nodes", "0", "--data-dir", str(tmp_path)) as server:
        said = refused("--data-dir", str(tmp_path))
        assert said == f"{tmp_path} is in use: process {server.process.pid} already serves from it"


@pytest.mark.sockets
def test_a_folder_is_applied_and_what_is_refused_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text((EXAMPLES / "nginx.yaml").read_text())
    (tmp_path / "wrong.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndatta: {}\n")
    command = [str(PROGRAM), "up", "--plain", "--nodes", "0", "-f", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stdout == "daemonset.apps/nginx-ds created\n"
    assert ended.stderr.startswith(f"error: {tmp_path}/wrong.yaml: ")
    assert "datta" in ended.stderr
