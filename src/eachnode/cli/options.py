"""Options that several commands share, spelled as kubectl spells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def cluster_options(command: Command) -> Command:
    """`--kubeconfig` and `--context`: which cluster, and as whom."""
    for option in (
        click.option("--context", default=None, metavar="NAME", help="The context in the kubeconfig to use."),
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
    for option in (
        click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces."),
        click.option("-n", "--namespace", default=None, metavar="NAME", help="The namespace; else the context's."),
    ):
        command = option(command)
    return command


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
