"""The Helm chart says the same as the kustomize folders, and refuses what it does not know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import jsonschema
import kubernetes_validate
import pytest
import yaml

import eachnode
from eachnode.cli.controller import command as controller
from tests.deploy.chart import NotUnderstood, render, rendered, schema, values
from tests.deploy.manifests import CHART, CONTROL_PLANE, KUBECTL, Tree, base, kustomized, named

HELM = shutil.which("helm", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

# What people set: each is rendered by Helm too, where there is one.
CHOICES: list[dict[str, Any]] = [
    {},
    {"leaderElect": False, "replicas": 1},
    {"controlPlane__enabled": True, "controller__namespace": "web"},
    {"controlPlane__enabled": True, "controlPlane__apiServerPort": 443, "replicas": 3},
    {"controller__placement": "direct", "controller__extraArgs": ["--failed-pod-back-off=2"]},
    {"controller__extraArgs": ["--log-level=debug", "--workers=4"]},
    {"image__repository": "registry.example.com/tools/eachnode", "image__tag": "1.10", "image__pullPolicy": "Always"},
    {"image__pullSecrets": ["registry", "other"]},
    {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
    {"resources": {}},
    {"controller__metricsPort": 65535, "controller__maxInFlight": 10000, "controller__workers": 1000},
]


def arguments(objects: list[Tree]) -> list[str]:
    """The container's arguments."""
    found: list[str] = named(objects)["Deployment", "eachnode-controller"]["spec"]["template"]["spec"]["containers"][0][
        "args"
    ]
    return found


def without_defaults(objects: list[Tree]) -> dict[tuple[str, str], Tree]:
    """Objects by kind and name; the chart spells out flags that stand at their default, and makes no namespace."""
    defaults = {f"{option.opts[-1]}={option.default}" for option in controller.params}
    for tree in objects:
        if tree["kind"] == "Deployment":
            container = tree["spec"]["template"]["spec"]["containers"][0]
            container["args"] = [each for each in container["args"] if each not in defaults]
    return {key: tree for key, tree in named(objects).items() if key[0] != "Namespace"}


def test_the_chart_makes_what_the_base_makes() -> None:
    assert without_defaults(rendered(values())) == without_defaults(base())


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_the_chart_makes_what_the_control_plane_folder_makes() -> None:
    chart = without_defaults(rendered(values(controlPlane__enabled=True)))
    assert chart == without_defaults(kustomized(CONTROL_PLANE))


@pytest.mark.parametrize("changes", CHOICES, ids=str)
def test_the_flags_it_sets_are_flags_of_the_controller(changes: dict[str, Any]) -> None:
    chosen = values(**changes)
    jsonschema.validate(chosen, schema())
    subcommand, *flags = arguments(rendered(chosen))
    assert subcommand == "controller"
    controller.make_context("controller", list(flags))  # Raises for a flag or value that does not exist.


@pytest.mark.parametrize("changes", CHOICES, ids=str)
def test_what_it_makes_is_valid_to_the_published_schema(changes: dict[str, Any]) -> None:
    for tree in rendered(values(**changes)):
        kubernetes_validate.validate(tree, "1.37", strict=True)


def test_without_election_two_never_run_side_by_side() -> None:
    def deployment(**changes: Any) -> Tree:
        tree: Tree = named(rendered(values(**changes)))["Deployment", "eachnode-controller"]["spec"]
        return tree

    assert deployment(leaderElect=False, replicas=1)["strategy"] == {"type": "Recreate"}
    assert deployment()["strategy"] == {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def test_its_notes_say_what_is_to_be_done_next() -> None:
    scope = {"Release": {"Namespace": "here"}, "Chart": {"AppVersion": "1"}}
    notes = render((CHART / "templates" / "NOTES.txt").read_text(), scope)
    assert "kubectl --namespace here get lease eachnode-controller" in notes
    assert "-daemonset-controller" in notes


def test_extra_arguments_come_last_and_quoted() -> None:
    assert arguments(rendered(values(controller__extraArgs=["--log-level=debug", "--workers=4"])))[-2:] == [
        "--log-level=debug",
        "--workers=4",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"controller__logLevel": "loud"},
        {"controller__workers": 0},
        {"controller__placement": "random"},
        {"replicas": 2, "leaderElect": False},
        {"controller__extraArgs": "--log-level=debug"},
    ],
)
def test_values_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values(**changes), schema())


