"""The pytest plugin, as a project that tests its operator uses it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from eachnode.testing import StartFailure, running_cluster

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("plugin")]

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "how-to" / "test-your-operator.md"


def run_tests(folder: Path, text: str, *arguments: str) -> str:
    """What pytest says about a project with this file of tests."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "eachnode.testing.plugin", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def test_the_example_of_the_documentation_passes(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes", reason="the official client is not installed")
    (example,) = re.findall(r"```python\n(from kubernetes.*?)```", PAGE.read_text(), re.DOTALL)
    assert "1 passed" in run_tests(tmp_path, example)


USES = """
import subprocess, pytest

def nodes(cluster):
    with cluster.client() as api:
        from kubernetes import client
        return len(client.CoreV1Api(api).list_node().items)

@pytest.mark.parametrize("number", [1, 2])
def test_namespaces_are_new(cluster, namespace, number):
    from kubernetes import client
    with cluster.client() as api:
        core = client.CoreV1Api(api)
        core.create_namespaced_config_map(namespace, {"metadata": {"name": "same"}})
        core.delete_namespace(namespace) if number == 2 else None

def test_there_are_so_many_nodes(cluster):
    assert cluster.kubeconfig.exists() and cluster.environment == {"KUBECONFIG": str(cluster.kubeconfig)}
    print("nodes:", nodes(cluster))
"""


@pytest.mark.parametrize(
    ("settings", "arguments", "nodes"),
    [("", (), 3), ("eachnode_options = --nodes 5", (), 5), ("eachnode_options = --nodes 5", ("--nodes 1",), 1)],
)
def test_the_cluster_is_shared_and_each_test_has_its_namespace(
    tmp_path: Path, settings: str, arguments: tuple[str, ...], nodes: int
) -> None:
    pytest.importorskip("kubernetes", reason="the official client is not installed")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    said = run_tests(tmp_path, USES, "-s", *(f"--eachnode-options={each}" for each in arguments))
    assert "3 passed" in said, said
    assert f"nodes: {nodes}\n" in said


def test_options_that_are_wrong_are_told(tmp_path: Path) -> None:
    said = run_tests(tmp_path, "def test_it(cluster): pass\n", "--eachnode-options=--nodes many")
    assert "1 error" in said
    assert "'many' is not a valid integer range" in said


def test_a_cluster_is_there_in_a_moment_and_gone_with_the_block() -> None:
    begun = time.monotonic()
    with running_cluster("--nodes", "3") as cluster:
        took = time.monotonic() - begun
        assert cluster.kubeconfig.exists()
    assert not cluster.kubeconfig.exists()
    assert took < 5  # Under one second on an idle machine; the tests share theirs.


def test_what_cannot_start_says_why() -> None:
    with pytest.raises(StartFailure, match="nonsense"), running_cluster("--without", "nonsense"):
        pass


def test_pytest_finds_the_plugin_where_eachnode_is_installed() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"eachnode": "eachnode.testing.plugin"}


def test_the_plugin_costs_other_projects_next_to_nothing() -> None:
    script = "import sys; before = set(sys.modules); import pytest, eachnode.testing.plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"aiohttp", "msgspec", "click", "yaml", "cryptography", "kubernetes"} & set(loaded)
