"""`eachnode completion`: what a shell needs to complete our commands and options."""

from __future__ import annotations

import click

VARIABLE = "_EACHNODE_COMPLETE"  # Set by the script when the shell asks for completions.
HOW = {
    "bash": "# in ~/.bashrc:  source <(eachnode completion bash)",
    "zsh": "# in ~/.zshrc:  source <(eachnode completion zsh)",
    "fish": "# in ~/.config/fish/completions/eachnode.fish: the output of  eachnode completion fish",
}


@click.command("completion", short_help="Shell completion for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(list(HOW)))
def command(shell: str) -> None:
    """Print what a shell needs to complete commands and options.

    \b
    source <(eachnode completion bash)
    source <(eachnode completion zsh)
    eachnode completion fish > ~/.config/fish/completions/eachnode.fish
    """
    from click.shell_completion import get_completion_class

    from eachnode.cli.main import cli

    known = get_completion_class(shell)
    assert known is not None  # click completes all three.
    click.echo(HOW[shell])
    click.echo(known(cli, {}, "eachnode", VARIABLE).source())
