"""What an API server would refuse in a DaemonSet, by the embedded server's own tables and rules; no server is asked."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from eachnode.cli.targets import nearest
from eachnode.decisions.lint import Finding, Severity
from eachnode.server.kinds.daemonsets import DAEMON_SETS_KIND
from eachnode.server.schema.canonical_form import Reading, Unreadable, conform
from eachnode.server.schema.shapes import Shape, shape

Tree = dict[str, Any]

_UNKNOWN = re.compile(r'unknown field "(.*)"')
_STEP = re.compile(r"\.|\[\d+\]\.?")  # Between the fields of a path; items of a list have the fields of their kind.


def beyond(tree: Tree, findings: Sequence[Finding]) -> list[Finding]:
    """What is refused besides what was found already at the same places."""
    told = {_shape_of(finding.path) for finding in findings if finding.severity is Severity.ERROR}
    told |= {_LABELS} if _SELECTOR in told else set()  # Without a selector no labels can be right.
    return [finding for finding in _refusals(tree) if not _is_told(_shape_of(finding.path), told)]


_SELECTOR, _LABELS = "spec.selector", "spec.template.metadata.labels"


def _shape_of(path: str) -> str:
    """A path without the names or numbers of items."""
    return re.sub(r"\[[^\]]*\]", "[]", path)


def _is_told(path: str, told: Iterable[str]) -> bool:
    return any(f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.") for other in told)


def _refusals(tree: Tree) -> Iterator[Finding]:
    wanted, reading = shape(DAEMON_SETS_KIND.definition), Reading()
    try:
        made = conform(wanted, copy.deepcopy(tree), reading)
    except Unreadable as error:
        fix = "write the kind of value that is expected there"
        yield Finding("unreadable", Severity.ERROR, "spec", f"it cannot be read: {error}", fix)
        return
    for complaint in reading.strict:
        if (match := _UNKNOWN.match(complaint)) is not None:
            yield _unknown(match[1], wanted)
    DAEMON_SETS_KIND.default(made)
    for refused in DAEMON_SETS_KIND.validate(made):
        because = f"the server refuses it: {refused.message}"
        yield Finding("refused", Severity.ERROR, refused.field, because, "correct it as the message says")


def _unknown(path: str, wanted: Shape) -> Finding:
    """A field that nobody knows, and the one that was probably meant."""
    *above, name = _STEP.split(path)
    for step in above:
        below = wanted.fields[step].shape if step in wanted.fields else wanted.item
        if below is None:
            break
        wanted = below.item if below.item is not None and below.item.fields else below
    meant = nearest(name, wanted.fields)
    because = f"there is no field {name}, so what it says is ignored, or refused"
    fix = (
        f"write {meant}, if that is meant" if meant else "remove it, or look up what it is called and where it belongs"
    )
    return Finding("unknown-field", Severity.ERROR, path, because, fix)
