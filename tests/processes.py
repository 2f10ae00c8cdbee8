"""Starts `eachnode` as a user does, and waits for its word."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "eachnode"


@dataclass(frozen=True, slots=True)
class Server:
    """A running `eachnode up` or `eachnode server`."""

    url: str
    token: str
    kubeconfig: Path
    process: subprocess.Popen[str]


@contextmanager
def started(command: str, *options: str, log: Path | None = None) -> Iterator[Server]:
    """The command running until the block ends, once it has said `ready`."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        arguments = [
            str(PROGRAM),
            command,
            "--listen",
            "127.0.0.1:0",
            "--token",
            "secret",
            "--kubeconfig",
            str(kubeconfig),
        ]
        environment = {**os.environ, "EACHNODE_DEBUG": "1"}
        with open(log or os.devnull, "w") as errors:
            process = subprocess.Popen(
                [*arguments, *options], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        try:
            yield Server(_url(process), "secret", kubeconfig, process)
        finally:
            process.terminate()
            try:
                process.wait(20)
            finally:
                process.kill()
                if process.stdout is not None:
                    process.stdout.close()


def _url(process: subprocess.Popen[str]) -> str:
    """Where it serves; returns when it has said `ready`."""
    assert process.stdout is not None
    url = ""
    for line in process.stdout:
        if line.startswith("serving at "):
            url = line.removeprefix("serving at ").split(",")[0].strip()
        if line.strip() == "ready":
            return url
    raise AssertionError(f"the server ended with {process.wait()} before it was ready")
