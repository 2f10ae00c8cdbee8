"""Side by side with the reference: a real control plane whose DaemonSet controller is now Kubernetes' own, now ours.

Everything else is the same in both halves: API server, etcd, scheduler, simulated nodes. The programs are the user's;
nothing is downloaded.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from eachnode.cli.bench.clusters import SETTLE, of_proc, per, phase_of
from eachnode.cli.bench.measures import Sample
from eachnode.cli.bench.processes import PATIENCE, Program, free_port, program, running, until_answers, workplace

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
TOKEN = "measuring"  # noqa: S105 of a cluster on this machine that lives as long as the measurement
UNLIMITED = ("--kube-api-qps=100000", "--kube-api-burst=100000", "--leader-elect=false")


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A real control plane without a DaemonSet controller, with nodes that are simulated."""

    programs: Path
    kubeconfig: Path

    def manager(self, *controllers: str) -> AbstractContextManager[Program]:
        """A kube-controller-manager with these controllers."""
        return running(
            "kube-controller-manager", str(self.programs / "kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig}", f"--controllers={','.join(controllers)}",
            f"--secure-port={free_port()}", *UNLIMITED,
        )  # fmt: skip


def binaries_in(folder: Path | None) -> Path:
    """The folder, if it holds all that is needed."""
    if folder is None:
        raise click.ClickException(f"say where the reference's programs are: --binaries DIR ({', '.join(PROGRAMS)})")
    missing = [name for name in PROGRAMS if not (folder / name).is_file()]
    if missing:
        raise click.ClickException(f"{folder} lacks {', '.join(missing)}; Kubernetes' releases have them")
    return folder


def side_by_side(programs: Path, nodes: int) -> Iterator[Sample]:
    """CPU and memory of either controller, on a control plane of its own, and how long everything took."""
    for who in ("kube-controller-manager", "eachnode controller"):
        with control_plane(programs, nodes) as plane, _controller(who, plane) as controller:
            time.sleep(2 * SETTLE)
            for phase in ("create", "10 % rollout"):
                before = controller.cpu_seconds
                finish = phase_of(plane.kubeconfig, nodes, phase)
                time.sleep(SETTLE)
                at = f"{phase}, {nodes:,} nodes"
                yield of_proc(f"{who}: CPU per pod, {at}", per(nodes, before, controller.cpu_seconds), "ms")
                yield Sample(f"{who}: wall, {at}", finish.seconds, "s")
            yield of_proc(f"{who}: memory, {nodes:,} pods", controller.megabytes, "MB")


@contextmanager
def _controller(who: str, plane: ControlPlane) -> Iterator[Program]:
    if who == "kube-controller-manager":
        with plane.manager("daemonset-controller") as manager:
            yield manager
        return
    port = free_port()
    with program(
        "controller", "--kubeconfig", str(plane.kubeconfig), "--log-level", "warning",
        "--metrics-listen", f"127.0.0.1:{port}",
    ) as controller:  # fmt: skip
        until_answers(port)
        yield controller


@contextmanager
def control_plane(programs: Path, nodes: int) -> Iterator[ControlPlane]:
    """All of it but a DaemonSet controller, with simulated nodes that are ready, until the block ends."""
    with ExitStack() as stack:
        folder = stack.enter_context(workplace())
        etcd, server = free_port(), free_port()
        client, peers = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{free_port()}"
        stack.enter_context(
            running(
                "etcd", str(programs / "etcd"), f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}", f"--listen-peer-urls={peers}",
            )
        )  # fmt: skip
        key, tokens = folder / "key.pem", folder / "tokens.csv"
        key.write_bytes(_signing_key())
        tokens.write_text(f"{TOKEN},admin,admin,system:masters\n")
        stack.enter_context(
            running(
                "kube-apiserver", str(programs / "kube-apiserver"), f"--etcd-servers={client}",
                f"--cert-dir={folder / 'certificates'}", f"--secure-port={server}", "--bind-address=127.0.0.1",
                "--service-account-issuer=https://measuring", f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}", f"--token-auth-file={tokens}",
                "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",
                "--max-requests-inflight=4000", "--max-mutating-requests-inflight=2000",
            )
        )  # fmt: skip
        plane = ControlPlane(programs, folder / "kubeconfig")
        plane.kubeconfig.write_bytes(_kubeconfig(f"https://127.0.0.1:{server}"))
        _until_served(server)
        stack.enter_context(plane.manager("*", "-daemonset-controller"))
        scheduler = f"--secure-port={free_port()}"
        stack.enter_context(
            running(
                "kube-scheduler", str(programs / "kube-scheduler"), f"--kubeconfig={plane.kubeconfig}", scheduler,
                *UNLIMITED,
            )
        )  # fmt: skip
        kubelet = program("kubelet", "--nodes", str(nodes), "--kubeconfig", str(plane.kubeconfig))
        stack.enter_context(kubelet)
        _until_welcoming(plane.kubeconfig, nodes)
        yield plane


def _until_served(port: int) -> None:
    """Wait until the API server says that it is ready."""
    import ssl

    trusting = ssl._create_unverified_context()  # noqa: S323 it has just made its certificate, on this machine
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", timeout=5, context=trusting):
                return
        except OSError:
            time.sleep(0.2)
    raise click.ClickException(f"kube-apiserver was not ready within {PATIENCE:.0f} s")


def _until_welcoming(kubeconfig: Path, nodes: int) -> None:
    """Wait until all nodes are there and none is tainted."""
    import asyncio

    from eachnode.cli.running import connected
    from eachnode.objects.node import Node
    from eachnode.objects.resources import NODES

    async def look() -> bool:
        async with connected(str(kubeconfig), None) as (cluster, _):
            page = await cluster.list(NODES)
            return sum(not document.read(Node).taints for document in page.documents) == nodes

    deadline = time.monotonic() + PATIENCE
    while not asyncio.run(look()):
        if time.monotonic() > deadline:
            raise click.ClickException(f"{nodes} nodes were not ready within {PATIENCE:.0f} s")
        time.sleep(0.5)


def _kubeconfig(server: str) -> bytes:
    cluster = {"server": server, "insecure-skip-tls-verify": True}
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "measured", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "measured", "context": {"cluster": "measured", "user": "admin"}}],
        "current-context": "measured",
    }
    return msgspec.json.encode(tree)


def _signing_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
