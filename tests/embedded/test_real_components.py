"""Kubernetes' own programs in the place of our loops; EACHNODE_REFERENCE names the folder with them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eachnode.objects.resources import DAEMON_SETS, EVENTS, NODES, PODS, SERVICE_ACCOUNTS
from tests.embedded.remote import reaching
from tests.processes import started
from tests.worlds import daemon_set, pod

PROGRAMS = Path(os.environ.get("EACHNODE_REFERENCE", "/nowhere"))
OUR_LOOPS = "controller,garbage-collector,node-lifecycle,pod-garbage-collector,namespaces"

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(not (PROGRAMS / "kube-scheduler").is_file(), reason="Kubernetes' programs are not at hand"),
]


@contextmanager
def beside(name: str, without: str, *options: str) -> Iterator[Path]:
    """A cluster without some of its loops, and this program; the kubeconfig leads to the cluster."""
    with started("up", "--nodes", "2", "--without", without) as server:
        command = [str(PROGRAMS / name), "--kubeconfig", str(server.kubeconfig), "--secure-port=0", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield server.kubeconfig
        finally:
            process.kill()
            process.wait(20)


async def test_kube_scheduler_places_pods_as_it_is() -> None:
    with beside("kube-scheduler", "scheduler") as kubeconfig:
        async with reaching(kubeconfig) as remote:
            await remote.create(DAEMON_SETS, daemon_set())
            await remote.until_available("d", 2, within=60)
            greedy = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000"}}}
            await remote.create(PODS, pod("big", containers=[greedy]))

            async def told() -> bool:
                events = await remote.all(EVENTS, fields="reason=FailedScheduling")
                return any("2 Insufficient cpu" in each["message"] for each in events)

            await remote.until(told, within=60)


async def test_kube_controller_manager_does_the_work_of_all_our_loops() -> None:
    speaks_json = "--kube-api-content-type=application/json"
    with beside("kube-controller-manager", OUR_LOOPS, speaks_json) as kubeconfig:
        async with reaching(kubeconfig) as remote:

            async def furnished() -> bool:
                return await remote.get(SERVICE_ACCOUNTS, "default") is not None

            await remote.until(furnished, within=60)
            await remote.create(DAEMON_SETS, daemon_set())
            await remote.until_available("d", 2, within=60)
            await remote.patch(NODES, "node-1", {"spec": {"unschedulable": True}})

            async def cordoned() -> bool:
                taints = ((await remote.get(NODES, "node-1")) or {})["spec"].get("taints", [])
                return "node.kubernetes.io/unschedulable" in {taint["key"] for taint in taints}

            await remote.until(cordoned, within=60)
            await remote.delete(DAEMON_SETS, "d")

            async def collected() -> bool:
                return not await remote.pods()

            await remote.until(collected, within=60)
