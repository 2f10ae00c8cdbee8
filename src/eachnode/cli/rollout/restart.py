"""`eachnode rollout restart`: every pod anew, at the pace of an update, by a template that differs in a timestamp."""

from __future__ import annotations

from collections.abc import Sequence

import click

from eachnode.cli import completing
from eachnode.cli.options import KubectlCommand, cluster_options, dry_run_option, namespace_option
from eachnode.cli.printing import tried
from eachnode.client.door import Door

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@click.command("restart", cls=KubectlCommand, short_help="Replace every pod, at the pace of an update.")
@click.argument("daemonsets", nargs=-1, shell_complete=completing.daemonsets)
@click.option("-l", "--selector", "labels", default="", metavar="LABELS", help="The DaemonSets with these labels.")
@dry_run_option
@namespace_option
@cluster_options
def restart(
    daemonsets: tuple[str, ...],
    labels: str,
    dry_run: str,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Replace every pod of a DaemonSet, at the pace at which it updates.

    \b
    eachnode rollout restart ds/fluentd
    eachnode rollout restart ds -l team=logging
    """
    from eachnode.cli.errands import each, errand
    from eachnode.cli.failures import Failure
    from eachnode.cli.targets import KINDS, parse_daemonsets
    from eachnode.objects.meta import MetadataOnly
    from eachnode.objects.resources import DAEMON_SETS
    from eachnode.runtime.clock import SystemClock

    by_kind = len(daemonsets) == 1 and KINDS.get(daemonsets[0].lower()) is DAEMON_SETS
    names = [] if labels and by_kind else parse_daemonsets(daemonsets)
    if bool(names) == bool(labels):
        raise Failure("name DaemonSets (ds/NAME), or choose them by -l; one of both")

    async def act(door: Door, where: str) -> None:
        chosen: Sequence[str] = names
        if labels:
            chosen = [
                each_one.read(MetadataOnly).metadata.name
                async for each_one in each(door, DAEMON_SETS, where, labels=labels)
            ]
            if not chosen:
                raise Failure(f"no DaemonSet in namespace {where} has the labels {labels}")
        for name in chosen:
            click.echo(await restart_one(door, name, where, dry_run, SystemClock().now()))

    errand(kubeconfig, context, namespace, act)


async def restart_one(door: Door, name: str, namespace: str, dry_run: str, now: float) -> str:
    """Stamp the template with this second; the sentence that says so."""
    import msgspec

    from eachnode.cli.errands import find
    from eachnode.cli.failures import Failure
    from eachnode.client.door import PatchKind
    from eachnode.objects.clock import timestamp
    from eachnode.objects.daemonset import DaemonSet
    from eachnode.objects.resources import DAEMON_SETS

    daemonset = (await find(door, DAEMON_SETS, name, namespace)).read(DaemonSet)
    moment = timestamp(now)
    if (daemonset.template.metadata.annotations or {}).get(RESTARTED_AT) == moment:
        raise Failure(f"{name} was restarted within this second already; nothing would change")
    body = {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: moment}}}}}
    if dry_run != "client":
        await door.patch(
            DAEMON_SETS,
            name,
            msgspec.json.encode(body),
            PatchKind.STRATEGIC,
            namespace,
            field_manager="eachnode-rollout",
            dry_run=dry_run == "server",
        )
    return f"daemonset.apps/{name} restarted{tried(dry_run)}"
