"""ARCHITECTURE.md is one page, names what there is, and leaves no package out."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import TOP, blocks

PAGE = TOP / "ARCHITECTURE.md"
PACKAGE = TOP / "src" / "eachnode"
PACKAGES = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def map_of_folders() -> dict[str, str]:
    """What the page says of each package's folder."""
    (text,) = (block for block in blocks(PAGE, ("",)) if "objects/" in block)
    parts = re.split(r"(?m)^([a-z_]+)/ ", text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_package_has_its_place_on_the_page() -> None:
    assert sorted(map_of_folders()) == PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_and_folder_it_names_is_there(package: str) -> None:
    said = map_of_folders()[package]
    for name in re.findall(r"([\w*]+\.py|[a-z_]+/)", said):
        found = list((PACKAGE / package).glob(f"**/{name.rstrip('/')}"))
        assert found, f"{package}/{name}"


def test_it_is_one_page() -> None:
    assert len(PAGE.read_text().splitlines()) <= 110


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_that_are_named_exist(page: str) -> None:
    text = (TOP / page).read_text()
    for name in re.findall(r"`((?:[a-z_]+/)+[\w.-]*)`", text):
        places = (TOP / name, PACKAGE / name, TOP / "src" / name)
        assert any(place.exists() for place in places), name
