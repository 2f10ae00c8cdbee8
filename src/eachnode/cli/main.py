"""The command line's entry point."""

from __future__ import annotations


def main() -> None:
    """Run the command that was asked for."""
    raise SystemExit("no command yet")
