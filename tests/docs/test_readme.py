"""The README is true: its commands are run as a reader runs them, and what it says they say is what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eachnode.server.kinds import BUILT_IN
from tests.deploy.manifests import KUBECTL
from tests.docs.pages import TOP, Command, blocks, commands
from tests.processes import Server, started

README = TOP / "README.md"
pytestmark = pytest.mark.sockets
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")


def section(title: str) -> list[Command]:
    """The commands below a heading."""
    return commands(README, title)


def run(command: Command, server: Server, fails: bool = False) -> str:
    """Run it as a reader does who has set KUBECONFIG."""
    home = str(server.kubeconfig.parent)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": home, "PATH": path, "NO_COLOR": "1"}
    done = subprocess.run(command.words, cwd=TOP, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode != 0) is fails, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def up(command: Command) -> list[str]:
    """The options of an `eachnode up`."""
    assert command.words[:2] == ["eachnode", "up"]
    return [str(TOP / word) if word.startswith("examples/") else word for word in command.words[2:]]


@pytest.fixture(scope="module")
def tried() -> Iterator[Server]:
    """The cluster of `Try it`."""
    with started(*["up", *up(section("Try it")[0])]) as server:
        yield server


@needs_kubectl
def test_what_it_says_to_try_works_and_says_what_it_says(tried: Server) -> None:
    _, look, taint, why, status = section("Try it")
    assert "fluentd-elasticsearch" in run(look, tried)
    run(status, tried)
    run(taint, tried)
    subprocess.run(
        [str(KUBECTL), "wait", "--kubeconfig", str(tried.kubeconfig), "-n", "kube-system", "--timeout=30s",
         "--for=jsonpath={.status.numberAvailable}=5", "ds/fluentd-elasticsearch"],
        check=True, timeout=60, capture_output=True,
    )  # fmt: skip
    (shown,) = blocks(README, ("text",))
    assert run(why, tried).strip() == shown.strip()


@needs_kubectl
def test_what_it_says_to_explain_works(tried: Server) -> None:
    for command in section("Explain a DaemonSet on your cluster"):
        if command.words[1] != "plan":
            assert "node-3" in run(command, tried)


@needs_kubectl
def test_a_plan_shows_changes_by_its_exit_code_and_makes_none(tried: Server) -> None:
    (plan,) = (each for each in section("Explain a DaemonSet on your cluster") if each.words[1] == "plan")
    before = templates(tried)
    assert "fluentd:v6" in run(plan, tried, fails=True)
    assert templates(tried) == before


def templates(server: Server) -> object:
    """The templates of all DaemonSets."""
    command = [str(KUBECTL), "--kubeconfig", str(server.kubeconfig), "get", "ds", "--all-namespaces", "--output=json"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return [item["spec"] for item in json.loads(said)["items"]]


def test_make_up_runs_what_the_readme_says_it_runs() -> None:
    said = subprocess.run(["make", "--dry-run", "up"], cwd=TOP, capture_output=True, text=True, timeout=20, check=True)
    line = next(line for line in said.stdout.splitlines() if " up " in line)
    options = line.split(" up ")[1].split()
    assert options[:2] == ["--nodes", "6"]
    with started("up", *(str(TOP / word) if word.startswith("examples/") else word for word in options)) as server:
        assert server.url.startswith("https://127.0.0.1:")


def test_it_counts_the_kinds_right() -> None:
    found = re.search(r"\*\*(\d+) built-in ones", README.read_text())
    assert found
    assert int(found[1]) == len(BUILT_IN)


@needs_kubectl
def test_what_it_says_to_apply_is_there() -> None:
    apply, lease = section("Run it on your cluster")
    folder = apply.words[apply.words.index("-k") + 1]
    said = subprocess.run([str(KUBECTL), "kustomize", folder], cwd=TOP, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0
    namespace, name = lease.words[lease.words.index("--namespace") + 1], lease.words[-1]
    assert f"--leader-elect-namespace={namespace}" in said.stdout
    assert name in said.stdout
