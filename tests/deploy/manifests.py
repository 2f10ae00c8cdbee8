"""The manifests of deploy/, read as a cluster would read them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
BASE = DEPLOY / "kustomize" / "base"
CONTROL_PLANE = DEPLOY / "kustomize" / "control-plane"
CHART = DEPLOY / "helm" / "eachnode"
KUBECTL = shutil.which("kubectl")

Tree = dict[str, Any]
Permission = tuple[str, str, str]  # API group, resource, verb


def base() -> list[Tree]:
    """The objects of the kustomize base, which changes nothing about its files."""
    listed = yaml.safe_load((BASE / "kustomization.yaml").read_text())
    assert set(listed) == {"apiVersion", "kind", "resources"}, "the base only lists files"
    return [tree for name in listed["resources"] for tree in yaml.safe_load_all((BASE / name).read_text())]


def kustomized(folder: Path) -> list[Tree]:
    """What `kubectl apply -k` would apply."""
    assert KUBECTL is not None
    done = subprocess.run([KUBECTL, "kustomize", str(folder)], capture_output=True, text=True, check=True, timeout=60)
    return list(yaml.safe_load_all(done.stdout))


def named(objects: Iterable[Tree]) -> dict[tuple[str, str], Tree]:
    """Objects by kind and name."""
    return {(tree["kind"], tree["metadata"]["name"]): tree for tree in objects}


def granted(objects: Iterable[Tree]) -> frozenset[Permission]:
    """Everything that the roles among these objects permit."""
    return frozenset(_granted(objects))


def _granted(objects: Iterable[Tree]) -> Iterator[Permission]:
    for tree in objects:
        for rule in tree.get("rules", ()):
            yield from product(rule["apiGroups"], rule["resources"], rule["verbs"])
