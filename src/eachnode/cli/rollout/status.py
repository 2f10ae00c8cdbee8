"""`eachnode rollout status`: follow a rollout to its end, and say how it ended.

Exit codes: 0 it is done; 1 it failed, or cannot be followed; 3 it is stuck: not done within `--timeout`, or no further
for `--stuck-after`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from eachnode.cli.options import DURATION, KubectlCommand, cluster_options, daemonset_argument, namespace_option

if TYPE_CHECKING:
    from eachnode.client.door import Door


@click.command("status", cls=KubectlCommand, short_help="Follow a rollout to its end.")
@daemonset_argument
@click.option("-w", "--watch", type=bool, default=True, metavar="true|false", help="Follow it to its end (default).")
@click.option("--timeout", type=DURATION, default=0.0, help="Give up after this; 0: never.")
@click.option("--stuck-after", type=DURATION, default=0.0, help="Give up when it got no further for this; 0: never.")
@click.option("--plain", is_flag=True, help="A line for each change instead of the live board.")
@namespace_option
@cluster_options
def status(
    daemonset: str,
    watch: bool,
    timeout: float,
    stuck_after: float,
    plain: bool,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Follow a rollout until every node serves the newest template.

    On a terminal it is a live board, else one line for each change. Exit code 0: done; 1: failed; 3: stuck, and on
    which nodes, and why.

    \b
    eachnode rollout status ds/fluentd
    eachnode rollout status ds/fluentd --timeout 10m --stuck-after 2m
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.printing import on_terminal
    from eachnode.cli.rollout.following import Patience, follow
    from eachnode.cli.rollout.showing import Lines, live_board
    from eachnode.cli.targets import parse_daemonset
    from eachnode.runtime.clock import SystemClock

    name = parse_daemonset(daemonset)
    patience = Patience(timeout, stuck_after, once=not watch)

    async def act(door: Door, where: str) -> None:
        clock = SystemClock()
        if plain or not watch or not on_terminal():
            await follow(door, name, where, clock=clock, patience=patience, show=Lines(click.echo).show)
            return
        with live_board() as board:
            await follow(door, name, where, clock=clock, patience=patience, show=board.show)

    errand(kubeconfig, context, namespace, act)
