"""Options that several commands share, spelled as kubectl spells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import click

from eachnode.cli import completing

Command = TypeVar("Command", bound=Callable[..., Any])


def daemonset_argument(command: Command, *, required: bool = True) -> Command:
    """The one DaemonSet that a command is about: `ds/NAME`, `ds NAME` or `NAME`; it arrives as one word."""
    return click.argument(
        "daemonset",
        nargs=-1,
        required=required,
        metavar="ds/NAME" if required else "[ds/NAME]",
        callback=_in_one_word,
        shell_complete=completing.daemonsets,
    )(command)


def optional_daemonset_argument(command: Command) -> Command:
    """The same, for commands that can do without; an empty word then."""
    return daemonset_argument(command, required=False)


def _in_one_word(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str:  # noqa: ARG001 click's signature
    if len(words) > 2 or (len(words) == 2 and "/" in "".join(words)):
        raise click.UsageError(f"one DaemonSet is meant, and this names more: {' '.join(words)}", ctx)
    return "/".join(words)


def cluster_options(command: Command) -> Command:
    """`--kubeconfig` and `--context`: which cluster, and as whom."""
    for option in (
        click.option(
            "--context",
            default=None,
            metavar="NAME",
            shell_complete=completing.contexts,
            help="The context in the kubeconfig to use.",
        ),
        click.option(
            "--kubeconfig",
            default=None,
            metavar="FILE",
            help="Where the cluster is described; else $KUBECONFIG, ~/.kube/config, or the pod's service account.",
        ),
    ):
        command = option(command)
    return command


def namespace_options(command: Command) -> Command:
    """`-n` and `-A`: in which namespace, or in all."""
    return click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces.")(
        namespace_option(command)
    )


def namespace_option(command: Command) -> Command:
    """`-n`: in which namespace."""
    return click.option(
        "-n",
        "--namespace",
        default=None,
        metavar="NAME",
        shell_complete=completing.namespaces,
        help="The namespace; else the context's.",
    )(command)


def log_options(command: Command) -> Command:
    """`--log-format` and `--log-level`."""
    for option in (
        click.option(
            "--log-level",
            type=click.Choice(["debug", "info", "warning", "error"]),
            default="info",
            show_default=True,
            help="The least important log lines to write.",
        ),
        click.option(
            "--log-format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="How log lines look.",
        ),
    ):
        command = option(command)
    return command


class AddressType(click.ParamType[tuple[str, int]]):
    """HOST:PORT."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port."""
        from eachnode.runtime.serving import parse_address

        if isinstance(value, tuple):
            return value
        try:
            return parse_address(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADDRESS = AddressType()


class DurationType(click.ParamType[float]):
    """`30s`, `1m30s`, or a plain number of seconds."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        from eachnode.simulation.time_of_day import parse_duration

        try:
            seconds = float(value) if str(value).replace(".", "", 1).isdigit() else parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < 0:
            self.fail(f"a duration is not negative: {value!r}", param, ctx)
        return seconds


DURATION = DurationType()


class KubectlCommand(click.Command):
    """A command some of whose options may go without their value, as kubectl's do: `--wait`, `--dry-run`, `--cascade`.

    After such an option a value is taken for one only if it is one of its choices, so that `--wait ds/x` names ds/x.
    """

    BARE: ClassVar[dict[str, tuple[str, Sequence[str]]]] = {
        "--wait": ("true", ("true", "false")),
        "--watch": ("true", ("true", "false")),
        "-w": ("true", ("true", "false")),
        "--dry-run": ("server", ("none", "client", "server")),
        "--cascade": ("background", ("background", "foreground", "orphan", "true", "false")),
        "--ignore-not-found": ("true", ("true", "false")),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give options without a value the one they stand for."""
        return super().parse_args(ctx, list(self._completed(args)))

    def _completed(self, args: Sequence[str]) -> Iterator[str]:
        known = {spelling for option in self.params for spelling in option.opts}
        for position, argument in enumerate(args):
            if argument == "--":
                yield from args[position:]
                return
            default, choices = self.BARE.get(argument, ("", ()))
            following = args[position + 1] if position + 1 < len(args) else ""
            yield argument
            if default and argument in known and following not in choices:
                yield default


def dry_run_option(command: Command) -> Command:
    """`--dry-run`: nothing changes; the server is asked what would (or, with `client`, is not)."""
    return click.option(
        "--dry-run",
        type=click.Choice(["none", "client", "server"]),
        default="none",
        help="Change nothing: 'server' has the server try it, 'client' does not send it.",
    )(command)
