"""`eachnode up` in a process of its own, for as long as a test needs it.

A process and not a thread: the cluster then never competes with the tested code for one interpreter, and a test that
hangs or forks does it no harm.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_WITHIN = 30.0  # Seconds; it takes less than one unless the machine is very busy.
STOP_WITHIN = 10.0
_UP = "from eachnode.cli.main import main; main()"


class StartFailure(Exception):
    """The cluster did not start; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """A running cluster."""

    url: str
    kubeconfig: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment of kubectl or any other client so that it finds this cluster."""
        return {"KUBECONFIG": str(self.kubeconfig)}

    def client(self) -> Any:
        """An `ApiClient` of the official `kubernetes` package, which must be installed; close it, or use `with`."""
        try:
            from kubernetes import config
        except ImportError as error:
            raise ImportError("cluster.client() needs the official client: pip install kubernetes") from error
        return config.new_client_from_config(str(self.kubeconfig))  # type: ignore[no-untyped-call]  # it has no types


@contextmanager
def running_cluster(*options: str) -> Iterator[RunningCluster]:
    """A cluster that runs until the block ends; the options are those of `eachnode up`.

    Raises StartFailure, with what the program said, when it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="eachnode-test-") as folder:
        kubeconfig, log = Path(folder) / "kubeconfig", Path(folder) / "log"
        where = ("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig))
        command = [sys.executable, "-c", _UP, "up", "--plain", *where, *options]
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603  # our own program
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        try:
            yield RunningCluster(_url(process, log), kubeconfig)
        finally:
            _stop(process)


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the cluster serves, once it says that it is ready."""
    lines: queue.Queue[bytes] = queue.Queue()
    # A thread reads on after that, so that the program is never held up by a full pipe.
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    end, url = time.monotonic() + START_WITHIN, ""
    while True:
        try:
            line = lines.get(timeout=max(0.0, end - time.monotonic())).decode().strip()
        except queue.Empty:
            raise StartFailure(f"eachnode was not ready within {START_WITHIN:.0f} s: {log.read_text()}") from None
        if not line:
            raise StartFailure(f"eachnode did not start: {log.read_text().strip()}")
        if line == "ready":
            return url
        if line.startswith("serving at "):
            url = line.removeprefix("serving at ")


def _read(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.strip():
                lines.put(line)
    lines.put(b"")  # It has ended.


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
