"""`eachnode lint`: a file full of mistakes, and one without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from eachnode.cli.failures import Failure
from eachnode.cli.lint import answer
from eachnode.cli.main import cli
from tests.cli.golden import assert_golden

MISTAKEN = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: fluentd}
spec:
  selector: {matchLabels: {app: fluentd}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata: {labels: {app: fluent}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: metadata.name, operator: In, values: [node-1]}]
      containers:
      - name: fluentd
        image: fluentd
        ports: [{containerPort: 24224, hostPort: 24224}]
        volumeMounts: [{name: logs, mountPath: /var/log}]
      volumes: [{name: logs, hostPath: {path: /var/log}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: beside}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: good}
spec:
  selector: {matchLabels: {app: good}}
  template:
    metadata: {labels: {app: good}}
    spec:
      priorityClassName: system-node-critical
      containers: [{name: c, image: "i:1", resources: {requests: {cpu: 50m, memory: 64Mi}}}]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("agents.yaml")
    path.write_text(MISTAKEN)
    return path


def test_each_mistake_is_told_with_its_reason_and_its_fix(file: Path) -> None:
    text, code = answer([file])
    assert code == 1
    assert_golden("lint", text)
    assert_golden("lint-colour", answer([file], colour=True)[0])
    assert_golden("lint-json", answer([file], output="json")[0])
    assert_golden("lint-yaml", answer([file], output="yaml")[0])
    assert yaml.safe_load(answer([file], output="yaml")[0]) == json.loads(answer([file], output="json")[0])


def test_warnings_alone_do_not_fail(file: Path) -> None:
    result = CliRunner().invoke(cli, ["lint", "-"], input=MISTAKEN.split("---")[2], standalone_mode=False)
    assert result.return_value == 0
    assert result.output == "-: daemonset good: nothing found\n"


def test_the_command_ends_with_one_when_something_does_not_work(file: Path) -> None:
    assert CliRunner().invoke(cli, ["lint", str(file)], standalone_mode=False).return_value == 1


def test_a_file_without_daemonsets_is_a_mistake_too(file: Path) -> None:
    file.write_text(MISTAKEN.split("---")[1])
    with pytest.raises(Failure, match=r"there is no DaemonSet in agents\.yaml"):
        answer([file])


@pytest.mark.parametrize("name", ["filebeat", "fluentd", "network-agent", "nginx", "node-exporter"])
def test_the_examples_of_this_repository_work(name: str) -> None:
    path = Path(__file__).parents[2] / "examples" / f"{name}.yaml"
    assert answer([path])[1] == 0
