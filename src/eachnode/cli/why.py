"""`eachnode why`: what is so on each node, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from eachnode.cli import completing
from eachnode.cli.options import cluster_options, daemonset_argument, namespace_option
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.client.door import Door
    from eachnode.objects.clock import Clock


@click.command("why", short_help="What is so on each node, and why.")
@daemonset_argument
@click.option("--node", default="", metavar="NAME", shell_complete=completing.nodes, help="Of this node only, in full.")
@namespace_option
@output_option("json", "yaml", "wide")
@cluster_options
def command(
    daemonset: str, node: str, namespace: str | None, output: str | None, kubeconfig: str | None, context: str | None
) -> None:
    """Say for every node whether it runs its pod of a DaemonSet; if not, why not, and what would change that.

    \b
    eachnode why ds/fluentd -n kube-system
    eachnode why ds/fluentd -n kube-system --node node-7
    eachnode why ds/fluentd -o json | jq '.nodes[] | select(.answer == "pending")'
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.printing import colourful
    from eachnode.runtime.clock import SystemClock

    async def ask(door: Door, where: str) -> str:
        return await answer(door, SystemClock(), daemonset, where, node=node, output=output, colour=colourful())

    click.echo(errand(kubeconfig, context, namespace, ask))


async def answer(
    door: Door,
    clock: Clock,
    daemonset: str,
    namespace: str,
    *,
    node: str = "",
    output: str | None = None,
    colour: bool = False,
) -> str:
    """The answer as it is printed."""
    from eachnode.cli.explaining.observing import observe_now, scene_of
    from eachnode.cli.explaining.telling import tell_groups, tell_node, tell_wide, values
    from eachnode.cli.printing import structured
    from eachnode.cli.targets import parse_daemonset, unknown
    from eachnode.decisions.explanation import explain_fleet, explain_slot

    observed = await observe_now(door, clock, parse_daemonset(daemonset), namespace)
    slots = observed.look.fleet.slots
    if node and node not in slots:
        raise unknown("node", node, slots)
    scene = await scene_of(door, clock, observed, node)
    answers = [explain_slot(scene, slots[node])] if node else list(explain_fleet(scene))
    if output == "wide":
        return "\n".join(tell_wide(answers))
    if output is not None:
        return structured(values(scene, answers), output)
    lines = tell_node(scene, answers[0], colour=colour) if node else tell_groups(scene, answers, colour=colour)
    return "\n".join(lines)
