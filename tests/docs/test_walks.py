"""Pages that are a walk: the commands of each are run in their order, as a reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.manifests import KUBECTL
from tests.docs.pages import TOP, Command, commands, name_of
from tests.processes import Server, started

pytestmark = [pytest.mark.sockets, pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")]

WALKS = [
    *((page, "") for page in sorted((TOP / "examples").glob("*.md")) if page.name != "README.md"),
    (TOP / "docs/how-to/explain-a-missing-pod.md", "To try"),
]


def run(command: Command, server: Server) -> str:
    """What it says, to a reader who has set KUBECONFIG."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = str(server.kubeconfig.parent)
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": home, "PATH": path, "NO_COLOR": "1"}
    done = subprocess.run(command.words, cwd=TOP, capture_output=True, text=True, timeout=90, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def walk(page: Path, title: str) -> dict[str, str]:
    """What each command of the page said."""
    first, *rest = commands(page, title)
    assert first.words[:2] == ["eachnode", "up"], "a walk begins with a cluster"
    options = [str(TOP / word) if word.startswith("examples/") else word for word in first.words[2:]]
    with started("up", *options) as server:
        return {command.text: run(command, server) for command in rest}


@pytest.mark.parametrize(("page", "title"), WALKS, ids=[name_of(page) for page, _ in WALKS])
def test_every_command_of_the_walk_works(page: Path, title: str) -> None:
    begun = time.monotonic()
    said = walk(page, title)
    check = CHECKS.get(page.name)
    if check is not None:
        check(said, time.monotonic() - begun)


def stopped_at_its_budget(said: dict[str, str], _: float) -> None:
    """An image that is not there stops the rollout, and `why` says of whom and what for."""
    assert "outdated" in said["eachnode why ds/nginx-ds"]
    assert "non-existent" in said["eachnode why ds/nginx-ds"]


def took_its_time(_: dict[str, str], seconds: float) -> None:
    """A surge waits for `minReadySeconds` on each node."""
    assert seconds > 4 * 5, "four nodes, five seconds each"


CHECKS: dict[str, Callable[[dict[str, str], float], None]] = {
    "nginx.md": stopped_at_its_budget,
    "node-exporter.md": took_its_time,
}
