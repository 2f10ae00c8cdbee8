"""kubectl of every version found here, run as a person runs it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0  # Seconds that any command may take.


def binaries() -> list[Path]:
    """The oldest and the newest kubectl beside the one on PATH; that one alone if it has no siblings; or none."""
    found = shutil.which("kubectl")
    if found is None:
        return []
    siblings = sorted(Path(found).resolve().parent.glob("kubectl.1.*"), key=lambda path: int(path.suffix[1:]))
    return [siblings[0], siblings[-1]] if len(siblings) > 1 else [Path(found)]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One kubectl, pointed at one cluster and one namespace."""

    binary: Path
    kubeconfig: Path
    home: Path
    namespace: str = ""  # Empty: as the manifest says, or `default`.

    def __call__(self, line: str, *more: str, stdin: str = "", fails: bool = False, editor: str = "false") -> str:
        """What it prints, errors included, after a command line (`more` are arguments taken as they are)."""
        done = subprocess.run(
            self._command(line, *more),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            env=self._environment(editor),
        )
        assert (done.returncode != 0) is fails, f"kubectl {line} {' '.join(more)}\n{done.stdout}"
        return done.stdout

    @contextmanager
    def watching(self, line: str) -> Iterator[Iterator[str]]:
        """The lines of a command that goes on by itself, until the block ends; it is cut off when patience runs out."""
        command = [*self._command(line), f"--request-timeout={PATIENCE:.0f}s"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environment("false"))
        try:
            assert process.stdout is not None
            yield iter(process.stdout)
        finally:
            process.kill()
            process.communicate()

    def table(self, line: str) -> list[dict[str, str]]:
        """The rows of `get`, each by its columns' titles."""
        titles, *rows = [re.split(r" {2,}", row.strip()) for row in self(line).splitlines()]
        return [dict(zip(titles, row, strict=True)) for row in rows]

    def _command(self, line: str, *more: str) -> list[str]:
        where = [f"--namespace={self.namespace}"] if self.namespace else []
        return [str(self.binary), *where, *shlex.split(line), *more]

    def _environment(self, editor: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "KUBE_EDITOR": editor,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }
