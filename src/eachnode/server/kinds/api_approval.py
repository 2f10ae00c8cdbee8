"""Groups of the community's own: a definition of a kind in one of them must say where its API was approved."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from urllib.parse import urlsplit

from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Tree

_ANNOTATION = "api-approved.kubernetes.io"
_PATH = f"metadata.annotations[{_ANNOTATION}]"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(Enum):
    """What a definition says of its approval."""

    MISSING = auto()
    BYPASSED = auto()
    GIVEN = auto()
    UNCLEAR = auto()


def is_protected(group: str) -> bool:
    """Whether kinds in this group need an approval."""
    return any(group == own or group.endswith(f".{own}") for own in _PROTECTED)


def approval_of(definition: Tree) -> Approval:
    """What this definition says."""
    said = _said(definition)
    if not said:
        return Approval.MISSING
    if said.startswith("unapproved"):
        return Approval.BYPASSED
    try:
        url = urlsplit(said)
    except ValueError:
        return Approval.UNCLEAR
    return Approval.GIVEN if url.scheme and url.netloc else Approval.UNCLEAR


def validate_approval(new: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """What is wrong with it; a definition that was let in without may stay so."""
    if not is_protected(new["spec"].get("group", "")):
        return
    state = approval_of(new)
    if old is not None and approval_of(old) is state:
        return
    demand = f'protected groups must have approval annotation "{_ANNOTATION}"'
    if state is Approval.MISSING:
        yield required(_PATH, f"{demand}, {_SEE}")
    elif state is Approval.UNCLEAR:
        sentence = f'{demand} with either a URL or a reason starting with "unapproved", {_SEE}'
        yield invalid(_PATH, _said(new), sentence)


def _said(definition: Tree) -> str:
    return str((definition["metadata"].get("annotations") or {}).get(_ANNOTATION, ""))
