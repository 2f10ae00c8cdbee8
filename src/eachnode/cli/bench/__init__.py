"""`eachnode bench`: measures speed and memory on this machine, beside the goals that were set."""

from eachnode.cli.bench.command import command

__all__ = ["command"]
