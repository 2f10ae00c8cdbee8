"""What the reference's own shell tests ask of kubectl and DaemonSets, with the newest kubectl found here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectls import Kubectl, binaries
from tests.processes import started

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("kubectl-conformance")]

BIND = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: bind, labels: {service: bind}}
spec:
  selector: {matchLabels: {service: bind}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}
  template:
    metadata: {labels: {service: bind}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchExpressions: [{key: service, operator: In, values: [bind]}]}
            topologyKey: kubernetes.io/hostname
            namespaces: []
      containers:
      - {name: kubernetes-pause, image: "pause:2.0"}
"""
BIND_2 = BIND.replace("pause:2.0", "pause:latest") + '      - {name: app, image: "nginx:test-cmd"}\n'
GENERATION = "get daemonsets bind -o jsonpath={.metadata.generation}"
IMAGES = "get daemonset bind -o jsonpath={.spec.template.spec.containers[*].image}"
NUMBERS = "get controllerrevisions --sort-by=.revision -o jsonpath={.items[*].revision}"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """The newest kubectl, in a cluster of its own."""
    found = binaries()
    if not found:
        pytest.skip("there is no kubectl on PATH")
    with started("up", "--nodes", "1") as server:
        yield Kubectl(found[-1], server.kubeconfig, tmp_path_factory.mktemp("home"), "default")


def test_every_change_of_the_template_is_one_generation(kubectl: Kubectl) -> None:
    for _ in range(2):
        kubectl("apply -f -", stdin=BIND)
        assert kubectl(GENERATION) == "1"
    for generation, change in enumerate(
        (
            "set image daemonsets/bind *=pause:test-cmd",
            "set env daemonsets/bind foo=bar",
            "set resources daemonsets/bind --limits=cpu=200m,memory=512Mi",
            "rollout restart daemonset/bind",
        ),
        2,
    ):
        kubectl(change)
        assert kubectl(GENERATION) == str(generation)
    managers = kubectl("get daemonsets bind --show-managed-fields -o=jsonpath={.metadata.managedFields[*].manager}")
    assert "kubectl-set" in managers.split()
    requests = [line for line in kubectl("describe daemonsets -v=6").splitlines() if "GET" in line]
    for kind in ("daemonsets", "pods", "events"):
        assert any(f"/{kind}?" in line and "limit=500" in line for line in requests), requests
    kubectl("delete ds bind")


def test_history_is_numbered_and_gone_back_in(kubectl: Kubectl, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(BIND)
    second.write_text(BIND_2)

    kubectl("apply --record -f", str(first))
    kubectl("rollout status ds/bind --timeout=20s")
    cause = kubectl("get controllerrevisions -o jsonpath={.items[*].metadata.annotations}")
    assert "--record=true" in cause
    assert "first.yaml" in cause
    kubectl("rollout undo daemonset --to-revision=1")
    assert kubectl(IMAGES) == "pause:2.0"

    kubectl("apply --record -f", str(second))
    kubectl("rollout status ds/bind --timeout=20s")
    both = "pause:latest nginx:test-cmd"
    assert kubectl(IMAGES) == both
    assert kubectl(NUMBERS) == "1 2"
    for number, image in ((1, "pause:2.0"), (2, "nginx:test-cmd")):
        shown = kubectl(f"rollout history daemonset --revision={number}")
        assert f"daemonset.apps/bind with revision #{number}" in shown
        assert "Pod Template:" in shown
        assert image in shown
    for dry in ("client", "server"):
        kubectl(f"rollout undo daemonset --dry-run={dry}")
        assert kubectl(IMAGES) == both

    for change, images, wanted in (
        ("rollout undo daemonset --to-revision=1", "pause:2.0", "2 3"),
        ("rollout undo daemonset", both, "3 4"),
    ):
        kubectl(change)
        assert kubectl(IMAGES) == images
        kubectl("rollout status ds/bind --timeout=20s")
        assert kubectl(NUMBERS) == wanted
        history = kubectl("rollout history daemonset").splitlines()
        rows = [line.split() for line in history[2:] if line]
        assert [row[0] for row in rows] == wanted.split()
        assert all(row[1].startswith("kubectl") and row[2] == "apply" for row in rows)
        refused = kubectl("rollout undo daemonset --to-revision=1000000", fails=True)
        assert "unable to find specified revision" in refused
        assert kubectl(IMAGES) == images
    kubectl("delete -f", str(first))
