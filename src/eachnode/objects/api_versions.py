"""Versions of an API group, and which of them is to be preferred."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?$")


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as the reference prefers them: v2, v1, v1beta2, v1alpha1, then anything else by name."""
    found = _VERSION.match(version)
    if found is None:
        return (3, 0, 0, version)
    major, stage, minor = found.groups()
    return ({None: 0, "beta": 1, "alpha": 2}[stage], -int(major), -int(minor or 0), "")
