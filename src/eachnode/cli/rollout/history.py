"""`eachnode rollout history`: every template a DaemonSet had, why, what it changed, and how many nodes run it."""

from __future__ import annotations

from typing import Any

import click

from eachnode.cli.options import cluster_options, daemonset_argument, namespace_option
from eachnode.cli.printing import output_option, structured, table
from eachnode.cli.rollout.revisions import Chronicle, Recorded
from eachnode.client.door import Door

SHOWN_CHANGES = 5  # In the table; `--revision` shows all.


@click.command("history", short_help="The templates it had, what each changed, and how many nodes run it.")
@daemonset_argument
@click.option("--revision", "number", type=click.IntRange(1), default=None, help="Show this revision in full.")
@output_option("json", "yaml")
@namespace_option
@cluster_options
def history(
    daemonset: str,
    number: int | None,
    output: str | None,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Every template a DaemonSet had: when, why, what it changed, and how many nodes run it now.

    \b
    eachnode rollout history ds/fluentd
    eachnode rollout history ds/fluentd --revision=2
    eachnode rollout history ds/fluentd -o json
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.targets import parse_daemonset
    from eachnode.runtime.clock import SystemClock

    name = parse_daemonset(daemonset)

    async def act(door: Door, where: str) -> str:
        return await told_history(door, name, where, number, output, SystemClock().now())

    click.echo(errand(kubeconfig, context, namespace, act))


async def told_history(
    door: Door, name: str, namespace: str, number: int | None, output: str | None, now: float
) -> str:
    """What the command prints."""
    from eachnode.cli.rollout.revisions import nodes_by_revision, read_chronicle

    chronicle = await read_chronicle(door, name, namespace)
    nodes = await nodes_by_revision(door, chronicle.daemonset)
    if number is not None:
        recorded = chronicle.numbered(number)
        if output:
            return structured(_tree(chronicle, recorded, nodes), output)
        return _in_full(chronicle, recorded, nodes)
    if output:
        return structured([_tree(chronicle, recorded, nodes) for recorded in chronicle.revisions], output)
    return _as_table(chronicle, nodes, now)


def _tree(chronicle: Chronicle, recorded: Recorded, nodes: dict[str, int]) -> dict[str, Any]:
    metadata = recorded.revision.metadata
    return {
        "revision": recorded.number,
        "name": metadata.name,
        "created": recorded.created,
        "cause": (metadata.annotations or {}).get("kubernetes.io/change-cause"),
        "current": chronicle.is_current(recorded),
        "nodes": nodes.get(recorded.revision.revision_hash or "", 0),
        "changes": [change.tree() for change in chronicle.changes_of(recorded)],
        "template": recorded.template,
    }


def _as_table(chronicle: Chronicle, nodes: dict[str, int], now: float) -> str:
    head = f"daemonset.apps/{chronicle.daemonset.name}"
    if not chronicle.revisions:
        return f"{head}\nno rollout history found: the controller has not recorded a template yet"
    rows = [row for recorded in chronicle.revisions for row in _rows(chronicle, recorded, nodes, now)]
    return "\n".join([head, *table(("REVISION", "AGE", "NODES", "CHANGE-CAUSE", "CHANGES"), rows)])


def _rows(chronicle: Chronicle, recorded: Recorded, nodes: dict[str, int], now: float) -> list[tuple[str, ...]]:
    """A line for the revision, and one for every further change in it."""
    from eachnode.objects.clock import seconds
    from eachnode.objects.durations import human_duration

    age = human_duration(max(0.0, now - seconds(recorded.created))) if recorded.created else "<unknown>"
    told = [str(change) for change in chronicle.changes_of(recorded)]
    if len(told) > SHOWN_CHANGES:
        hidden = len(told) - SHOWN_CHANGES + 1
        told[SHOWN_CHANGES - 1 :] = [f"and {hidden} more: --revision={recorded.number}"]
    runs = str(nodes.get(recorded.revision.revision_hash or "", 0))
    first = (str(recorded.number), age, runs, recorded.cause, told[0] if told else "")
    return [first, *(("", "", "", "", change) for change in told[1:])]


def _in_full(chronicle: Chronicle, recorded: Recorded, nodes: dict[str, int]) -> str:
    runs = nodes.get(recorded.revision.revision_hash or "", 0)
    lines = [
        f"daemonset.apps/{chronicle.daemonset.name} with revision #{recorded.number}",
        f"Name:     {recorded.revision.name}",
        f"Created:  {recorded.created}",
        f"Cause:    {recorded.cause}",
        f"Nodes:    {runs}{' (the current template)' if chronicle.is_current(recorded) else ''}",
    ]
    told = chronicle.changes_of(recorded)
    if told:
        lines += ["Changes:", *(f"  {change}" for change in told)]
    template = structured(recorded.template, "yaml")
    return "\n".join([*lines, "Pod Template:", *(f"  {line}" for line in template.splitlines())])
