"""`eachnode rollout`: follow an update, look at the templates there were, go back to one, start every pod anew."""

from __future__ import annotations

import click

from eachnode.cli.rollout.history import history
from eachnode.cli.rollout.restart import restart
from eachnode.cli.rollout.status import status
from eachnode.cli.rollout.undo import undo


@click.group("rollout", short_help="Follow an update, look at its history, undo it, restart every pod.")
def command() -> None:
    """Follow an update, look at the templates there were, go back to one, start every pod anew.

    \b
    eachnode rollout status ds/fluentd --stuck-after 2m
    eachnode rollout undo ds/fluentd --to-revision=1
    """


for subcommand in (status, history, undo, restart):
    command.add_command(subcommand)
