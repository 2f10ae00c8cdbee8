"""The command line's entry point: finds the command's file, runs it, and turns known errors into one sentence.

Commands are imported only when they are run, so that `eachnode --help` answers at once. Each is a click command in a
file of its own; a new one is a file and a line in `COMMANDS`.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

import eachnode
from eachnode.cli.failures import explain_failure

# Name → (module, what it does). The order is the order of `--help`.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("eachnode.cli.up", "A whole cluster in one process, ready in a second."),
    "controller": ("eachnode.cli.controller", "Run DaemonSets on any cluster, in place of the built-in controller."),
    "server": ("eachnode.cli.server", "The embedded API server alone."),
    "scheduler": ("eachnode.cli.scheduler", "The scheduler alone, on any cluster."),
    "kubelet": ("eachnode.cli.kubelet", "Simulated nodes on any cluster."),
    "loop": ("eachnode.cli.loop", "Garbage collection, node life-cycle or namespaces alone, on any cluster."),
    "why": ("eachnode.cli.why", "What is so on each node, and why."),
    "plan": ("eachnode.cli.plan", "What a change would do, before it is done."),
    "top": ("eachnode.cli.top", "What DaemonSets cost on each class of node."),
    "lint": ("eachnode.cli.lint", "Mistakes people make with DaemonSets."),
    "get": ("eachnode.cli.get", "Show DaemonSets, pods, nodes, revisions and events."),
    "apply": ("eachnode.cli.apply", "Make objects as their files say."),
    "delete": ("eachnode.cli.delete", "Delete DaemonSets, pods, nodes."),
    "set": ("eachnode.cli.set", "Change the images of a DaemonSet."),
    "rollout": ("eachnode.cli.rollout", "Follow an update, look at its history, undo it, restart every pod."),
    "events": ("eachnode.cli.events", "What was told of a DaemonSet and its pods."),
    "simulate": ("eachnode.cli.simulate", "A day of cluster life in seconds, from a seed; or a forecast of a change."),
    "node": ("eachnode.cli.node", "Add, remove, stop, start, reboot, drain, label or taint nodes."),
    "completion": ("eachnode.cli.completion", "Shell completion for bash, zsh or fish."),
    "bench": ("eachnode.cli.bench", "Measure speed and memory on this machine."),
}


class CommandsOnDemand(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        """The commands in the order in which they are told."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 click's signature
        """The command of that name."""
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        command = importlib.import_module(known[0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command asked for; an unknown one suggests the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click's signature
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


@click.group(cls=CommandsOnDemand, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(eachnode.__version__, prog_name="eachnode")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def cli(debug: bool) -> None:
    """Exactly one pod on each node that should have one, and a good reason for each node that should not.

    \b
    Try it:       eachnode up -f examples/fluentd.yaml
    Take over:    eachnode controller --kubeconfig FILE
    Ask:          eachnode why ds/fluentd
    """
    if debug:
        os.environ["EACHNODE_DEBUG"] = "1"


# Collecting the youngest generation after every 700 new objects costs a busy server more than it ever frees, and an
# eighth of the time that its imports take.
GARBAGE_THRESHOLDS = (50_000, 20, 50)


def main(arguments: list[str] | None = None) -> None:
    """Run the command that was asked for; the exit code says how it went."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        result: Any = cli.main(args=arguments, prog_name=_name(), standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
    except Exception as error:
        if os.environ.get("EACHNODE_DEBUG") or "--debug" in sys.argv:
            raise
        sentence, code = explain_failure(error)
        click.echo(f"error: {sentence}", err=True)
        sys.exit(code)
    sys.exit(result if isinstance(result, int) else 0)


def _name() -> str:
    return "kubectl eachnode" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "eachnode"
