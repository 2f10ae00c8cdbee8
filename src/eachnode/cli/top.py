"""`eachnode top`: what DaemonSets cost on each class of node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli.options import cluster_options, namespace_options, optional_daemonset_argument
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.client.door import Door
    from eachnode.decisions.costs import Bill, Cost, NodeClass

_HEADER = ("CLASS", "NODES", "DAEMONSET", "PODS", "CPU", "CPU%", "MEMORY", "MEMORY%")
_WIDE = (*_HEADER, "CPU/POD", "MEMORY/POD", "POD PLACES%")


@click.command("top", short_help="What DaemonSets cost on each class of node.")
@optional_daemonset_argument
@namespace_options
@output_option("json", "yaml", "wide")
@cluster_options
def command(
    daemonset: str,
    namespace: str | None,
    all_namespaces: bool,
    output: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Say what the pods of DaemonSets ask for against what the nodes have to give, by instance type or size.

    \b
    eachnode top -A
    eachnode top ds/fluentd -n kube-system -o wide
    """
    from eachnode.cli.errands import errand

    async def ask(door: Door, where: str) -> str:
        return await answer(door, "" if all_namespaces else where, daemonset=daemonset, output=output)

    click.echo(errand(kubeconfig, context, namespace, ask))


async def answer(door: Door, namespace: str, *, daemonset: str = "", output: str | None = None) -> str:
    """What is printed."""
    from eachnode.cli.errands import each, find
    from eachnode.cli.printing import structured, table
    from eachnode.cli.targets import parse_daemonset
    from eachnode.decisions.costs import Bill
    from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
    from eachnode.objects.workload import WorkloadNode, WorkloadPod

    name = parse_daemonset(daemonset) if daemonset else ""
    if name and namespace:
        await find(door, DAEMON_SETS, name, namespace)
    bill = Bill([document.read(WorkloadNode) async for document in each(door, NODES)])
    async for document in each(door, PODS, namespace):
        pod = document.read(WorkloadPod)
        if not name or (pod.metadata.controller is not None and pod.metadata.controller.name == name):
            bill.add(pod)
    if output not in (None, "wide"):
        return structured(_values(bill), output)
    rows = [row for kind in bill.classes for row in _rows(kind, wide=output == "wide")]
    if not rows and not bill.waiting:
        return f"no DaemonSet has a pod{f' in namespace {namespace}' if namespace else ''}"
    lines = table(_WIDE if output == "wide" else _HEADER, rows)
    for key, count in sorted(bill.waiting.items()):
        lines.append(f"{count} pod{'' if count == 1 else 's'} of {key} not on a node yet")
    return "\n".join(lines)


def _rows(kind: NodeClass, *, wide: bool) -> Iterator[tuple[str, ...]]:
    """A line for each DaemonSet on the class, and one for all of them."""
    first = (kind.name, str(kind.nodes))
    for key, cost in kind.dearest_first:
        yield (*first, str(key), *_cells(kind, cost, wide=wide))
        first = ("", "")
    if len(kind.costs) > 1:
        yield ("", "", "(all)", *_cells(kind, kind.total, wide=wide))


def _cells(kind: NodeClass, cost: Cost, *, wide: bool) -> tuple[str, ...]:
    from eachnode.decisions.costs import spell
    from eachnode.objects.workload import CPU, MEMORY, PODS

    shares = {resource: f"{kind.share(resource, cost.requests):.1%}" for resource in (CPU, MEMORY)}
    cells = [str(cost.pods)]
    for resource in (CPU, MEMORY):
        cells += [spell(resource, cost.requests[resource]), shares[resource]]
    if wide:
        cells += [spell(resource, cost.requests[resource] // max(cost.pods, 1)) for resource in (CPU, MEMORY)]
        cells.append(f"{kind.share(PODS, {PODS: cost.pods}):.1%}")
    return tuple(cells)


def _values(bill: Bill) -> dict[str, Any]:
    return {
        "classes": [
            {
                "class": kind.name,
                "nodes": kind.nodes,
                "allocatable": _amounts(kind.allocatable),
                "daemonSets": [
                    {"namespace": key.namespace, "name": key.name, **_value(kind, cost)}
                    for key, cost in kind.dearest_first
                ],
                "total": _value(kind, kind.total),
            }
            for kind in bill.classes
        ],
        "waiting": [
            {"namespace": key.namespace, "name": key.name, "pods": count} for key, count in sorted(bill.waiting.items())
        ],
    }


def _value(kind: NodeClass, cost: Cost) -> dict[str, Any]:
    shares = {resource: round(kind.share(resource, cost.requests), 4) for resource in sorted(cost.requests)}
    return {"pods": cost.pods, "requests": _amounts(cost.requests), "share": shares}


def _amounts(found: dict[str, int]) -> dict[str, str]:
    from eachnode.decisions.costs import spell

    return {resource: spell(resource, value) for resource, value in sorted(found.items())}
