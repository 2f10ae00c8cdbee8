"""Every command that the documentation shows exists, and takes the options it is shown with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click
import pytest

from eachnode.cli.main import COMMANDS, cli
from tests.docs.pages import TOP, Command, commands, our_commands, pages

SHOWN = [command for page in pages() for command in our_commands(page)]


def parse(words: list[str]) -> None:
    """Raise click's error unless these are commands, options and arguments that there are."""
    group: click.Group = cli
    context = click.Context(cli, info_name="eachnode", **cli.context_settings)
    while True:
        name, command, rest = group.resolve_command(context, words)
        assert command is not None
        if not isinstance(command, click.Group):
            if "--help" not in rest:
                command.make_context(name, rest, parent=context)
            return
        if rest in ([], ["--help"]):
            return
        group, context, words = command, click.Context(command, info_name=name, parent=context), rest


@pytest.mark.parametrize("command", SHOWN, ids=str)
def test_a_command_that_is_shown_exists(command: Command) -> None:
    words = command.words[2:] if command.text.startswith("kubectl ") else command.words[1:]
    if words in (["--help"], ["--version"]):
        return
    try:
        parse(words)
    except click.MissingParameter:
        assert command.in_passing, "something is missing"


@pytest.mark.parametrize(
    "line", ["wyh ds/x", "why ds/x --nod x", "up --nodes many", "rollout statsu ds/x", "controller --placement nowhere"]
)
def test_a_misspelt_command_would_be_noticed(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line.split())


def test_every_command_is_shown_somewhere() -> None:
    shown = {word for command in SHOWN for word in command.words}
    assert [name for name in COMMANDS if name not in shown] == []


@pytest.mark.parametrize("page", pages(), ids=str)
def test_a_make_target_that_is_named_exists(page: Path) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (TOP / "Makefile").read_text()))
    named = {command.words[1] for command in commands(page) if command.words[0] == "make" and len(command.words) > 1}
    named |= set(re.findall(r"`make ([a-z-]+)", page.read_text()))
    assert named - targets == set()


def test_make_tells_what_there_is() -> None:
    said = subprocess.run(["make", "help"], cwd=TOP, capture_output=True, text=True, timeout=20, check=True).stdout
    assert "make up" in said
    assert "make test" in said