def test_a_misspelt_value_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values() | {"replica": 3}, schema())


def test_every_value_is_in_the_schema_and_used_by_a_template() -> None:
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    for path in _paths(values()):
        assert f".Values.{path}" in templates or any(
            f".Values.{path.rsplit('.', depth)[0]} " in templates for depth in (1, 2)
        ), path


def _paths(tree: Any, above: str = "") -> list[str]:
    if not isinstance(tree, dict):
        return [above]
    return [path for key, value in tree.items() for path in _paths(value, f"{above}.{key}".lstrip("."))]


def test_the_version_is_the_packages() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["appVersion"] == about["version"] == eachnode.__version__
    images = [line for line in (base_text()).splitlines() if "image: eachnode:" in line]
    assert images
    assert all(re.search(rf"image: eachnode:{re.escape(eachnode.__version__)}\b", line) for line in images)


def base_text() -> str:
    """The base's Deployment as it is written."""
    return (CHART.parents[1] / "kustomize" / "base" / "deployment.yaml").read_text()


def test_what_the_stand_in_for_helm_does_not_know_is_an_error() -> None:
    with pytest.raises(NotUnderstood):
        render('{{ include "x" . }}', {})
    with pytest.raises(NotUnderstood):
        render("{{ .Values.missing }}", {"Values": {}})


def test_the_stand_in_for_helm_trims_chooses_and_repeats() -> None:
    text = "a:\n  {{- if .V.on }}\n  - {{ .V.name | quote }}\n  {{- else }}\n  - off\n  {{- end }}\n"
    assert render(text, {"V": {"on": True, "name": "x"}}) == 'a:\n  - "x"\n'
    assert render(text, {"V": {"on": False, "name": "x"}}) == "a:\n  - off\n"
    assert render("{{- range .V }}{{ . }};{{- end }}", {"V": ["a", "b"]}) == "a;b;"
    assert render("{{- range .V }}{{ . }};{{- end }}", {"V": []}) == ""


needs_helm = pytest.mark.skipif(HELM is None, reason="there is no helm here")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What Helm makes of the chart."""
    assert HELM is not None
    command = [HELM, *arguments, "--namespace", "eachnode-system"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@needs_helm
def test_helm_has_nothing_to_say_against_it() -> None:
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


@needs_helm
@pytest.mark.parametrize("changes", CHOICES, ids=str)
def test_helm_renders_it_alike(changes: dict[str, Any], tmp_path: Path) -> None:
    chosen = tmp_path / "values.yaml"
    # Helm merges maps into those of the chart; what is to be gone is null there.
    chosen.write_text(yaml.safe_dump(_nulled(values(), values(**changes))))
    done = helm("template", "eachnode", str(CHART), "--values", str(chosen))
    assert done.returncode == 0, done.stderr
    assert named(yaml.safe_load_all(done.stdout)) == named(rendered(values(**changes)))


def _nulled(before: Tree, after: Tree) -> Tree:
    gone: Tree = {key: None for key in before if key not in after}
    return gone | {
        key: _nulled(before[key], each) if isinstance(each, dict) and isinstance(before.get(key), dict) else each
        for key, each in after.items()
    }


@needs_helm
@pytest.mark.parametrize("setting", ["replica=3", "controller=null", "controller.workers=0", "leaderElect=false"])
def test_helm_refuses_what_makes_no_sense(setting: str) -> None:
    done = helm("template", "eachnode", str(CHART), "--set", setting)
    assert done.returncode != 0
    assert "don't meet the specifications of the schema" in done.stderr


def test_click_knows_every_option_by_its_long_name() -> None:
    # `without_defaults` compares flags by their last spelling; that has to be the one that is set.
    assert all(isinstance(option, click.Option) and option.opts[-1].startswith("--") for option in controller.params)
