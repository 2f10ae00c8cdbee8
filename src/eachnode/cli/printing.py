"""How commands print: tables as kubectl draws them, JSON and YAML for programs, colour for terminals only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

GAP = "   "


def output_option(*formats: str) -> Callable[[Command], Command]:
    """`-o`: in which of these formats to print; without it the one for people."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=None, help="How to print it; else for people to read."
    )


def structured(value: Any, form: str) -> str:
    """A plain value as JSON or YAML text."""
    if form == "yaml":
        import yaml

        text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
        return text.rstrip("\n")
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell; nothing hangs over at the end of a line."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    return [in_columns(row, widths) for row in cells]


def in_columns(row: Sequence[str], widths: Sequence[int]) -> str:
    """One line of a table."""
    return GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def on_terminal() -> bool:
    """Whether somebody looks on, and the terminal can draw."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def tried(dry_run: str) -> str:
    """What is appended to a sentence about something that was only tried."""
    return "" if dry_run == "none" else f" ({dry_run} dry run)"


def colourful() -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
