"""The official Python client against `eachnode up`: typed, dynamic, watching, and electing a leader."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Server, started

client: Any = pytest.importorskip("kubernetes.client", reason="the official client is not installed")
config: Any = pytest.importorskip("kubernetes.config")
dynamic: Any = pytest.importorskip("kubernetes.dynamic")
watch: Any = pytest.importorskip("kubernetes.watch")

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("python-clients")]

SPACE = "official"
ELECTOR = Path(__file__).with_name("elector.py")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", "3") as running:
        yield running


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as found:
        client.CoreV1Api(found).create_namespace({"metadata": {"name": SPACE}})
        yield found


def daemon_set(name: str, image: str = "app:1") -> dict[str, Any]:
    labels = {"app": name}
    spec = {"containers": [{"name": "main", "image": image}]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def until(what: Callable[[], bool], within: float = 20.0) -> None:
    """Returns when it is so; these clients have no other way to wait than to ask again."""
    end = time.monotonic() + within
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def rolled_out(apps: Any, name: str, generation: int) -> bool:
    status = apps.read_namespaced_daemon_set_status(name, SPACE).status
    return bool(
        status.observed_generation == generation
        and status.number_available == status.updated_number_scheduled == status.desired_number_scheduled == 3
    )


def test_typed_objects_are_written_and_read(api: Any) -> None:
    apps, core = client.AppsV1Api(api), client.CoreV1Api(api)
    labels = {"app": "typed"}
    made = apps.create_namespaced_daemon_set(
        SPACE,
        client.V1DaemonSet(
            metadata=client.V1ObjectMeta(name="typed"),
            spec=client.V1DaemonSetSpec(
                selector=client.V1LabelSelector(match_labels=labels),
                template=client.V1PodTemplateSpec(
                    metadata=client.V1ObjectMeta(labels=labels),
                    spec=client.V1PodSpec(containers=[client.V1Container(name="main", image="app:1")]),
                ),
            ),
        ),
    )
    assert made.spec.update_strategy.rolling_update.max_unavailable == 1
    assert made.metadata.creation_timestamp.tzinfo is not None
    until(lambda: rolled_out(apps, "typed", 1))
    pods = core.list_namespaced_pod(SPACE, label_selector="app=typed").items
    assert {pod.spec.node_name for pod in pods} == {"node-1", "node-2", "node-3"}
    assert {pod.metadata.owner_references[0].uid for pod in pods} == {made.metadata.uid}
    made.spec.template.spec.containers[0].image = "app:2"
    with pytest.raises(client.ApiException) as refused:  # The status has changed it since.
        apps.replace_namespaced_daemon_set("typed", SPACE, made)
    assert refused.value.status == 409
    made.metadata.resource_version = None
    assert apps.replace_namespaced_daemon_set("typed", SPACE, made).metadata.generation == 2
    until(lambda: rolled_out(apps, "typed", 2))
    assert len(apps.list_namespaced_controller_revision(SPACE, label_selector="app=typed").items) == 2


def test_patches_of_every_kind(api: Any) -> None:
    apps = client.AppsV1Api(api)
    apps.create_namespaced_daemon_set(SPACE, daemon_set("patched"))

    def image(body: Any, **how: Any) -> str:
        found = apps.patch_namespaced_daemon_set("patched", SPACE, body, **how)
        return str(found.spec.template.spec.containers[0].image)

    containers = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
    assert image(containers) == "app:2"
    operations = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:3"}]
    assert image(operations) == "app:3"
    assert image(containers, dry_run="All") == "app:2"
    assert apps.read_namespaced_daemon_set("patched", SPACE).spec.template.spec.containers[0].image == "app:3"


def test_errors_are_statuses(api: Any) -> None:
    apps = client.AppsV1Api(api)
    with pytest.raises(client.ApiException) as missing:
        apps.read_namespaced_daemon_set("nobody", SPACE)
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")
    assert '"reason":"NotFound"' in missing.value.body
    wrong = daemon_set("wrong")
    wrong["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    with pytest.raises(client.ApiException) as invalid:
        apps.create_namespaced_daemon_set(SPACE, wrong)
    assert invalid.value.status == 422


def test_lists_come_in_pages(api: Any) -> None:
    core = client.CoreV1Api(api)
    for number in range(7):
        core.create_namespaced_config_map(SPACE, {"metadata": {"name": f"page-{number}", "labels": {"many": "yes"}}})
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(SPACE, label_selector="many=yes", limit=3, _continue=token)
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"page-{number}" for number in range(7)]
    core.delete_collection_namespaced_config_map(SPACE, label_selector="many=yes")
    assert not core.list_namespaced_config_map(SPACE, label_selector="many=yes").items


def test_deleting_with_each_policy(api: Any) -> None:
    apps, core = client.AppsV1Api(api), client.CoreV1Api(api)

    def pods() -> int:
        return len(core.list_namespaced_pod(SPACE, label_selector="app=gone").items)

    for policy, left in (("Orphan", 3), ("Foreground", 0), ("Background", 0)):
        apps.create_namespaced_daemon_set(SPACE, daemon_set("gone"))
        until(lambda: rolled_out(apps, "gone", 1))
        apps.delete_namespaced_daemon_set("gone", SPACE, propagation_policy=policy)
        until(lambda: not apps.list_namespaced_daemon_set(SPACE, label_selector="app=gone").items)
        until(lambda left=left: pods() == left)  # type: ignore[misc]  # a default argument, so that it is this round's


def test_a_watch_tells_each_change_and_resumes(api: Any) -> None:
    core = client.CoreV1Api(api)
    start = core.list_namespaced_config_map(SPACE).metadata.resource_version
    core.create_namespaced_config_map(SPACE, {"metadata": {"name": "watched"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("watched", SPACE, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("watched", SPACE)
    watcher = watch.Watch()
    seen = []
    stream = watcher.stream(
        core.list_namespaced_config_map,
        SPACE,
        resource_version=start,
        field_selector="metadata.name=watched",
        timeout_seconds=10,
    )
    for event in stream:
        seen.append((event["type"], event["object"].data["a"]))
        if event["type"] == "DELETED":
            watcher.stop()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]
    assert int(watcher.resource_version) > int(start)


def test_the_dynamic_client_discovers_what_there_is(api: Any) -> None:
    found = dynamic.DynamicClient(api)
    sets = found.resources.get(api_version="apps/v1", kind="DaemonSet")
    assert (sets.name, sets.namespaced, "ds" in sets.short_names) == ("daemonsets", True, True)
    sets.create(body={"apiVersion": "apps/v1", "kind": "DaemonSet", **daemon_set("dynamic")}, namespace=SPACE)
    applied = sets.server_side_apply(
        body={"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "dynamic", "labels": {"by": "me"}}},
        name="dynamic",
        namespace=SPACE,
        field_manager="tests",
    )
    assert applied.metadata.labels.by == "me"
    assert "tests" in {entry.manager for entry in applied.metadata.managedFields}
    assert "dynamic" in [each.metadata.name for each in sets.get(namespace=SPACE, label_selector="by=me").items]
    for event in sets.watch(namespace=SPACE, timeout=10, name="dynamic"):
        assert event["object"].metadata.name == "dynamic"
        break
    sets.delete(name="dynamic", namespace=SPACE)


def test_the_dynamic_client_works_with_custom_kinds(api: Any) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    names = {"plural": "boxes", "singular": "box", "kind": "Box"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    extensions = client.ApiextensionsV1Api(api)
    extensions.create_custom_resource_definition(
        {
            "metadata": {"name": "boxes.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        }
    )

    def established() -> bool:
        status = extensions.read_custom_resource_definition("boxes.example.com").status
        return any(each.type == "Established" and each.status == "True" for each in status.conditions or ())

    until(established)
    box = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"size": 2, "more": 1}}
    custom = client.CustomObjectsApi(api)
    made = custom.create_namespaced_custom_object("example.com", "v1", SPACE, "boxes", box)
    assert made["spec"] == {"size": 2}
    boxes = dynamic.DynamicClient(api).resources.get(api_version="example.com/v1", kind="Box")
    assert boxes.get(name="b", namespace=SPACE).spec.size == 2
    extensions.delete_custom_resource_definition("boxes.example.com")


def test_when_the_leader_is_killed_another_takes_over(server: Server, api: Any) -> None:
    leases = client.CoordinationV1Api(api)

    def leader() -> Any:
        return leases.read_namespaced_lease("leadership", SPACE).spec

    with standing(server, "first") as first:
        assert said(first) == "leads\n"
        assert leader().holder_identity == "first"
        with standing(server, "second") as second:
            first.kill()
            assert said(second) == "leads\n"
            assert leader().holder_identity == "second"


def said(process: subprocess.Popen[str]) -> str:
    """The next line of a program."""
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def standing(server: Server, identity: str) -> Iterator[subprocess.Popen[str]]:
    """A candidate, in a process of its own."""
    command = [sys.executable, str(ELECTOR), str(server.kubeconfig), SPACE, identity]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
