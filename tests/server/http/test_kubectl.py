"""kubectl, as people use it, against the front over TLS."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.http.sites import Site, running, serve_widgets

KUBECTL = shutil.which("kubectl")
pytestmark = [pytest.mark.sockets, pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")]

MANIFEST = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: one, image: "app:1", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}
      - {name: two, image: "side:1"}
"""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with a home of its own."""

    home: Path
    site: Site

    async def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """What it says; `fails` when it is expected to."""
        assert KUBECTL is not None
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(self.home), "KUBECONFIG": str(self.home / "kubeconfig"), "PATH": "/usr/bin:/bin"},
        )
        async with asyncio.timeout(30):
            output, _ = await process.communicate(stdin.encode())
        said = output.decode()
        assert (process.returncode != 0) is fails, f"kubectl {' '.join(arguments)}\n{said}"
        return said


@asynccontextmanager
async def kubectl(home: Path) -> AsyncIterator[Kubectl]:
    """A running front and a kubectl that knows it."""
    async with running(home / "data") as site:
        site.front.write_kubeconfig(home / "kubeconfig")
        await site.call("POST /api/v1/namespaces", {"metadata": {"name": "default"}})
        yield Kubectl(home, site)


async def test_kubectl_finds_its_way(tmp_path: Path) -> None:
    async with kubectl(tmp_path) as run:
        assert "Server Version: v1.37" in await run("version")
        assert "daemonsets" in await run("api-resources", "--api-group=apps")
        assert "default   Active" in await run("get", "namespaces")
        for _ in range(2):  # The second time it asks whether its cache is still good.
            assert "apps/v1" in await run("api-versions")
        assert await run("get", "--raw", "/readyz") == "ok"


async def test_kubectl_applies_explains_and_compares(tmp_path: Path) -> None:
    async with kubectl(tmp_path) as run:
        assert "daemonset.apps/web created" in await run("apply", "-f", "-", stdin=MANIFEST)
        changed = MANIFEST.replace("app:1", "app:2").replace("name: A,", "name: B,")
        difference = await run("diff", "-f", "-", stdin=changed, fails=True)
        assert "-        image: app:1\n+        image: app:2\n" in difference
        assert "daemonset.apps/web configured" in await run("apply", "-f", "-", stdin=changed)
        path = "{.spec.template.spec.containers[*]['image','env']}"
        assert await run("get", "ds", "web", "-o", f"jsonpath={path}") == 'app:2 side:1 [{"name":"B","value":"1"}]'
        refused = await run("apply", "-f", "-", stdin=changed.replace("image", "imagge"), fails=True)
        assert 'unknown field "spec.template.spec.containers[0].imagge"' in refused
        assert "rollingUpdate\t<RollingUpdateDaemonSet>" in await run("explain", "daemonset.spec.updateStrategy")
        assert "serverside-applied" in await run(
            "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=MANIFEST
        )


async def test_kubectl_shows_tables_and_whole_objects(tmp_path: Path) -> None:
    async with kubectl(tmp_path) as run:
        await run("apply", "-f", "-", stdin=MANIFEST)
        titles = (await run("get", "ds")).split("\n")[0]
        assert " ".join(titles.split()) == "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE"
        assert "app:1,side:1" in await run("get", "ds", "-o", "wide")
        assert "kind: DaemonSet" in await run("get", "ds", "web", "-o", "yaml")
        assert await run("get", "ds", "-A", "-o", "name") == "daemonset.apps/web\n"
        assert "Desired Number of Nodes Scheduled: 0" in await run("describe", "ds", "web")
        await run("label", "ds", "web", "team=blue")
        assert "web" in await run("get", "ds", "-l", "team=blue", "--show-labels")
        assert 'daemonset.apps "web" deleted' in await run("delete", "ds", "web")


async def test_kubectls_own_commands_that_speak_protobuf_work(tmp_path: Path) -> None:
    async with kubectl(tmp_path) as run:
        assert "namespace/home created" in await run("create", "namespace", "home")
        assert "configmap/c created" in await run("create", "configmap", "c", "--from-literal=a=b")
        assert "secret/s created" in await run("create", "secret", "generic", "s", "--from-literal=a=b")
        assert "serviceaccount/agent created" in await run("create", "serviceaccount", "agent")
        await run("create", "clusterrolebinding", "viewers", "--clusterrole=view", "--serviceaccount=default:agent")
        assert await run("auth", "can-i", "list", "pods") == "yes\n"
        agent = "--as=system:serviceaccount:default:agent"
        assert await run("auth", "can-i", "list", "pods", agent) == "yes\n"
        assert await run("auth", "can-i", "delete", "pods", agent, fails=True) == "no\n"
        assert "admin" in await run("auth", "whoami")
        token = (await run("create", "token", "agent")).strip()
        listed = await run.site.call("GET /api/v1/namespaces/default/pods", token=token)
        assert listed.status == 200


async def test_kubectl_knows_custom_kinds(tmp_path: Path) -> None:
    async with kubectl(tmp_path) as run:
        await serve_widgets(run.site)
        widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\nspec: {size: 3}\n"
        assert "widget.example.com/w created" in await run("apply", "-f", "-", stdin=widget)
        assert "configured" in await run("apply", "-f", "-", stdin=widget.replace("3", "4"))
        shown = (await run("get", "wd")).split()
        assert shown == ["NAME", "SIZE", "w", "4"]
        assert "How big it is." in await run("explain", "widget.spec")
        refused = await run("apply", "-f", "-", stdin=widget.replace("size", "sise"), fails=True)
        assert 'unknown field "spec.sise"' in refused
