"""Pods for tests: one that is sound, and ways to change a part of it."""

from __future__ import annotations

from typing import Any

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.kind import PODS_KIND
from tests.server.kinds.judging import Faults, faults

CONTAINER: Tree = {"name": "c", "image": "app:1"}


def spec_of(**fields: Any) -> Tree:
    """A pod spec of one container."""
    return {"containers": [dict(CONTAINER)], **fields}


def container_faults(**fields: Any) -> Faults:
    """What is wrong with a pod whose container has these fields; the path of the container is left out."""
    return _short(faults(PODS_KIND, spec=spec_of(containers=[{**CONTAINER, **fields}])), "spec.containers[0]")


def spec_faults(**fields: Any) -> Faults:
    """What is wrong with a pod whose spec has these fields; `spec` is left out of the paths."""
    return _short(faults(PODS_KIND, spec=spec_of(**fields)), "spec")


def volume_faults(**source: Any) -> Faults:
    """What is wrong with a pod that has this volume; its path is left out."""
    return _short(faults(PODS_KIND, spec=spec_of(volumes=[{"name": "v", **source}])), "spec.volumes[0]")


def _short(found: Faults, prefix: str) -> Faults:
    return [(path.removeprefix(prefix).removeprefix("."), message) for path, message in found]
