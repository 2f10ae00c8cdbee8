"""Results as they are kept: the numbers, and on what they were measured. No names of machines, no paths."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

import eachnode
from eachnode.cli.bench.measures import Measure

LIBRARIES = ("msgspec", "aiohttp", "uvloop")


def record(path: Path, measures: Sequence[Measure], failures: Sequence[str], loads: Sequence[float | None]) -> None:
    """Write everything to a JSON file; `loads` are the machine's load averages before and after."""
    tree = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _commit(),
        "machine": machine(),
        "versions": versions(),
        "load_averages": list(loads),  # Well above the number of cores: others worked here, wall times are too long.
        "measures": [measure.tree() for measure in measures],
        "failures": list(failures),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(tree), indent=1) + b"\n")


def machine() -> dict[str, object]:
    """What kind of machine this is."""
    return {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gb": _memory(), "system": platform.system()}


def load() -> float | None:
    """How many processes want to run, over the last minute."""
    try:
        return round(os.getloadavg()[0], 1)
    except (OSError, AttributeError):
        return None


def versions() -> dict[str, str]:
    """What runs here."""
    found = {"eachnode": eachnode.__version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "absent"
    return found


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (ValueError, OSError):
        return None


def _commit() -> str:
    """The commit of the source tree that is measured; empty for an installed package."""
    here = Path(eachnode.__file__).parent
    git = shutil.which("git")
    if git is None:
        return ""
    describe = (git, "-C", str(here), "describe", "--always", "--dirty", "--exclude=*")
    run = subprocess.run(describe, check=False, capture_output=True, text=True)  # noqa: S603 no input from outside
    return run.stdout.strip()
