"""Each loop alone: taken out of `eachnode up` its work is left undone, and run elsewhere it does it there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from eachnode.embedded.options import COMPONENTS, SERVER_COMPONENTS, Component
from eachnode.objects.resources import CONFIG_MAPS, DAEMON_SETS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from tests.embedded.remote import Remote, component, reaching
from tests.processes import Server, started
from tests.worlds import Tree, daemon_set, pod

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("alone")]

OWN_COMMANDS = ("controller", "scheduler", "kubelet")  # The others are started by `eachnode loop`.
TOLERANT = [{"operator": "Exists"}]


@dataclass(frozen=True, slots=True)
class Duty:
    """What a loop is there for: something to give rise to it, and how to see that it is done."""

    arise: Callable[[Remote], Awaitable[Any]]
    done: Callable[[Remote], Awaitable[bool]]


async def _a_daemon_set(remote: Remote) -> None:
    await remote.create(DAEMON_SETS, daemon_set())


async def _a_pod(remote: Remote) -> None:
    await remote.create(PODS, pod("p", tolerations=TOLERANT))


async def _a_lost_child(remote: Remote) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "11111111-1111-1111-1111-111111111111"}
    await remote.create(CONFIG_MAPS, {"metadata": {"name": "lost", "ownerReferences": [owner]}})


async def _a_cordoned_node(remote: Remote) -> None:
    await remote.patch(NODES, "node-1", {"spec": {"unschedulable": True}})


async def _a_pod_of_no_node(remote: Remote) -> None:
    await remote.create(PODS, pod("stray", nodeName="nowhere"))


async def _a_namespace(remote: Remote) -> None:
    await remote.create(NAMESPACES, {"metadata": {"name": "n"}})


async def _pods_everywhere(remote: Remote) -> bool:
    tree = await remote.get(DAEMON_SETS, "d") or {}
    return bool(tree["status"].get("desiredNumberScheduled") == 2 == len(await remote.pods(labels="app=d")))


async def _pod_bound(remote: Remote) -> bool:
    return bool((await remote.get(PODS, "p") or {})["spec"].get("nodeName"))


async def _pod_runs(remote: Remote) -> bool:
    return bool((await remote.get(PODS, "p") or {})["status"]["phase"] == "Running")


async def _child_gone(remote: Remote) -> bool:
    return await remote.get(CONFIG_MAPS, "lost") is None


async def _node_tainted(remote: Remote) -> bool:
    spec: Tree = (await remote.get(NODES, "node-1") or {})["spec"]
    return "node.kubernetes.io/unschedulable" in {taint["key"] for taint in spec.get("taints", ())}


async def _stray_gone(remote: Remote) -> bool:
    return await remote.get(PODS, "stray") is None


async def _account_there(remote: Remote) -> bool:
    return await remote.get(SERVICE_ACCOUNTS, "default", "n") is not None


DUTIES: dict[Component, Duty] = {
    "controller": Duty(_a_daemon_set, _pods_everywhere),
    "scheduler": Duty(_a_pod, _pod_bound),
    "garbage-collector": Duty(_a_lost_child, _child_gone),
    "node-lifecycle": Duty(_a_cordoned_node, _node_tainted),
    "pod-garbage-collector": Duty(_a_pod_of_no_node, _stray_gone),
    "namespaces": Duty(_a_namespace, _account_there),
    "kubelet": Duty(_a_pod, _pod_runs),
}


@contextmanager
def running_elsewhere(loop: Component, server: Server, *options: str) -> Iterator[None]:
    """The loop in a process of its own; the server is in another."""
    words = (loop,) if loop in OWN_COMMANDS else ("loop", loop, "--quarantine", "1s")
    with component(words, server.kubeconfig, *options):
        yield


async def others_have_worked(remote: Remote, without: Component) -> None:
    """Returns when the other loops have done a duty that came after, so that they had their time."""
    if without != "namespaces":
        await remote.create(NAMESPACES, {"metadata": {"name": "later"}})

        async def furnished() -> bool:
            return await remote.get(SERVICE_ACCOUNTS, "default", "later") is not None

        await remote.until(furnished, within=20)
        return
    await _a_pod(remote)
    await remote.until(lambda: _pod_runs(remote), within=20)


@pytest.mark.parametrize("loop", COMPONENTS)
async def test_a_loop_that_is_left_out_is_missed_and_does_its_work_from_another_process(loop: Component) -> None:
    duty = DUTIES[loop]
    with started("up", "--nodes", "2", "--without", loop) as server:
        async with reaching(server.kubeconfig) as remote:
            await duty.arise(remote)
            await others_have_worked(remote, without=loop)
            assert not await duty.done(remote)
            with running_elsewhere(loop, server):
                await remote.until(lambda: duty.done(remote), within=20)


async def test_all_loops_each_by_itself_make_a_cluster_of_a_server() -> None:
    with started("server") as server, ExitStack() as stack:
        async with reaching(server.kubeconfig) as remote:
            for loop in COMPONENTS:
                if loop not in SERVER_COMPONENTS and loop != "kubelet":
                    stack.enter_context(running_elsewhere(loop, server))
            stack.enter_context(running_elsewhere("kubelet", server, "--nodes", "5"))
            await remote.create(DAEMON_SETS, daemon_set())
            await remote.until_available("d", 5, within=30)
            template = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
            await remote.patch(DAEMON_SETS, "d", {"spec": {"template": template}})
            await remote.until_available("d", 5, within=30)
            await remote.delete(NODES, "node-3")
            await remote.until_available("d", 4, within=30)
