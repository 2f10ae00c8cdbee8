"""The guide's commands, run one after another as they stand there, and what they say compared with what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import PROGRAM, Server, started

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "index.md"
PATIENCE = 30.0  # Seconds within which what a reading command shows must have come true.
READS = ("get", "rollout history", "why")

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("guide")]


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the guide and what it is said to print."""

    command: str
    expected: tuple[str, ...]

    @property
    def reads(self) -> bool:
        """Whether it may be asked again until the cluster has come so far."""
        return self.command.partition(" ")[2].startswith(READS)


def steps(text: str, way: str) -> Iterator[Step]:
    """The commands of one way, and those of both."""
    for block in re.finditer(r"^```console *(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if block[1] not in ("", way):
            continue
        for step in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            yield Step(command, tuple(steady(output)))


def steady(text: str) -> list[str]:
    """The lines without what differs from run to run: ages, chance, and the padding they cause."""
    masked = re.sub(r"\b(\d+[smh])+\b", "AGE", text)
    masked = masked.replace(" from default namespace", "")  # Older kubectls do not say it.
    masked = re.sub(r"\bnginx-ds-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "nginx-ds-xxxxx", masked)
    masked = re.sub(r"\bnginx-ds-(?=\w*\d)[a-z0-9]{7,10}\b", "nginx-ds-hash", masked)
    return [re.sub(r"\s+", " ", line).strip() for line in masked.strip().splitlines()]


def fits(said: list[str], expected: tuple[str, ...]) -> bool:
    """Whether the lines are the expected ones; `...` stands for any number of lines."""
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in said)) is not None


def carry_out(step: Step, server: Server) -> None:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "KUBECONFIG": str(server.kubeconfig),
        "PATH": path,
        "HOME": str(server.kubeconfig.parent),
    }
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(
            step.command,
            shell=True,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        said = steady(done.stdout)
        assert done.returncode == 0, f"$ {step.command}\n{done.stdout}"
        if fits(said, step.expected):
            return
        wanted = "\n".join(step.expected)
        hopeless = not step.reads or time.monotonic() > deadline
        assert not hopeless, f"$ {step.command}\n{done.stdout}\ninstead of\n{wanted}"


@pytest.mark.parametrize("way", ["kubectl", "eachnode"])
def test_every_command_of_the_guide_says_what_it_says_there(way: str) -> None:
    if shutil.which(way) is None and way == "kubectl":
        pytest.skip("there is no kubectl here")
    with started("up") as server:
        walked = list(steps(GUIDE.read_text(), way))
        for step in walked:
            carry_out(step, server)
    assert len(walked) > 30


def test_both_ways_go_through_every_chapter() -> None:
    chapters = re.split(r"^## ", GUIDE.read_text(), flags=re.MULTILINE)[1:]
    for chapter in chapters:
        for way in ("kubectl", "eachnode"):
            title = chapter.partition("\n")[0]
            assert any(step.command.startswith(way) for step in steps(chapter, way)), f"{title}: nothing for {way}"


def test_an_expectation_can_fail() -> None:
    assert fits(["a", "b", "c"], ("...", "c"))
    assert fits(["c"], ("...", "c"))
    assert not fits(["a", "b"], ("...", "c"))
    assert not fits(["a", "c", "d"], ("...", "c"))
    assert not fits(["a"], ("b",))
