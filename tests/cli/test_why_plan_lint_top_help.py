"""Every command that explains tells how it is used, with examples."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from eachnode.cli.main import cli
from tests.cli.golden import assert_golden


@pytest.mark.parametrize("command", ["why", "plan", "lint", "top"])
def test_help_shows_examples(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"], prog_name="eachnode", terminal_width=110)
    assert result.exit_code == 0
    assert f"eachnode {command} " in result.output.partition("Options:")[0].partition("Usage:")[2].partition("\n")[2]
    assert_golden(f"help-{command}", result.output.rstrip())
