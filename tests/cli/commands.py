"""Runs commands as `main` does, in this process, and keeps what they say."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from eachnode.cli.main import main

_AGE = re.compile(r"\b(\d+[smhd])+\b( \(x\d+ over \S+\))?")
_ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and how it ended."""

    out: str
    err: str
    code: int

    @property
    def steady(self) -> str:
        """The output without what differs from run to run: ages, addresses, and the padding they cause."""
        lines = (re.sub(r"\s{2,}", " | ", line.rstrip()) for line in self.out.splitlines())
        return "\n".join(_ADDRESS.sub("ADDRESS", _AGE.sub("AGE", line)) for line in lines)


def run(*arguments: str) -> Said:
    """The command's output and exit code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    code = ended.value.code
    return Said(out.getvalue(), err.getvalue(), code if isinstance(code, int) else 1)


def ok(*arguments: str) -> Said:
    """What a command says that must not fail."""
    said = run(*arguments)
    assert said.code == 0, said.err
    return said
