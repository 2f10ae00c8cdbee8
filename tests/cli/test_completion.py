"""Shell completion, and the help of every command."""

from __future__ import annotations

import os
import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner

from eachnode.cli.main import COMMANDS, cli
from eachnode.cli.options import KubectlCommand
from tests.cli.commands import ok, run
from tests.processes import PROGRAM


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_program(shell: str) -> None:
    script = ok("completion", shell).out
    assert script.startswith("# in ~/.")
    assert f"_EACHNODE_COMPLETE={shell}_complete" in script
    interpreter = shutil.which(shell)
    if interpreter is not None:
        subprocess.run([interpreter, "-n"], input=script, text=True, check=True, timeout=20)


def test_an_unknown_shell_is_refused() -> None:
    assert run("completion", "tcsh").code == 2


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("typed", "offered"), [("eachnode rol", "plain,rollout"), ("eachnode rollout u", "plain,undo")]
)
def test_words_are_completed(typed: str, offered: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_EACHNODE_COMPLETE": "bash_complete"}
    done = subprocess.run([PROGRAM], env={**os.environ, **words}, capture_output=True, text=True, timeout=20)
    assert done.stdout.strip() == offered


OURS = ("rollout", "get", "apply", "delete", "set", "events", "completion")


@pytest.mark.parametrize("name", OURS)
def test_help_tells_what_it_is_for_with_examples(name: str) -> None:
    said = CliRunner().invoke(cli, [name, "--help"])
    assert said.exit_code == 0
    assert f"eachnode {name}" in said.output.split("Options:")[0].partition("\n")[2]
    assert COMMANDS[name][1]


# Options without a value


@click.command(cls=KubectlCommand)
@click.argument("words", nargs=-1)
@click.option("-w", "--watch", type=bool, default=False)
@click.option("--wait", type=bool, default=True)
@click.option("--dry-run", default="none")
@click.option("--cascade", default="background")
def example(words: tuple[str, ...], **options: object) -> None:
    """Shows how its command line was read."""
    click.echo(f"{' '.join(words)}: {options}")


@pytest.mark.parametrize(
    ("line", "words", "option", "value"),
    [
        ("ds/x --dry-run", "ds/x", "dry_run", "server"),
        ("--dry-run ds/x", "ds/x", "dry_run", "server"),
        ("--dry-run=client ds/x", "ds/x", "dry_run", "client"),
        ("--dry-run client ds/x", "ds/x", "dry_run", "client"),
        ("--wait ds/x", "ds/x", "wait", True),
        ("--wait=false ds/x", "ds/x", "wait", False),
        ("ds/x --cascade", "ds/x", "cascade", "background"),
        ("ds/x --cascade orphan", "ds/x", "cascade", "orphan"),
        ("-w ds/x", "ds/x", "watch", True),
        ("ds/x --watch", "ds/x", "watch", True),
        ("ds/x -- --watch", "ds/x --watch", "watch", False),
    ],
)
def test_options_may_go_without_a_value_as_kubectls_do(line: str, words: str, option: str, value: object) -> None:
    said = CliRunner().invoke(example, line.split())
    assert said.output.startswith(f"{words}: ")
    assert f"{option!r}: {value!r}" in said.output
