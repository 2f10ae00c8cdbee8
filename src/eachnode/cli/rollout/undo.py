"""`eachnode rollout undo`: back to a template of before, as kubectl does it, with the difference shown first."""

from __future__ import annotations

from collections.abc import Callable

import click

from eachnode.cli.options import KubectlCommand, cluster_options, daemonset_argument, dry_run_option, namespace_option
from eachnode.cli.printing import tried
from eachnode.client.door import Door


@click.command("undo", cls=KubectlCommand, short_help="Back to a template of before; the difference is shown first.")
@daemonset_argument
@click.option(
    "--to-revision", "number", type=click.IntRange(0), default=0, help="Which one; 0: the one before the newest."
)
@dry_run_option
@namespace_option
@cluster_options
def undo(
    daemonset: str, number: int, dry_run: str, namespace: str | None, kubeconfig: str | None, context: str | None
) -> None:
    """Give a DaemonSet a template back that it had before.

    \b
    eachnode rollout undo ds/fluentd
    eachnode rollout undo ds/fluentd --to-revision=1 --dry-run
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.targets import parse_daemonset

    name = parse_daemonset(daemonset)

    async def act(door: Door, where: str) -> None:
        await roll_back(door, name, where, number, dry_run, click.echo)

    errand(kubeconfig, context, namespace, act)


async def roll_back(
    door: Door, name: str, namespace: str, number: int, dry_run: str, say: Callable[[str], None]
) -> None:
    """Send the revision's own data as the patch; nothing is sent when its template is the current one."""
    from eachnode.cli.client_side_apply import LAST_APPLIED
    from eachnode.cli.rollout.revisions import NO_CAUSE, read_chronicle
    from eachnode.cli.template_changes import changes
    from eachnode.client.door import PatchKind
    from eachnode.objects.resources import DAEMON_SETS

    chronicle = await read_chronicle(door, name, namespace)
    recorded = chronicle.to_return_to(number)
    told = f"daemonset.apps/{name}"
    if chronicle.is_current(recorded):
        say(f"{told} skipped rollback (current template already matches revision {recorded.number})")
        return
    if LAST_APPLIED in (chronicle.daemonset.metadata.annotations or {}):
        say(f"warning: {told} was written by kubectl apply; the next apply of its file brings that template back")
    why = f" ({recorded.cause})" if recorded.cause != NO_CAUSE else ""
    say(f"{told} goes back to revision {recorded.number}{why}:")
    for change in changes(chronicle.daemonset.template_tree, recorded.template):
        say(f"  {change}")
    if dry_run != "client":
        await door.patch(DAEMON_SETS, name, recorded.data, PatchKind.STRATEGIC, namespace, dry_run=dry_run == "server")
    say(f"{told} rolled back{tried(dry_run)}")
