"""Every page of documentation, and the commands in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
SHELLS = ("sh", "console", "bash", "shell")
OURS = ("eachnode ", "kubectl eachnode ")


def pages() -> list[Path]:
    """All of them, in order of their path."""
    tops = sorted(TOP.glob("*.md"))
    return [*tops, *sorted((TOP / "docs").rglob("*.md")), *sorted((TOP / "examples").glob("*.md"))]


def name_of(page: Path) -> str:
    """A page's path, as people say it."""
    return page.relative_to(TOP).as_posix()


@dataclass(frozen=True, slots=True)
class Command:
    """A command line in a page."""

    page: str
    text: str
    in_passing: bool = False  # In a sentence, which may name a command without its arguments.

    @property
    def words(self) -> list[str]:
        """Its words, without the comment and what follows a pipe."""
        words = shlex.split(self.text, comments=True)
        ends = [place for place, word in enumerate(words) if word in ("|", ">", ">>", "&", "&&", ";")]
        return words[: ends[0]] if ends else words

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def blocks(page: Path, languages: tuple[str, ...] = SHELLS, title: str = "") -> list[str]:
    """The texts of its fenced blocks in these languages."""
    text = section(page, title) if title else page.read_text()
    return [block for language, block in FENCE.findall(text) if language in languages]


def section(page: Path, title: str) -> str:
    """What stands below a heading of the second level."""
    found = re.search(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page.read_text())
    assert found, f"{name_of(page)} has no section {title!r}"
    return found[1]


def commands(page: Path, title: str = "") -> list[Command]:
    """The lines of its shell blocks, or of those below one heading."""
    return [Command(name_of(page), line) for block in blocks(page, title=title) for line in _lines(block)]


def _lines(block: str) -> Iterator[str]:
    """Command lines; in a block that shows output too, those after a prompt."""
    lines = block.replace("\\\n", " ").splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    for line in lines:
        if prompted and not line.startswith("$ "):
            continue
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.removeprefix("$ ").strip()


def our_commands(page: Path) -> list[Command]:
    """Every command line of ours that the page shows, in blocks and in the text."""
    text = FENCE.sub("", page.read_text())
    spans = [Command(name_of(page), span, in_passing=True) for span in SPAN.findall(" ".join(text.split()))]
    found = [each for each in [*commands(page), *spans] if each.text.startswith(OURS)]
    return [each for each in found if "…" not in each.text]
