"""The walk through taking over: its check runs as it is written, and finds nothing when one controller follows another.

That pods and revisions as the reference leaves them are taken over untouched is shown with recordings of it, in
tests/controllers/daemonset; here it is the check itself, and the hand-over between two processes.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.deploy.manifests import KUBECTL, base
from tests.deploy.running import config_of, controller, flags_of, install, kubectl
from tests.docs.pages import TOP, commands
from tests.processes import Server, started

PAGE = TOP / "docs/how-to/take-over.md"
FLUENTD = str(TOP / "examples" / "fluentd.yaml")
pytestmark = [pytest.mark.sockets, pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")]


def shell(folder: Path, server: Server, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the page as a shell does, redirections included."""
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(folder)}
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)


def checks(title: str) -> list[str]:
    """The lines of a section that write a list or compare two."""
    return [each.text for each in commands(PAGE, title) if each.text.startswith("diff") or ">" in each.text]


BEFORE, AFTER = checks("1. Look at what is there"), checks("5. Check that nothing restarted")


def write_down(folder: Path, server: Server, lines: list[str]) -> None:
    for line in lines:
        assert shell(folder, server, line).returncode == 0, line


def test_the_check_finds_nothing_when_one_controller_follows_another(tmp_path: Path) -> None:
    flags = flags_of(base())
    *after, diff = AFTER
    where = ("--namespace=kube-system", "ds/fluentd-elasticsearch")
    with started("up", "--without", "controller", "--nodes", "4") as server:
        install(server, base())
        config = config_of(server, "eachnode-controller")
        with controller(config, tmp_path / "first", *flags):
            kubectl(server, "apply", "--filename", FLUENTD)
            kubectl(server, "rollout", "status", *where, "--timeout=50s")
        write_down(tmp_path, server, BEFORE)
        assert (tmp_path / "before").read_text().count("DaemonSet") == 4
        with controller(config, tmp_path / "second", *flags):
            # A change that replaces nothing, so that it can be seen when the second has looked at everything.
            kubectl(server, "patch", *where, "--type=merge", '--patch={"spec":{"revisionHistoryLimit":9}}')
            kubectl(server, "wait", *where, "--for=jsonpath={.status.observedGeneration}=2", "--timeout=50s")
            write_down(tmp_path, server, after)
        compared = shell(tmp_path, server, diff)
        assert compared.returncode == 0, compared.stdout


def test_the_check_finds_a_pod_that_was_replaced(tmp_path: Path) -> None:
    *after, diff = AFTER
    with started("up", "--nodes", "2", "-f", FLUENTD) as server:
        write_down(tmp_path, server, BEFORE)
        kubectl(server, "delete", "pods", "--all", "--namespace=kube-system", "--timeout=50s")
        kubectl(server, "rollout", "status", "--namespace=kube-system", "ds/fluentd-elasticsearch", "--timeout=50s")
        write_down(tmp_path, server, after)
        assert shell(tmp_path, server, diff).returncode == 1
