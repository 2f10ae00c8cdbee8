"""An operator written with kopf, run against `eachnode up` as its authors run theirs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Server, started

pytest.importorskip("kopf", reason="kopf is not installed")
client: Any = pytest.importorskip("kubernetes.client", reason="the official client is not installed")
config: Any = pytest.importorskip("kubernetes.config")

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("python-clients")]

OPERATOR = Path(__file__).with_name("fleet_operator.py")
FLEETS = ("example.com", "v1", "default", "fleets")
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "required": ["image"], "properties": {"image": {"type": "string"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", "2") as running:
        yield running


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as found:
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": SCHEMA},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Available", "type": "integer", "jsonPath": ".status.available"}],
        }
        names = {"plural": "fleets", "singular": "fleet", "kind": "Fleet"}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        definition = {"metadata": {"name": "fleets.example.com"}, "spec": spec}
        client.ApiextensionsV1Api(found).create_custom_resource_definition(definition)
        yield found


@pytest.fixture(scope="module")
def operator(server: Server, api: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    log = tmp_path_factory.mktemp("operator") / "log"
    # kopf asks who it is; in a container the user has often no name.
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "USER": "operator"}
    command = [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", str(OPERATOR)]
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            finally:
                process.kill()
    said = log.read_text()
    assert "Traceback" not in said, said


def until(what: Callable[[], object], within: float = 20.0) -> None:
    """Returns when it is so."""
    end = time.monotonic() + within
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def fleet(api: Any, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.CustomObjectsApi(api).get_namespaced_custom_object(*FLEETS, name)
    except client.exceptions.NotFoundException:
        return None
    return found


def images(api: Any) -> list[str]:
    pods = client.CoreV1Api(api).list_namespaced_pod("default", label_selector="fleet").items
    return sorted(pod.spec.containers[0].image for pod in pods)


@pytest.mark.usefixtures("operator")
def test_an_operator_creates_updates_reports_and_says_farewell(api: Any) -> None:
    objects = client.CustomObjectsApi(api)
    body = {"apiVersion": "example.com/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"image": "app:1"}}
    objects.create_namespaced_custom_object(*FLEETS, body)

    def available() -> bool:
        return bool((fleet(api, "f") or {}).get("status", {}).get("available") == 2)

    until(available)
    assert images(api) == ["app:1", "app:1"]
    found = fleet(api, "f") or {}
    assert found["metadata"]["finalizers"] == ["example.com/fleets"]
    assert found["status"]["create"] == {"made": "f"}
    objects.patch_namespaced_custom_object(*FLEETS, "f", {"spec": {"image": "app:2"}})
    until(lambda: images(api) == ["app:2", "app:2"])
    objects.delete_namespaced_custom_object(*FLEETS, "f")
    until(lambda: fleet(api, "f") is None)
    assert client.CoreV1Api(api).read_namespaced_config_map("farewell-f", "default").metadata.name == "farewell-f"
    until(lambda: not client.AppsV1Api(api).list_namespaced_daemon_set("default").items)
    until(lambda: not images(api))


@pytest.mark.usefixtures("operator")
def test_what_the_operator_did_is_told_as_events(api: Any) -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Fleet", "metadata": {"name": "g"}, "spec": {"image": "app:1"}}
    client.CustomObjectsApi(api).create_namespaced_custom_object(*FLEETS, body)

    def told() -> bool:
        found = client.CoreV1Api(api).list_namespaced_event("default", field_selector="involvedObject.kind=Fleet")
        return any("succeeded" in event.message for event in found.items if event.involved_object.name == "g")

    until(told)
