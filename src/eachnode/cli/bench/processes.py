"""The programs that are measured: started as a user starts them, and looked at from outside."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Literal

import click

PROGRAM = (sys.executable, "-c", "from eachnode.cli.main import main; main()")
PATIENCE = 180.0  # Seconds that anything may take.


class Program:
    """A running program: eachnode itself, or what it is compared with."""

    def __init__(self, name: str, command: list[str], log: IO[bytes]) -> None:
        self._log, self._name = log, name
        self._begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603 ourselves, or what the user named

    def until_ready(self) -> float:
        """Wait until it says `ready`; answers with how long that took since its start."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == "ready":
                return time.perf_counter() - self._begun
        self._log.seek(0)
        told = self._log.read().decode(errors="replace").strip()
        raise click.ClickException(f"{self._name} ended before it was ready: {told}")

    @property
    def cpu_seconds(self) -> float | None:
        """CPU it has used so far; None where the system has no /proc to tell."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self) -> float | None:
        """Memory it has resident; None where the system has no /proc to tell."""
        return megabytes_of(self.process.pid)

    def end(self) -> None:
        """SIGTERM, and SIGKILL for the deaf."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def megabytes_of(process: int | Literal["self"]) -> float | None:
    """Memory that a process has resident; None where the system has no /proc to tell."""
    try:
        with open(f"/proc/{process}/status") as file:
            found = re.search(r"VmRSS:\s+(\d+) kB", file.read())
    except OSError:
        return None
    return int(found[1]) / 1000 if found else None


def program(*arguments: str) -> AbstractContextManager[Program]:
    """eachnode running until the block ends."""
    return running(f"eachnode {arguments[0]}", *PROGRAM, *arguments)


@contextmanager
def running(name: str, *command: str) -> Iterator[Program]:
    """A program running until the block ends."""
    with tempfile.TemporaryFile() as log:
        started = Program(name, list(command), log)
        try:
            yield started
        finally:
            started.end()


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder for kubeconfigs and data."""
    with tempfile.TemporaryDirectory(prefix="eachnode-bench-") as name:
        yield Path(name)


def free_port() -> int:
    """A port nobody listens on, at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def numbers_at(port: int) -> dict[str, float]:
    """What a program's /metrics says: the sum of each metric over its labels."""
    found: dict[str, float] = {}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                plain = name.partition("{")[0]
                found[plain] = found.get(plain, 0.0) + float(value)
    return found


def until_answers(port: int) -> None:
    """Wait until a program says at /readyz that it is ready."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise click.ClickException(f"port {port} was not ready within {PATIENCE:.0f} s")
