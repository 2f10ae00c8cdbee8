"""kubectl and `eachnode controller` against a running cluster, as an administrator uses them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import yaml

from tests.deploy.manifests import KUBECTL, Tree
from tests.processes import PROGRAM

NOT_SERVED = {"Deployment"}  # The embedded cluster runs DaemonSets; it has no Deployments.


class Reached(Protocol):
    """A cluster that a kubeconfig leads to: an embedded one, or a real control plane."""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        ...


def kubectl(server: Reached, *arguments: str, stdin: str = "") -> str:
    """What kubectl says."""
    assert KUBECTL is not None
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(server.kubeconfig.parent)}
    command = [KUBECTL, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def install(server: Reached, objects: list[Tree]) -> None:
    """Apply all that the embedded cluster serves."""
    served = [tree for tree in objects if tree["kind"] not in NOT_SERVED]
    for tree in sorted(served, key=lambda tree: bool(tree["kind"] != "Namespace")):
        kubectl(server, "apply", "--filename=-", stdin=json.dumps(tree))


def config_of(server: Reached, account: str) -> Path:
    """A kubeconfig with which one is that service account."""
    token = kubectl(server, "--namespace=eachnode-system", "create", "token", account).strip()
    config = yaml.safe_load(server.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    path = server.kubeconfig.with_name(f"kubeconfig-{account}")
    path.write_text(yaml.safe_dump(config))
    return path


@contextmanager
def controller(config: Path, log: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """`eachnode controller` with the flags of the Deployment, until the block ends."""
    command = [str(PROGRAM), "controller", "--kubeconfig", str(config), *flags]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def flags_of(objects: list[Tree]) -> list[str]:
    """What the Deployment says after `controller`, but with any free port."""
    deployment = next(tree for tree in objects if tree["kind"] == "Deployment")
    flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"][1:]
    return [flag if "listen" not in flag else "--metrics-listen=127.0.0.1:0" for flag in flags]
