"""`eachnode get`: DaemonSets, pods, nodes, revisions and events, as tables or as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from eachnode.cli.failures import FAILED, Failure
from eachnode.cli.options import KubectlCommand, cluster_options, namespace_options
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.client.cluster import Cluster


@click.command("get", cls=KubectlCommand, short_help="Show DaemonSets, pods, nodes, revisions and events.")
@click.argument("words", nargs=-1, required=True, metavar="KIND [NAME…]")
@click.option("-l", "--selector", "labels", default="", metavar="LABELS", help="Those with these labels.")
@click.option("--field-selector", "fields", default="", metavar="FIELDS", help="Those with these fields.")
@click.option("-w", "--watch", type=bool, default=False, metavar="true|false", help="Show changes as they come.")
@click.option("--show-labels", is_flag=True, help="A column with their labels.")
@click.option("--no-headers", is_flag=True, help="Without the line of column names.")
@click.option(
    "--ignore-not-found", type=bool, default=False, metavar="true|false", help="What is not there is no error."
)
@output_option("json", "yaml", "wide", "name")
@namespace_options
@cluster_options
def command(
    words: tuple[str, ...],
    labels: str,
    fields: str,
    watch: bool,
    show_labels: bool,
    no_headers: bool,
    ignore_not_found: bool,
    output: str | None,
    namespace: str | None,
    all_namespaces: bool,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Show DaemonSets, pods, nodes, revisions and events, as the server's tables or as they are.

    \b
    eachnode get ds -A
    eachnode get pods -l app=fluentd -o wide -w
    eachnode get ds/fluentd -o yaml
    eachnode get revisions -l app=fluentd
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.get.showing import Asked, show
    from eachnode.cli.get.tables import Layout

    wanted = Asked.of(words, labels=labels, fields=fields)
    if watch and len(wanted.kinds) > 1:
        raise Failure("--watch follows one kind at a time")
    if all_namespaces and any(names for _, names in wanted.kinds):
        raise Failure("a name is looked for in one namespace; leave out -A or the name")
    layout = Layout(output == "wide", all_namespaces, show_labels, not no_headers)

    async def act(cluster: Cluster, where: str) -> Sequence[str]:
        place = "" if all_namespaces else where
        return await show(cluster, wanted, place, layout, output if output != "wide" else None, watch=watch)

    missing = errand(kubeconfig, context, namespace, act)
    if ignore_not_found:
        return 0
    for sentence in missing:
        click.echo(f"error: {sentence}", err=True)
    return FAILED if missing else 0
