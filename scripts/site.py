"""Makes the documentation into a site of plain files in site/: `make docs`, then open site/index.html.

Markdown is read by markdown-it, which is here because rich needs it. No theme, no script, no address of anybody else:
a page, a list of pages beside it, and a style that follows the reader's light or dark.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import urlparse

from markdown_it import MarkdownIt
from markdown_it.token import Token

TOP = Path(__file__).parents[1]
SITE = TOP / "site"
HOME = "README.md"

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; display: grid; gap: 3rem;
  grid-template-columns: 15rem minmax(0, 48rem); }
nav { padding: 1.5rem; border-right: 1px solid var(--line); font-size: .9rem; box-sizing: border-box; }
nav { min-height: 100vh; }
nav p { margin: 1.2rem 0 .2rem; font-weight: 600; } nav a { display: block; padding: .1rem 0; text-decoration: none; }
nav a[aria-current] { font-weight: 600; } main { padding: 1rem 1.5rem 4rem 0; min-width: 0; }
pre, code { font: .88em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: 4px; }
code { padding: .1em .3em; } pre { padding: .8rem 1rem; overflow-x: auto; } pre code { background: none; padding: 0; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .92rem; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; } h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
@media (max-width: 50rem) { body { display: block; } nav { min-height: 0; border: 0; } main { padding: 1rem 1.5rem; } }
"""

GROUPS = (
    ("", ("README.md", "docs/index.md")),
    ("Guide", ("docs/guide/",)),
    ("How to", ("docs/how-to/", "examples/")),
    ("Reference", ("docs/reference/", "docs/glossary.md")),
    ("Understand", ("",)),
)


def sources() -> list[Path]:
    """Every page, as a path below the top."""
    found = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "examples").glob("*.md")]
    return sorted(path.relative_to(TOP) for path in found)


def address(source: Path) -> str:
    """Where a page is in the site; the README is its front."""
    return "index.html" if source.as_posix() == HOME else source.with_suffix(".html").as_posix()


def title(text: str) -> str:
    """What a page is called."""
    found = re.match(r"# (.*)", text)
    return re.sub(r"[`*]", "", found[1]) if found else "eachnode"


def grouped(pages: list[Path]) -> Iterator[tuple[str, list[Path]]]:
    """Pages under headings; each is in the first group that names it."""
    left = list(pages)
    for name, beginnings in GROUPS:
        inside = [page for beginning in beginnings for page in left if page.as_posix().startswith(beginning)]
        left = [page for page in left if page not in inside]
        if inside:
            yield name, inside


def navigation(current: Path, titles: dict[Path, str]) -> str:
    """The list of pages beside a page."""
    lines = []
    for name, pages in grouped(list(titles)):
        lines += [f"<p>{escape(name)}</p>"] if name else []
        for page in pages:
            here = ' aria-current="page"' if page == current else ""
            lines.append(f'<a href="{_relative(current, address(page))}"{here}>{escape(titles[page])}</a>')
    return "\n".join(lines)


def _relative(current: Path, target: str) -> str:
    return "../" * address(current).count("/") + target


def rendered(source: Path, titles: dict[Path, str]) -> str:
    """One page of the site."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse((TOP / source).read_text())
    _mend(tokens, source, set(titles))
    body = markdown.renderer.render(tokens, markdown.options, {})
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(titles[source])} · eachnode</title>\n<style>{STYLE}</style>\n"
        f"<nav>\n{navigation(source, titles)}\n</nav>\n<main>\n{body}</main>\n</html>\n"
    )


def _mend(tokens: list[Token], source: Path, pages: set[Path]) -> None:
    """Headings get the names that links use; links to pages lead to pages of the site, others to the copied file."""
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[place + 1].content))
        for child in token.children or ():
            for attribute in ("href", "src"):
                link = child.attrGet(attribute)
                if isinstance(link, str):
                    child.attrSet(attribute, _link(link, source, pages))


def anchor(heading: str) -> str:
    """The name of a heading within its page."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _link(link: str, source: Path, pages: set[Path]) -> str:
    parts = urlparse(link)
    if parts.scheme or not parts.path:
        return link
    target = (TOP / source.parent / parts.path).resolve().relative_to(TOP)
    where = address(target) if target in pages else target.as_posix()
    return _relative(source, where) + (f"#{parts.fragment}" if parts.fragment else "")


def files_beside(pages: list[Path]) -> Iterator[Path]:
    """What pages show or lead to besides pages: images, examples, manifests, the licence."""
    for page in pages:
        for link in re.findall(r"\]\(([^)\s#]+)", (TOP / page).read_text()):
            target = (TOP / page.parent / link).resolve()
            if not urlparse(link).scheme and target.exists() and target.suffix != ".md":
                yield target.relative_to(TOP)


def build(site: Path = SITE) -> int:
    """Write the site anew; the answer is the number of pages."""
    shutil.rmtree(site, ignore_errors=True)
    titles = {page: title((TOP / page).read_text()) for page in sources()}
    for page in titles:
        target = site / address(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rendered(page, titles))
    for extra in sorted(set(files_beside(list(titles)))):
        target = site / extra
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (TOP / extra).is_dir() else shutil.copyfile
        if not target.exists():
            copy(TOP / extra, target)
    return len(titles)


if __name__ == "__main__":
    print(f"{build()} pages in {SITE.name}/ are written; open {SITE.name}/index.html", file=sys.stderr)
