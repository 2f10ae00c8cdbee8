"""What is installed is whole: the wheel, in an environment that has nothing of this folder, is a working program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import eachnode

TOP = Path(__file__).parents[1]
PACKAGE = TOP / "src" / "eachnode"
pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("packaging")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without asking an index."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(TOP)], check=True, timeout=120)
    (built,) = folder.glob("eachnode-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and none of this folder; the packages it depends on are those that are here."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
    into = ["--python", str(place / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *into], check=True, timeout=120)
    return place


def run(installed: Path, program: str, *arguments: str) -> str:
    """What a program of that environment says, run from a folder where nothing of ours is."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(installed), "PYTHONPATH": sysconfig.get_path("purelib")}
    command = [str(installed / "bin" / program), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60, cwd=installed, env=environment
    ).stdout


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        packed = {name for name in opened.namelist() if ".dist-info/" not in name}
    here = {path.relative_to(PACKAGE.parent).as_posix() for path in _files()}
    assert packed == here


def test_the_source_archive_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build = f"from flit_core import buildapi; print(buildapi.build_sdist({str(tmp_path)!r}))"
    made = subprocess.run(
        [sys.executable, "-c", build], capture_output=True, text=True, check=True, timeout=60, cwd=TOP
    )
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path)]
    source = tmp_path / made.stdout.splitlines()[-1]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, timeout=120)
    assert contents(tmp_path / wheel.name) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    """Its files, and checksums of what is in them."""
    with zipfile.ZipFile(wheel) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def _files() -> Iterator[Path]:
    for path in PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def test_what_is_installed_is_the_wheels(installed: Path) -> None:
    where = run(installed, "python", "-c", "import eachnode; print(eachnode.__file__)").strip()
    assert Path(where).is_relative_to(installed)


@pytest.mark.parametrize("program", ["eachnode", "kubectl-eachnode", "python -m eachnode"])
def test_every_way_to_start_it_is_installed_and_knows_its_version(installed: Path, program: str) -> None:
    said = run(installed, *program.split(), "--version")
    assert said.strip() == f"eachnode, version {eachnode.__version__}"


def test_every_command_that_is_installed_can_be_imported(installed: Path) -> None:
    commands = re.findall(r"(?m)^  ([a-z]+)  ", run(installed, "eachnode", "--help"))
    assert "up" in commands
    for command in commands:
        assert "Usage:" in run(installed, "eachnode", command, "--help")


def test_the_installed_program_runs_a_cluster(installed: Path, tmp_path: Path) -> None:
    # Field tables, stages and everything else that is data has to be there for this.
    manifest = TOP / "examples" / "fluentd.yaml"
    config = tmp_path / "kubeconfig"
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    command = [installed / "bin" / "eachnode", "up", "--timing", "lifelike", "--pace", "0", "--kubeconfig", config]
    with subprocess.Popen(
        [*map(str, command), "-f", str(manifest)], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            assert any(line.strip() == "ready" for line in process.stdout)
            name, where = "ds/fluentd-elasticsearch", ("-n", "kube-system", "--kubeconfig", str(config))
            assert "successfully rolled out" in run(installed, "eachnode", "rollout", "status", name, *where)
            assert "node-1, node-2, node-3" in run(installed, "eachnode", "why", name, *where)
        finally:
            process.terminate()
            assert process.wait(20) == 0


def test_the_version_stands_in_one_place() -> None:
    text = (PACKAGE / "__init__.py").read_text()
    assert re.search(rf'(?m)^__version__ = "{re.escape(eachnode.__version__)}"$', text)
    assert f'version = "{eachnode.__version__}"' not in (TOP / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("answers", "asked_for"),
    [
        ("exit 1", "Python 3.11 or newer"),
        ('case "$2" in *version_info*"< (3, 11)"*) exit 0;; *) exit 1;; esac', "python3-venv"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, answers: str, asked_for: str) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\n{answers}\n")
    python.chmod(0o755)
    assert asked_for in _set_up(tmp_path, str(python))


def test_a_python_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "apt-get install python3" in _set_up(tmp_path, "no-such-python")


def _set_up(folder: Path, python: str) -> str:
    """What the script says that makes the environment, when it cannot."""
    script = TOP / "scripts" / "make_environment.sh"
    command = ["sh", str(script), str(folder / "venv"), str(TOP / "requirements" / "dev.txt")]
    environment = {"PATH": os.environ["PATH"], "PYTHON": python}
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=folder, env=environment)
    assert done.returncode == 1
    assert not (folder / "venv").exists()
    return done.stderr


def test_make_does_nothing_where_everything_is_made() -> None:
    stamp = TOP / ".venv" / ".made"
    if not stamp.exists():
        pytest.skip("the environment was not made by make")
    sources = ["requirements/dev.txt", "pyproject.toml", "scripts/make_environment.sh"]
    if any((TOP / name).stat().st_mtime > stamp.stat().st_mtime for name in sources):
        pytest.skip("what the environment is made from has changed since")
    said = subprocess.run(["make", "--dry-run", "setup"], cwd=TOP, capture_output=True, text=True, timeout=20)
    assert "make_environment" not in said.stdout
