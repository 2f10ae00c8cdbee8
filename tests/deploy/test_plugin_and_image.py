"""The krew manifest leads to what is in the archive, and the image is made of what is locked, for nobody special."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from scripts.plugin import archive, manifest

import eachnode
from tests.deploy.manifests import CONTROL_PLANE, DEPLOY, KUBECTL, base, kustomized

TOP = DEPLOY.parent
LOCKED = re.compile(r"(?m)^([a-z0-9-]+)==(\S+)[^\n]*\\\n((?:    --hash=\S+(?: \\)?\n)+)")


def locked(name: str) -> dict[str, tuple[str, str]]:
    """Package → (version, hashes) of a lock."""
    found = LOCKED.findall((TOP / "requirements" / name).read_text())
    return {package: (version, hashes) for package, version, hashes in found}


def dockerfile() -> list[str]:
    """Its instructions, continued lines joined."""
    text = re.sub(r"(?m)^#.*\n", "", (DEPLOY / "Dockerfile").read_text())
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_the_manifest_names_what_is_in_the_archive() -> None:
    packed = archive()
    plugin = yaml.safe_load(manifest("file:///a.tar.gz", packed))
    (platform,) = plugin["spec"]["platforms"]
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        entries = {entry.name: entry.mode for entry in tar.getmembers()}
    assert {each["from"] for each in platform["files"]} == set(entries)
    assert entries[platform["bin"]] & 0o111
    assert platform["sha256"] == hashlib.sha256(packed).hexdigest()
    assert platform["uri"] == "file:///a.tar.gz"
    assert plugin["spec"]["version"] == f"v{eachnode.__version__}"
    assert archive() == packed


def test_the_plugin_becomes_the_installed_program(tmp_path: Path) -> None:
    launcher = str(DEPLOY / "krew" / "kubectl-eachnode")
    installed = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=30, env={"PATH": installed})
    assert eachnode.__version__ in done.stdout
    (tmp_path / "sh").symlink_to("/bin/sh")
    done = subprocess.run(
        [launcher, "--version"], capture_output=True, text=True, timeout=30, env={"PATH": str(tmp_path)}
    )
    assert done.returncode != 0
    assert "not installed" in done.stderr


def test_the_image_runs_as_nobody_special() -> None:
    users = [line for line in dockerfile() if line.startswith("USER ")]
    assert len(users) == 1
    user, group = users[0].removeprefix("USER ").split(":")
    assert int(user) > 0
    assert int(group) > 0
    last_stage = max(number for number, line in enumerate(dockerfile()) if line.startswith("FROM"))
    assert not [line for line in dockerfile()[last_stage:] if line.startswith("RUN")], "nothing is installed beside it"


def test_the_image_is_made_of_files_that_are_there_and_that_docker_is_given() -> None:
    given = {line.removeprefix("!") for line in (TOP / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    copied = [line.split()[1:-1] for line in dockerfile() if line.startswith("COPY") and "--from" not in line]
    for name in (name for names in copied for name in names):
        assert (TOP / name).exists(), name
        assert name in given, name


def test_all_that_is_installed_in_the_image_is_locked_by_hash() -> None:
    installs = [
        part for line in dockerfile() for part in re.split(r"&&|\n", line) if "pip" in part and "install" in part
    ]
    assert len(installs) == 3
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)


def test_the_locks_agree() -> None:
    everything = locked("dev.txt")
    for name in ("run.txt", "build.txt"):
        for package, (version, hashes) in locked(name).items():
            assert everything[package] == (version, hashes), f"{package} in {name}"


def test_the_locks_contain_what_the_project_asks_for() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    for asked, lock in (
        (project["dependencies"], "run.txt"),
        ([*project["dependencies"], *project["optional-dependencies"]["dev"]], "dev.txt"),
    ):
        names = {re.split(r"[^A-Za-z0-9_.-]", each)[0].lower().replace("_", "-") for each in asked}
        assert names - set(locked(lock)) == set(), f"{lock}: run make lock"


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_every_object_is_valid_to_the_published_schema() -> None:
    for tree in [*base(), *kustomized(CONTROL_PLANE)]:
        kubernetes_validate.validate(tree, "1.37", strict=True)


def test_a_misspelt_field_would_be_noticed() -> None:
    deployment = next(tree for tree in base() if tree["kind"] == "Deployment")
    deployment["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, "1.37", strict=True)
