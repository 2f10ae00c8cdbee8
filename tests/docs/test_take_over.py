"""The walk through taking over: its check runs as it is written, and finds nothing when one controller follows another.

Where Kubernetes' own programs are at hand (`EACHNODE_REFERENCE=FOLDER`), one of the two is Kubernetes' own, on a real
control plane. That pods and revisions as the reference leaves them are taken over untouched is shown everywhere, with
recordings, in tests/controllers/daemonset; here it is the check itself, and the hand-over between two processes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eachnode.cli.bench.reference import binaries_in, control_plane
from tests.deploy.manifests import CONTROL_PLANE, KUBECTL, base
from tests.deploy.running import Reached, config_of, controller, flags_of, install, kubectl
from tests.docs.pages import TOP, commands
from tests.processes import started

PAGE = TOP / "docs/how-to/take-over.md"
FLUENTD, NGINX = (str(TOP / "examples" / name) for name in ("fluentd.yaml", "nginx.yaml"))
DAEMON_SETS = {"fluentd-elasticsearch": "kube-system", "nginx-ds": "default"}
REFERENCE = os.environ.get("EACHNODE_REFERENCE")
pytestmark = [pytest.mark.sockets, pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")]


def shell(folder: Path, server: Reached, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the page as a shell does, pipes and redirections included."""
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(folder)}
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)


def checks(title: str) -> list[str]:
    """The lines of a section that write a list or compare two."""
    return [each.text for each in commands(PAGE, title) if each.text.startswith("diff") or ">" in each.text]


BEFORE, (*AFTER, DIFF) = checks("1. Look at what is there"), checks("5. Check that nothing restarted")


def write_down(folder: Path, server: Reached, lines: list[str]) -> None:
    for line in lines:
        assert shell(folder, server, line).returncode == 0, line


def changed(folder: Path, server: Reached) -> str:
    """What the page's check finds."""
    write_down(folder, server, AFTER)
    return shell(folder, server, DIFF).stdout


def rolled_out(server: Reached) -> None:
    for name, namespace in DAEMON_SETS.items():
        kubectl(server, "rollout", "status", f"--namespace={namespace}", f"ds/{name}", "--timeout=50s")


def looked_at(server: Reached, limit: int) -> None:
    """Wait until whoever is in charge has looked at everything: shown by a change that replaces nothing."""
    for name, namespace in DAEMON_SETS.items():
        where = (f"--namespace={namespace}", f"ds/{name}")
        kubectl(server, "patch", *where, "--type=merge", f'--patch={{"spec":{{"revisionHistoryLimit":{limit}}}}}')
        generation = kubectl(server, "get", *where, "--output=jsonpath={.metadata.generation}")
        seen = f"--for=jsonpath={{.status.observedGeneration}}={generation}"
        kubectl(server, "wait", *where, seen, "--timeout=50s")


def brought_to_life(server: Reached) -> None:
    """DaemonSets that have pods, and one that has a past."""
    kubectl(server, "apply", "--filename", FLUENTD, "--filename", NGINX)
    rolled_out(server)
    kubectl(server, "set", "image", "ds/nginx-ds", "nginx=nginx:1.27.1")
    rolled_out(server)


def test_the_check_finds_nothing_when_one_controller_follows_another(tmp_path: Path) -> None:
    flags = flags_of(base())
    with started("up", "--without", "controller", "--nodes", "4") as server:
        install(server, base())
        config = config_of(server, "eachnode-controller")
        with controller(config, tmp_path / "first", *flags):
            brought_to_life(server)
        write_down(tmp_path, server, BEFORE)
        noted = (tmp_path / "before").read_text()
        assert (noted.count("DaemonSet "), noted.count("ControllerRevision ")) == (8, 3)
        kubectl(server, "run", "another", "--image=pods-of-others-are-not-looked-at")
        with controller(config, tmp_path / "second", *flags):
            looked_at(server, 9)
            assert changed(tmp_path, server) == ""


def test_the_check_finds_a_pod_that_was_replaced(tmp_path: Path) -> None:
    with started("up", "--nodes", "2", "-f", FLUENTD) as server:
        write_down(tmp_path, server, BEFORE)
        kubectl(server, "delete", "pods", "--all", "--namespace=kube-system", "--timeout=50s")
        kubectl(server, "rollout", "status", "--namespace=kube-system", "ds/fluentd-elasticsearch", "--timeout=50s")
        assert changed(tmp_path, server).count("\n> DaemonSet kube-system/fluentd-elasticsearch-") == 2


@pytest.mark.skipif(REFERENCE is None, reason="EACHNODE_REFERENCE names no folder with Kubernetes' own programs")
def test_nothing_restarts_between_kubernetes_own_controller_and_ours_and_back(tmp_path: Path) -> None:
    with control_plane(binaries_in(Path(str(REFERENCE))), nodes=4) as plane:
        with plane.manager("daemonset-controller"):
            brought_to_life(plane)
        write_down(tmp_path, plane, BEFORE)
        with ours(plane, tmp_path):
            looked_at(plane, 9)
            assert changed(tmp_path, plane) == ""
            kubectl(plane, "set", "image", "ds/nginx-ds", "nginx=nginx:1.28.0")
            rolled_out(plane)
            assert changed(tmp_path, plane) != ""
        write_down(tmp_path, plane, BEFORE)
        with plane.manager("daemonset-controller"):
            looked_at(plane, 8)
            assert changed(tmp_path, plane) == ""


@contextmanager
def ours(plane: Reached, folder: Path) -> Iterator[None]:
    """Installed with kubectl to the last field, and run as its account, which is refused nothing."""
    kubectl(plane, "apply", "--kustomize", str(CONTROL_PLANE), "--validate=strict")
    log = folder / "log"
    with controller(config_of(plane, "eachnode-controller"), log, *flags_of(base())):
        yield
    assert "orbidden" not in log.read_text()
