"""The manifests put to work: applied with kubectl, and the controller run as the account that they make."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.manifests import BASE, CONTROL_PLANE, KUBECTL, base, kustomized
from tests.deploy.running import NOT_SERVED, config_of, controller, flags_of, install, kubectl
from tests.processes import Server, started

pytestmark = [pytest.mark.sockets, pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")]

FLUENTD = Path(__file__).parents[2] / "examples" / "fluentd.yaml"


def ready_pods(server: Server) -> list[Any]:
    """The pods of all DaemonSets that are running."""
    pods = json.loads(kubectl(server, "get", "pods", "--all-namespaces", "--output=json"))["items"]
    return [pod for pod in pods if pod["status"].get("phase") == "Running"]


def test_as_its_account_the_controller_runs_a_daemonset_and_is_refused_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started("up", "--without", "controller", "--nodes", "3") as server:
        install(server, base())
        with controller(config_of(server, "eachnode-controller"), log, *flags_of(base())):
            kubectl(server, "apply", "--filename", str(FLUENTD))
            kubectl(server, "rollout", "status", "--namespace=kube-system", "ds/fluentd-elasticsearch", "--timeout=50s")
            assert len(ready_pods(server)) == 3
            image = "fluentd-elasticsearch=fluentd:v6"
            kubectl(server, "set", "image", "--namespace=kube-system", "ds/fluentd-elasticsearch", image)
            kubectl(server, "rollout", "status", "--namespace=kube-system", "ds/fluentd-elasticsearch", "--timeout=50s")
        lease = json.loads(
            kubectl(server, "get", "lease", "--namespace=eachnode-system", "eachnode-controller", "--output=json")
        )
    said = log.read_text()
    assert "orbidden" not in said
    assert not lease["spec"].get("holderIdentity"), "a controller that ends gives up its lease"


@pytest.mark.parametrize(
    "question", ["get secrets", "create daemonsets", "patch nodes", "delete nodes", "update leases"]
)
def test_its_account_may_not_do_what_it_has_no_need_for(server: Server, question: str) -> None:
    assert KUBECTL is not None
    account = "system:serviceaccount:eachnode-system:eachnode-controller"
    command = [KUBECTL, "auth", "can-i", *question.split(), "--as", account, "--namespace=kube-system"]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(server.kubeconfig.parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.strip() == "no"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("server") as server:
        install(server, base())
        yield server


def test_the_manifests_are_valid_to_the_last_field(server: Server) -> None:
    for tree in [*base(), *kustomized(CONTROL_PLANE)]:
        if tree["kind"] not in NOT_SERVED:
            kubectl(server, "apply", "--dry-run=server", "--validate=strict", "--filename=-", stdin=json.dumps(tree))


@pytest.mark.parametrize("folder", [BASE, CONTROL_PLANE], ids=lambda path: str(path.name))
def test_the_pods_of_the_deployment_are_valid_to_the_last_field(server: Server, folder: Path) -> None:
    deployment = next(tree for tree in kustomized(folder) if tree["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "try", "namespace": "eachnode-system"}
    kubectl(server, "apply", "--dry-run=server", "--validate=strict", "--filename=-", stdin=json.dumps(pod))
    assert deployment["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
