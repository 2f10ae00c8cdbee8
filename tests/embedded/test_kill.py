"""`kill -9` in the middle of a rollout: whoever watched sees no difference but a pause."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eachnode.client.cluster import Cluster
from eachnode.client.kubeconfig import load
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer
from tests.embedded.remote import Remote, task
from tests.processes import Server, started
from tests.worlds import daemon_set

NODES = 12
BUDGET = 3
KILLED_AT = (2, 5, 9)  # How many pods of the new template have been seen ready when the server is killed.


class Watcher:
    """Follows all pods, over all deaths of the server, and judges every moment."""

    def __init__(self, cluster: Cluster) -> None:
        self.informer = Informer(cluster, PODS, Pod, clock=SystemClock(), chance=random.Random(1), labels="app=d")
        self.informer.subscribe(self._changed)
        self.fewest = NODES
        self.judging = False
        self.created: dict[str, str] = {}  # Pod name -> its revision.

    @property
    def serving(self) -> set[str]:
        """Nodes with a pod that serves."""
        return {pod.spec.node_name for pod in self.informer.items.values() if _serves(pod)}

    def ready_of(self, revision: str) -> int:
        """How many pods of this revision serve."""
        pods = self.informer.items.values()
        return sum(_serves(pod) and pod.revision_hash == revision for pod in pods)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None:
            self.created[new.metadata.name] = new.revision_hash
        if self.judging:
            self.fewest = min(self.fewest, len(self.serving))


def _serves(pod: Pod) -> bool:
    return pod.is_ready and not pod.is_terminating


@contextmanager
def up(data: Path, port: int = 0) -> Iterator[Server]:
    """`eachnode up` with a state to go on from."""
    options = ("--nodes", str(NODES), "--timing", "lifelike", "--pace", "0.1", "--data-dir", str(data))
    with started("up", *options, "--listen", f"127.0.0.1:{port}") as server:
        yield server


@pytest.mark.sockets
@pytest.mark.xdist_group("kill")
async def test_a_rollout_goes_on_after_each_kill_within_its_budget_at_every_moment(tmp_path: Path) -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": BUDGET}}
    with up(tmp_path) as server:
        access = load(str(server.kubeconfig), None)
        port = int(server.url.rpartition(":")[2])
        async with Cluster(access) as cluster:
            remote = Remote(cluster)
            await remote.create(DAEMON_SETS, daemon_set(updateStrategy=strategy))
            await remote.until_available("d", NODES)
            server.process.kill()

    async with Cluster(access) as cluster:
        watcher = Watcher(cluster)
        remote = Remote(cluster)
        async with task(watcher.informer.run()):
            revision = await _roll_out_under_kills(remote, watcher, tmp_path, port)
            with up(tmp_path, port):
                await remote.until_available("d", NODES)
                await _ends_as_if_nothing_had_happened(remote, watcher, revision)
    assert watcher.fewest >= NODES - BUDGET


async def _roll_out_under_kills(remote: Remote, watcher: Watcher, data: Path, port: int) -> str:
    """Begins a rollout and kills the server again and again; the revision that is rolled out."""
    revision = ""
    for progress in KILLED_AT:
        with up(data, port) as server:
            if not revision:
                await remote.until_available("d", NODES)

                async def complete() -> bool:
                    return len(watcher.serving) == NODES

                await remote.until(complete)
                watcher.judging = True
                template = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
                await remote.patch(DAEMON_SETS, "d", {"spec": {"template": template}})
                revision = await _newest_revision(remote)

            async def far_enough(progress: int = progress, revision: str = revision) -> bool:
                return watcher.ready_of(revision) >= progress

            await remote.until(far_enough)
            server.process.kill()
    assert watcher.ready_of(revision) < NODES
    return revision


async def _newest_revision(remote: Remote) -> str:
    async def second() -> bool:
        return len(await remote.all(CONTROLLER_REVISIONS, "default")) == 2

    await remote.until(second)
    newest = max(await remote.all(CONTROLLER_REVISIONS, "default"), key=lambda tree: int(tree["revision"]))
    return str(newest["metadata"]["labels"]["controller-revision-hash"])


async def _ends_as_if_nothing_had_happened(remote: Remote, watcher: Watcher, revision: str) -> None:
    """Each node has its one new pod, and no pod was made in vain."""

    async def settled() -> bool:
        return watcher.ready_of(revision) == NODES == len(watcher.informer.items)

    await remote.until(settled)
    assert len(watcher.serving) == NODES
    assert sum(each == revision for each in watcher.created.values()) == NODES
    assert len(await remote.all(CONTROLLER_REVISIONS, "default")) == 2
