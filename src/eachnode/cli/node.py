"""`eachnode node`: what happens to simulated nodes, by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from eachnode.cli.failures import Failure
from eachnode.cli.node_marks import cordon, label, taint, uncordon
from eachnode.cli.options import cluster_options


@click.group("node", short_help="Add, remove, stop, start, reboot, drain, label or taint nodes.")
def command() -> None:
    """What happens to simulated nodes, by hand.

    \b
    eachnode node stop node-2       # no sign of life any more
    eachnode node add --count 5
    eachnode node taint node-1 dedicated=gpu:NoSchedule
    """


for mark in (label, taint, cordon, uncordon):
    command.add_command(mark)


def _run(kubeconfig: str | None, context: str | None, act: Callable[[Any], Awaitable[None]]) -> None:
    from eachnode.cli.running import connected, run

    async def main() -> None:
        async with connected(kubeconfig, context) as (door, _):
            await act(door)

    run(main)


async def _annotate(door: Any, name: str, annotations: dict[str, str | None]) -> None:
    """Change a simulated node's annotations; a node that is not simulated is left alone."""
    import msgspec

    from eachnode.client.door import PatchKind
    from eachnode.decisions.pod_stages.view import SIMULATED, SimulatedNode
    from eachnode.objects.resources import NODES

    node = (await door.get(NODES, name)).read(SimulatedNode)
    if not node.is_simulated:
        raise Failure(f'node {name} is not simulated: it lacks the annotation {SIMULATED}: "true"')
    body = msgspec.json.encode({"metadata": {"annotations": annotations}})
    await door.patch(NODES, name, body, PatchKind.MERGE)


@command.command("stop")
@click.argument("name")
@cluster_options
def stop(name: str, kubeconfig: str | None, context: str | None) -> None:
    """Let a node fall silent: no sign of life, and nothing happens on it."""
    from eachnode.controllers.kubelet import STOPPED

    _run(kubeconfig, context, lambda door: _annotate(door, name, {STOPPED: "true"}))
    click.echo(f"node/{name} stopped")


@command.command("start")
@click.argument("name")
@cluster_options
def start(name: str, kubeconfig: str | None, context: str | None) -> None:
    """Let a stopped node come back."""
    from eachnode.controllers.kubelet import STOPPED

    _run(kubeconfig, context, lambda door: _annotate(door, name, {STOPPED: None}))
    click.echo(f"node/{name} started")


@command.command("reboot")
@click.argument("name")
@cluster_options
def reboot(name: str, kubeconfig: str | None, context: str | None) -> None:
    """Let a node start anew: every container on it starts once more."""
    from eachnode.controllers.kubelet import REBOOTED
    from eachnode.objects.clock import micro_timestamp
    from eachnode.runtime.clock import SystemClock

    moment = micro_timestamp(SystemClock().now())
    _run(kubeconfig, context, lambda door: _annotate(door, name, {REBOOTED: moment}))
    click.echo(f"node/{name} rebooted")


@command.command("add")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("--template", type=click.Path(path_type=Path), help="A Node in YAML whose labels and sizes they take.")
@cluster_options
def add(count: int, template: Path | None, kubeconfig: str | None, context: str | None) -> None:
    """Add simulated nodes, numbered on from those that are there."""
    from eachnode.cli.manifests import read_manifests
    from eachnode.controllers.kubelet import create_nodes, node_trees
    from eachnode.objects.meta import MetadataOnly
    from eachnode.objects.resources import NODES

    tree = read_manifests([template])[0].tree if template else None

    async def act(door: Any) -> None:
        page = await door.list(NODES)
        names = [document.read(MetadataOnly).metadata.name for document in page.documents]
        taken = [int(name.removeprefix("node-")) for name in names if name.removeprefix("node-").isdecimal()]
        trees = list(node_trees(count, tree, first=max(taken, default=0) + 1))
        await create_nodes(door, trees)
        for made in trees:
            click.echo(f"node/{made['metadata']['name']} added")

    _run(kubeconfig, context, act)


@command.command("remove")
@click.argument("names", nargs=-1, required=True)
@cluster_options
def remove(names: tuple[str, ...], kubeconfig: str | None, context: str | None) -> None:
    """Remove nodes; their pods follow."""
    from eachnode.objects.resources import NODES

    async def act(door: Any) -> None:
        for name in names:
            await door.delete(NODES, name)
            click.echo(f"node/{name} removed")

    _run(kubeconfig, context, act)


@command.command("drain")
@click.argument("name")
@click.option(
    "--timeout", type=click.FloatRange(0.0), default=120.0, show_default=True, help="Seconds to wait for pods to leave."
)
@cluster_options
def drain(name: str, timeout: float, kubeconfig: str | None, context: str | None) -> None:
    """Cordon a node and evict its pods, but for those of DaemonSets."""
    _run(kubeconfig, context, lambda door: _drain(door, name, timeout))
    click.echo(f"node/{name} drained")


async def _drain(door: Any, name: str, timeout: float) -> None:
    import msgspec

    from eachnode.client.door import PatchKind
    from eachnode.objects.resources import NODES

    await door.patch(NODES, name, msgspec.json.encode({"spec": {"unschedulable": True}}), PatchKind.MERGE)
    try:
        async with asyncio.timeout(timeout):
            while left := await _evict_all(door, name):
                click.echo(f"waiting for {len(left)} pods: {', '.join(left)}")
                await asyncio.sleep(0.5)
    except TimeoutError as error:
        raise Failure(f"node {name} still has pods after {timeout:g} s") from error


async def _evict_all(door: Any, node: str) -> list[str]:
    """Ask every pod that is not a daemon's to leave; those that are still there."""
    import msgspec

    from eachnode.objects.meta import MetadataOnly
    from eachnode.objects.resources import PODS
    from eachnode.objects.status import NotFound, TooManyRequests

    left = []
    for document in (await door.list(PODS, fields=f"spec.nodeName={node}")).documents:
        metadata = document.read(MetadataOnly).metadata
        controller = metadata.controller
        if controller is not None and controller.kind == "DaemonSet":
            continue
        left.append(str(metadata.key))
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
        }
        try:
            await door.create(
                PODS, msgspec.json.encode(eviction), metadata.namespace, name=metadata.name, subresource="eviction"
            )
        except (NotFound, TooManyRequests):
            continue  # Gone by itself, or a disruption budget asks for patience.
    return left
