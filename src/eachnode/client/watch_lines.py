"""The lines of a watch, cut into events; only what steers the watch itself is decoded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.status import InternalError, Status, Unreachable, error_from
from eachnode.objects.watching import ChangeType, WatchEvent

INITIAL_END = "k8s.io/initial-events-end"


class _Line(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class _BookmarkMeta(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: _BookmarkMeta = _BookmarkMeta()


_LINES = msgspec.json.Decoder(_Line)
_BOOKMARKS = msgspec.json.Decoder(_Bookmark)
_STATUS = msgspec.json.Decoder(Status)
_CHANGES: dict[str, ChangeType] = {"ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED"}


def watch_batch(lines: bytes) -> Sequence[WatchEvent]:
    """The events in these complete lines; an ERROR among them is raised as what it means.

    What came before the error is lost with it, which does no harm: the watch is resumed from the last event taken.
    """
    try:
        return [_event(line) for line in _LINES.decode_lines(lines)]
    except msgspec.MsgspecError as error:
        raise Unreachable(f"the watch carried something that is no event: {error}") from error


def _event(line: _Line) -> WatchEvent:
    change = _CHANGES.get(line.type)
    if change is not None:
        return WatchEvent(change, Document(memoryview(line.object)))
    if line.type == "BOOKMARK":
        annotations = _BOOKMARKS.decode(line.object).metadata.annotations or {}
        return WatchEvent("BOOKMARK", Document(memoryview(line.object)), annotations.get(INITIAL_END) == "true")
    if line.type == "ERROR":
        status = _STATUS.decode(line.object)
        raise error_from(status) if status.code else InternalError(status.message or "the watch failed")
    raise Unreachable(f"the watch carried an event of the unknown type {line.type}")
