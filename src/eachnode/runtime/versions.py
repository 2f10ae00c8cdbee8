"""Comparing resourceVersions: numbers to us where they are numbers, and never guessed at where they are not."""

from __future__ import annotations


def older(version: str, than: str) -> bool:
    """Whether a resourceVersion is surely older: both are numbers, and it is the smaller one."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def as_new(known: str, version: str) -> bool:
    """Whether what is known is surely as new as this version: the server repeats itself."""
    return known.isdecimal() and version.isdecimal() and int(known) >= int(version)
