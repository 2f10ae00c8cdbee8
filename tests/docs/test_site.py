"""The documentation as a site: every page is there, and every link of it leads to a file of the site."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import pytest
from scripts import site

from tests.docs.pages import name_of, pages


class Links(HTMLParser):
    """The links and names of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a tag leads, and what it is called."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name == "id":
                self.names.add(value)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert site.build(folder) == len(pages())
    return folder


def written(built: Path) -> Iterator[tuple[Path, Links]]:
    for path in sorted(built.rglob("*.html")):
        yield path, Links(path.read_text())


def leads_somewhere(path: Path, link: str, site_folder: Path) -> bool:
    """Whether a link of a page leads to a file of the site, and to a name in it."""
    parts = urlparse(link)
    if parts.scheme:
        return True
    target = (path.parent / parts.path).resolve() if parts.path else path
    inside = target.exists() and target.is_relative_to(site_folder.resolve())
    return inside and (not parts.fragment or parts.fragment in Links(target.read_text()).names)


def test_every_link_of_the_site_leads_to_a_file_of_the_site(built: Path) -> None:
    links = [(path, link) for path, page in written(built) for link in page.links]
    assert [f"{path.name}: {link}" for path, link in links if not leads_somewhere(path, link, built)] == []


def test_every_page_is_in_the_list_beside_every_page(built: Path) -> None:
    front = (built / "index.html").read_text()
    for page in site.sources():
        assert f'href="{site.address(page)}"' in front, name_of(site.TOP / page)


def test_tables_and_code_are_rendered(built: Path) -> None:
    page = (built / "docs/reference/commands.html").read_text()
    assert "<table>" in page
    assert '<pre><code class="language-sh">' in page


def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    for path, page in written(built):
        assert not [link for link in page.links if link.startswith(("http:", "//"))], path
        assert "<script" not in path.read_text()
