"""Pages lead somewhere, say all there is to say, and can be walked through."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlparse

import pytest

from eachnode.decisions.explanation_words import Kind
from tests.docs.pages import FENCE, SPAN, TOP, name_of, pages

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Where the page leads, code left out."""
    text = FENCE.sub("", page.read_text())
    return LINK.findall(SPAN.sub("x", text))


def anchors(page: Path) -> set[str]:
    """The places within a page that a link can name."""
    headings = re.findall(r"(?m)^#+ (.*)$", FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links that lead nowhere."""
    found = []
    for link in links(page):
        parts = urlparse(link)
        if parts.scheme:
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        if not target.exists() or (parts.fragment and parts.fragment not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n[a](nowhere.md) [b](#a-page) [c](#another) [d](https://example.com/x)\n")
    assert broken(page) == ["nowhere.md", "#another"]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, ahead = set[Path](), [TOP / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        ahead += [(page.parent / urlparse(link).path).resolve() for link in links(page) if not urlparse(link).scheme]
    assert [name_of(page) for page in pages() if page not in reached] == []


def test_every_answer_of_why_is_explained() -> None:
    text = (TOP / "docs/how-to/explain-a-missing-pod.md").read_text()
    explained = re.findall(r"(?m)^\| ([a-z, -]+) \|", text)
    assert [each for each in explained if each != "answer"] == [str(kind) for kind in Kind]


def test_the_glossary_is_in_order() -> None:
    terms = re.findall(r"(?m)^\*\*(.+?)\.\*\*", (TOP / "docs/glossary.md").read_text())
    assert terms == sorted(terms, key=str.lower)


@pytest.mark.parametrize("page", [page for page in pages() if "reference" not in page.parts], ids=name_of)
def test_a_page_begins_with_its_title_and_fits_the_screen(page: Path) -> None:
    text = page.read_text()
    assert text.startswith("# ")
    prose = FENCE.sub("", text).splitlines()
    assert [line for line in prose if len(line) > 130 and not line.startswith("|") and "](" not in line] == []


def test_every_example_has_its_page() -> None:
    text = (TOP / "examples/README.md").read_text()
    for manifest in sorted((TOP / "examples").glob("*.yaml")):
        assert manifest.name in text or any(
            manifest.name in page.read_text() for page in (TOP / "examples").glob("*.md")
        ), manifest.name
