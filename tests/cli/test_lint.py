"""`eachnode lint`: a file full of mistakes, and one without."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from eachnode.cli.failures import Failure
from eachnode.cli.lint import answer
from eachnode.cli.main import cli
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.status import ApiError
from eachnode.server.api_server import OURSELVES
from eachnode.server.kind import Call
from tests.cli.golden import assert_golden
from tests.worlds import world

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


GOOD: dict[str, Any] = list(yaml.safe_load_all(MISTAKEN))[2]


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good one with one field set."""
    tree = copy.deepcopy(GOOD)
    place: Any = tree
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        place = place[step]
    place[last] = value
    return tree


CONTAINER = "spec.template.spec.containers.0"


@pytest.mark.parametrize(
    ("tree", "path", "said", "fix"),
    [
        (
            changed("spec.minReadySecond", 3),
            "spec.minReadySecond",
            "there is no field minReadySecond",
            "minReadySeconds",
        ),
        (
            changed(f"{CONTAINER}.imagePullPolice", "x"),
            "spec.template.spec.containers[0].imagePullPolice",
            "",
            "Policy",
        ),
        (changed("spec.template.spec.zzz", 1), "spec.template.spec.zzz", "there is no field zzz", "remove it"),
        (
            changed("spec.template.spec.tolerations", [{"key": "a", "operator": "Exist"}]),
            "spec.template.spec.tolerations[0].operator",
            'Unsupported value: "Exist"',
            "",
        ),
        (changed("spec.template.spec.terminationGracePeriodSeconds", "30"), "spec", "cannot be read", "expected there"),
        (changed("spec.template.spec.restartPolicy", "Never"), "spec.template.spec.restartPolicy", "always", "Always"),
    ],
)
def test_whatever_else_a_server_refuses_is_found_too_and_once(
    tree: dict[str, Any], path: str, said: str, fix: str, tmp_path: Path
) -> None:
    file = tmp_path / "d.yaml"
    file.write_text(yaml.safe_dump(tree))
    text, code = answer([file], output="json")
    (error,) = [each for each in json.loads(text)[0]["findings"] if each["severity"] == "error"]
    assert (error["path"], code) == (path, 1)
    assert said in error["because"]
    assert fix in error["fix"]


@pytest.mark.parametrize(
    "tree",
    [
        GOOD,
        changed("spec.minReadySeconds", 3),
        changed("spec.minReadySecond", 3),
        changed("spec.updateStrategy", {"type": "Rolling"}),
        changed("spec.updateStrategy", {"rollingUpdate": {"maxUnavailable": "ten"}}),
        changed(f"{CONTAINER}.name", "Upper"),
        changed(f"{CONTAINER}.ports", [{"containerPort": 99999}]),
        changed(f"{CONTAINER}.volumeMounts", [{"name": "none", "mountPath": "/x"}]),
        changed("spec.template.spec.volumes", [{"name": "v", "hostPath": {"path": "/x"}, "emptyDir": {}}]),
        changed("spec.selector", {"matchLabels": {"app": "good", "more": "x"}}),
    ],
)
async def test_it_finds_an_error_where_a_strict_server_refuses_and_only_there(
    tree: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "d.yaml"
    file.write_text(yaml.safe_dump(tree))
    _, code = answer([file])
    async with world(without=("controller",)) as it:
        body = msgspec.json.encode({**tree, "metadata": {"name": "good", "namespace": "default"}})
        strictly = Call(OURSELVES, it.cluster.clock.now(), "create", "tests", field_validation="Strict", dry_run=True)
        try:
            await it.cluster.server.create_as(strictly, DAEMON_SETS, body, "default")
        except ApiError:
            assert code == 1
        else:
            assert code == 0


def test_folders_are_read(file: Path, tmp_path: Path) -> None:
    assert answer([tmp_path]) == (answer([file])[0].replace("agents.yaml", f"{tmp_path}/agents.yaml"), 1)
