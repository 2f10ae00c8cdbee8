"""`get` and `events` over HTTP: tables as the server makes them, objects as they are, names that are not there."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from eachnode.cli.get import tables
from eachnode.cli.main import cli
from tests.cli.commands import ok, run
from tests.cli.golden import assert_golden
from tests.processes import PROGRAM, Server, started

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("reading")]
NGINX = Path(__file__).parents[2] / "examples" / "nginx.yaml"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", "3", "-f", str(NGINX)) as running:
        ok("rollout", "status", "ds/nginx-ds", "--timeout=60", "--kubeconfig", str(running.kubeconfig))
        yield running


@pytest.fixture(autouse=True)
def _configured(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ds", "ds"),
        ("ds_wide", "ds -o wide"),
        ("ds_all", "daemonsets.apps -A"),
        ("ds_labels", "ds/nginx-ds --show-labels"),
        ("nodes", "nodes"),
        ("pods_bare", "pods -l app=nginx --no-headers"),
        ("several", "ds,no"),
        ("revisions", "revisions -l app=nginx"),
    ],
)
def test_tables_are_the_servers(name: str, arguments: str) -> None:
    text = ok("get", *arguments.split()).steady
    text = "\n".join(sorted(text.splitlines())) if name == "pods_bare" else text
    assert_golden(f"get_{name}", text)


def test_lists_as_json_and_yaml_hold_whole_objects_with_their_kinds() -> None:
    from_json = json.loads(ok("get", "ds,nodes", "-o", "json").out)
    assert from_json == yaml.safe_load(ok("get", "ds,nodes", "-o", "yaml").out)
    assert [item["kind"] for item in from_json["items"]] == ["DaemonSet", "Node", "Node", "Node"]
    assert from_json["items"][0]["spec"]["selector"] == {"matchLabels": {"app": "nginx"}}
    assert not any("managedFields" in item["metadata"] for item in from_json["items"])


def test_one_object_is_no_list() -> None:
    tree = yaml.safe_load(ok("get", "node", "node-2", "-o", "yaml").out)
    assert (tree["kind"], tree["metadata"]["name"]) == ("Node", "node-2")
    assert json.loads(ok("get", "no/node-2", "-o", "json").out)["metadata"] == tree["metadata"]


def test_names_are_as_kubectl_writes_them() -> None:
    assert ok("get", "ds", "-o", "name").out == "daemonset.apps/nginx-ds\n"
    assert ok("get", "no", "-o", "name").out == "node/node-1\nnode/node-2\nnode/node-3\n"


def test_an_empty_list_is_a_list() -> None:
    nothing = {"apiVersion": "v1", "kind": "List", "items": []}
    assert json.loads(ok("get", "pods", "-l", "app=none", "-o", "json").out) == nothing
    assert yaml.safe_load(ok("get", "pods", "-l", "app=none", "-o", "yaml").out) == nothing
    said = ok("get", "pods", "-l", "app=none")
    assert (said.out, said.err) == ("", "no pods found in namespace default\n")


def test_what_is_there_is_shown_and_what_is_not_makes_it_fail() -> None:
    said = run("get", "nodes", "node-1", "node-9", "-o", "name")
    assert (said.code, said.out) == (1, "node/node-1\n")
    assert said.err == "error: there is no Node 'node-9'; did you mean 'node-3'?\n"
    table = run("get", "no/node-9", "ds/nginx-ds")
    assert table.code == 1
    assert "nginx-ds" in table.out
    assert ok("get", "nodes", "node-9", "--ignore-not-found").out == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("get dss", "there is no kind 'dss' here; did you mean 'ds'?"),
        ("get ds x -A", "a name is looked for in one namespace; leave out -A or the name"),
        ("get ds x -l a=b", "a name and a selector do not go together; leave out one of them"),
        ("get ds,no -w", "--watch follows one kind at a time"),
        ("get ds -l a,,b", "found ',', expected: identifier after ','"),
        ("events ds/nginx -w", "there is no DaemonSet 'nginx' in namespace default; did you mean 'nginx-ds'?"),
        ("events --types=Alarm", "there are events of the types Normal and Warning, not 'Alarm'"),
        ("set image ds/nginx-ds", "say what is to be changed and how: eachnode set image ds/NAME CONTAINER=IMAGE"),
        ("set image ds/nginx-ds nginx=", "'nginx=' says no image; write CONTAINER=IMAGE"),
        ("rollout restart", "name DaemonSets (ds/NAME), or choose them by -l; one of both"),
        ("rollout restart ds -l a=b", "no DaemonSet in namespace default has the labels a=b"),
        ("rollout history po/x", "'po/x' is no DaemonSet; write ds/NAME"),
        ("delete ds", "say what is to go"),
        ("delete", "say what is to go"),
        ("delete pods --all --field-selector spec.nodeName=node-1", "say what is to go"),
    ],
)
def test_a_wrong_command_is_told_in_a_sentence(arguments: str, sentence: str) -> None:
    said = run(*arguments.split())
    assert said.code != 0
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_lists_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ok("get", "nodes", "--no-headers").steady
    monkeypatch.setattr(tables, "PAGE", 1)
    monkeypatch.setattr("eachnode.cli.errands.PAGE", 1)
    assert ok("get", "nodes", "--no-headers").steady == whole
    assert ok("get", "nodes", "-o", "name").out.count("node/") == 3


def test_events_of_a_daemonset_are_those_of_its_pods_too() -> None:
    out = ok("events", "ds/nginx-ds").out
    assert out.startswith("LAST SEEN   TYPE")
    assert "daemonset/nginx-ds" in out
    assert "pod/nginx-ds-" in out
    assert "node/" not in out
    everything = json.loads(ok("events", "-A", "-o", "json").out)["items"]
    assert {event["kind"] for event in everything} == {"Event"}
    assert len(everything) >= out.count("\n") - 1
    assert ok("events", "-A").out.startswith("NAMESPACE   LAST SEEN")
    names = ok("events", "ds/nginx-ds", "-o", "name").out.splitlines()
    assert len(names) == out.count("\n") - 1
    said = ok("events", "ds/nginx-ds", "--types=Warning")
    assert (said.out, said.err) == ("", "no events about ds/nginx-ds in namespace default\n")


def test_watching_goes_on_with_a_row_for_each_change(server: Server) -> None:
    arguments = [str(PROGRAM), "get", "no", "node-1", "-w", "--show-labels"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("NAME")
            assert process.stdout.readline().startswith("node-1   Ready")
            _label_node(server, {"colour": "blue"})
            while "colour=blue" not in process.stdout.readline():
                assert process.poll() is None
        finally:
            process.terminate()


def test_watched_objects_come_one_after_another(server: Server) -> None:
    arguments = [str(PROGRAM), "get", "ds", "-w", "-o", "name"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "daemonset.apps/nginx-ds\n"
            ok("set", "image", "ds/nginx-ds", "nginx=nginx:watched")
            assert process.stdout.readline() == "daemonset.apps/nginx-ds\n"
        finally:
            process.terminate()


def _label_node(server: Server, labels: dict[str, str]) -> None:
    request = urllib.request.Request(
        f"{server.url}/api/v1/nodes/node-1",
        data=json.dumps({"metadata": {"labels": labels}}).encode(),
        method="PATCH",
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/merge-patch+json"},
    )
    with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=20):
        pass


def test_following_ends_cleanly_every_time() -> None:
    for _ in range(5):  # A watch that was not hung up at its end showed itself now and then.
        said = ok("rollout", "status", "ds/nginx-ds", "--timeout=60")
        assert said.out.endswith('daemon set "nginx-ds" successfully rolled out\n')
        assert said.err == ""


# Clusters that cannot be reached


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    for arguments in (("get", "ds"), ("rollout", "status", "ds/x"), ("delete", "ds/x"), ("apply", "-f", str(NGINX))):
        said = run(*arguments, "--kubeconfig", str(path))
        assert said.code == 69
        assert "is the server running" in said.err
        assert said.err.count("\n") == 1
    assert run("get", "ds", "--kubeconfig", str(path), "--context", "y").code == 64


def test_somebody_who_may_not_is_told_what_is_missing(server: Server, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {**config["users"][0]["user"], "as": "system:serviceaccount:default:default"}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    for arguments in (("get", "ds"), ("rollout", "history", "ds/nginx-ds"), ("rollout", "status", "ds/nginx-ds")):
        said = run(*arguments, "--kubeconfig", str(path))
        assert said.code == 77
        assert "cannot" in said.err
        assert "ask for this permission" in said.err


def test_a_name_that_is_elsewhere_is_said_to_be_there() -> None:
    said = run("why", "ds/nginx-ds", "-n", "kube-system")
    assert said.err == (
        "error: there is no DaemonSet 'nginx-ds' in namespace kube-system; there is one in default: write -n default\n"
    )
    assert "there is no namespace 'defalt'; did you mean 'default'?" in run("get", "ds/nginx", "-n", "defalt").err


@pytest.mark.parametrize("words", ["ds/nginx-ds", "ds nginx-ds", "nginx-ds", "daemonset.apps nginx-ds"])
@pytest.mark.parametrize("command", ["why", "rollout status", "rollout history", "top", "events"])
def test_one_daemonset_is_named_as_kubectl_lets_one_name_it(command: str, words: str) -> None:
    ok(*command.split(), *words.split())


def test_of_two_names_one_is_too_many() -> None:
    said = run("why", "nginx-ds", "other", "more")
    assert said.code == 2
    assert "one DaemonSet is meant, and this names more: nginx-ds other more" in said.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("why ds/n", ["ds/nginx-ds"]),
        ("rollout status ds/", ["ds/nginx-ds"]),
        ("why -n kube-system ds/", []),
        ("why -n def", ["default"]),
        ("why --node node-", ["node-1", "node-2", "node-3"]),
        ("why --context each", ["eachnode"]),
        ("why --kubeconfig /nowhere ds/", []),
    ],
)
def test_names_are_completed_from_the_cluster(typed: str, offered: list[str]) -> None:
    from click.shell_completion import ShellComplete

    *words, last = typed.split(" ")
    found = ShellComplete(cli, {}, "eachnode", "_EACHNODE_COMPLETE").get_completions(words, last)
    assert [item.value for item in found] == offered
