"""Loops run alone as programs: what they say when something is wrong, and how they end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import PROGRAM, Server, started
from tests.replay.player import Client

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("standalone")]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/eachnode-controller"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", "2", "--without", "controller") as running:
        yield running


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], patience: float = 20.0) -> None:
    """Polls until the condition holds; fails when the process ends first."""
    for _ in range(int(patience / 0.05)):
        if condition():
            return
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"ended with {process.returncode}")
    raise AssertionError("waited in vain")


def ready(port: int) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


def ended(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stderr


def test_an_unknown_context_is_one_sentence_with_the_nearest_name(server: Server) -> None:
    code, told = ended("controller", "--kubeconfig", str(server.kubeconfig), "--context", "eachnodes")
    assert code == 64
    assert told.strip().splitlines()[-1].startswith('error: no context "eachnodes"')
    assert 'did you mean "eachnode"' in told


def test_a_kubeconfig_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "config"
    broken.write_text("clusters: [")
    code, told = ended("controller", "--kubeconfig", str(broken))
    assert code == 64
    assert "Traceback" not in told
    assert str(broken) in told


def account(server: Server, folder: Path, name: str, *rules: dict[str, Any]) -> Path:
    """A kubeconfig of somebody who may do this and nothing else."""
    client = Client(server.url, server.token)
    group = "rbac.authorization.k8s.io"
    client.call("POST /api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    client.call(f"POST /apis/{group}/v1/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    client.call(f"POST /apis/{group}/v1/clusterrolebindings", binding)
    _, answer, _ = client.call(
        f"POST /api/v1/namespaces/default/serviceaccounts/{name}/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    return path


def may(verbs: str, group: str, *resources: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}


LEASES = may("*", "coordination.k8s.io", "leases")


@pytest.mark.parametrize(
    ("name", "rules", "missing"),
    [
        ("nothing", [], "daemonsets"),
        ("no-nodes", [LEASES, may("list watch", "apps", "daemonsets", "controllerrevisions")], "nodes"),
    ],
)
def test_a_missing_permission_is_one_sentence_that_names_it(
    server: Server, tmp_path: Path, name: str, rules: list[dict[str, Any]], missing: str
) -> None:
    code, told = ended("controller", "--kubeconfig", str(account(server, tmp_path, name, *rules)))
    assert code == 77
    assert f'cannot list resource "{missing}"' in told
    assert "ask for this permission" in told
    assert "Traceback" not in told


def test_before_everything_was_seen_readyz_says_why_and_the_end_is_at_once(server: Server, tmp_path: Path) -> None:
    rules = [LEASES, may("list watch", "apps", "daemonsets", "controllerrevisions"), may("list", "", "nodes", "pods")]
    path, port = account(server, tmp_path, "blind", *rules), free_port()
    with running("controller", "--kubeconfig", str(path), "--metrics-listen", f"127.0.0.1:{port}") as process:
        wait_for(lambda: 'cannot watch resource "pods"' in ready(port)[1], process)
        assert ready(port)[0] == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_server_that_is_away_is_waited_for_and_readyz_says_so(tmp_path: Path) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    port = free_port()
    with running("controller", "--kubeconfig", str(path), "--metrics-listen", f"127.0.0.1:{port}") as process:

        def says_so() -> bool:
            status, body = ready(port)
            return status == 503 and "the server cannot be reached" in body

        wait_for(says_so, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_server_that_goes_away_later_is_told_at_readyz_too() -> None:
    port = free_port()
    with started("up", "--nodes", "1", "--without", "controller") as gone:
        options = ("--kubeconfig", str(gone.kubeconfig), "--metrics-listen", f"127.0.0.1:{port}")
        with running("controller", *options) as process:
            wait_for(lambda: ready(port)[0] == 200 and "leader" in ready(port)[1], process)
            gone.process.kill()
            wait_for(lambda: ready(port)[0] == 503 and "cannot connect" in ready(port)[1], process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def holder(server: Server) -> Any:
    status, lease, _ = Client(server.url, server.token).call(f"GET {LEASE}")
    return lease["spec"].get("holderIdentity") if status == 200 else None


def test_the_controller_leads_works_and_gives_up_its_lease_when_told_to_end(server: Server) -> None:
    client = Client(server.url, server.token)
    manifest = yaml.safe_load((Path(__file__).parents[2] / "examples" / "nginx.yaml").read_text())
    client.call("POST /apis/apps/v1/namespaces/default/daemonsets", manifest)
    port = free_port()
    options = ("--kubeconfig", str(server.kubeconfig), "--metrics-listen", f"127.0.0.1:{port}")
    with running("controller", *options) as process:

        def available() -> bool:
            _, tree, _ = client.call("GET /apis/apps/v1/namespaces/default/daemonsets/nginx-ds")
            return bool(tree["status"].get("numberAvailable") == 2)

        wait_for(available, process)
        assert ready(port)[0] == 200
        assert "leader" in ready(port)[1]
        assert holder(server)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert not holder(server)


def writes(port: int) -> dict[str, float]:
    """What an instance has written, by verb and resource; the lease is no matter of work."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    told = [line.rpartition(" ") for line in lines if line.startswith("eachnode_api_calls_total{")]
    return {
        call: float(count)
        for call, _, count in told
        if "leases" not in call and not any(f'verb="{verb}"' in call for verb in ("get", "list", "watch"))
    }


def test_a_leader_that_stops_is_replaced_in_time_and_writes_nothing_when_it_wakes_up_late(server: Server) -> None:
    client, daemonset = Client(server.url, server.token), "/apis/apps/v1/namespaces/default/daemonsets/late"
    manifest = yaml.safe_load((Path(__file__).parents[2] / "examples" / "nginx.yaml").read_text())
    manifest["metadata"]["name"] = "late"
    client.call("POST /apis/apps/v1/namespaces/default/daemonsets", manifest)
    ports = free_port(), free_port()
    options = [("--kubeconfig", str(server.kubeconfig), "--metrics-listen", f"127.0.0.1:{port}") for port in ports]

    def updated() -> bool:
        _, tree, _ = client.call(f"GET {daemonset}")
        status = tree.get("status", {})
        current = status.get("observedGeneration") == tree["metadata"]["generation"]
        return bool(current and status.get("updatedNumberScheduled") == status.get("numberAvailable") == 2)

    with running("controller", *options[0]) as first:
        wait_for(updated, first)
        leader = holder(server)
        with running("controller", *options[1]) as second:
            wait_for(lambda: "follower" in ready(ports[1])[1], second)
            before = writes(ports[0])
            first.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            wait_for(lambda: holder(server) not in (None, "", leader), second, patience=30)
            assert time.monotonic() - stopped < 15 + 2.4  # The lease's end, seen at the next look.
            change = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
            merge = {"Content-Type": "application/merge-patch+json"}
            _, changed, _ = client.call(f"PATCH {daemonset}", change, merge)
            assert changed["metadata"]["generation"] == 2
            wait_for(updated, second, patience=60)
            first.send_signal(signal.SIGCONT)
            wait_for(lambda: "follower" in ready(ports[0])[1], first)
            assert writes(ports[0]) == before


def test_a_wrong_flag_is_a_usage_error() -> None:
    code, told = ended("controller", "--no-such-flag")
    assert code == 2
    assert "--no-such-flag" in told
    code, told = ended("controler")
    assert code == 2
    assert "Did you mean 'controller'" in told
