"""One object as the API sends it, decoded at most once into each view that somebody reads.

A loop decodes only the part it decides upon (a *view*: a frozen `msgspec.Struct` that skips unknown fields). Inside
`eachnode up` all loops are handed the same document, so a view that two of them share is decoded once. The views of a
state that is past are let go of: the history keeps thousands of those, and nobody but a late watcher reads them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from eachnode.objects.meta import Metadata

View = TypeVar("View")

_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


class Document:
    """The JSON text of one object, and the views already decoded from it."""

    __slots__ = ("_is_past", "_views", "raw")

    def __init__(self, raw: bytes | memoryview) -> None:
        self.raw = raw
        self._views: dict[type, Any] | None = None
        self._is_past = False

    def read(self, view: type[View]) -> View:
        """The object as this view; raises `msgspec.ValidationError` when the object does not fit it."""
        if self._is_past:
            return decoder_for(view).decode(self.raw)
        if self._views is None:
            self._views = {}
        known = self._views.get(view)
        if known is None:
            known = self._views[view] = self._with_one_metadata(decoder_for(view).decode(self.raw))
        return known

    def _with_one_metadata(self, view: View) -> View:
        """The view, with the metadata that the views read before it have: it is half of what most of them hold."""
        metadata = getattr(view, "metadata", None)
        if type(metadata) is Metadata and isinstance(view, msgspec.Struct) and self._views is not None:
            shared = self._views.setdefault(Metadata, metadata)
            if shared is not metadata:
                msgspec.structs.force_setattr(view, "metadata", shared)
        return view

    def forget_views(self) -> None:
        """Remember no views from now on: the object has changed since, and who still needs this state holds it."""
        self._is_past = True
        self._views = None

    def tree(self) -> dict[str, Any]:
        """A fresh mutable copy of the whole object."""
        return msgspec.json.decode(self.raw)  # type: ignore[no-any-return]  # JSON can be anything


def decoder_for(view: type[View]) -> msgspec.json.Decoder[View]:
    """The one decoder of a view: making one is much dearer than using it."""
    known = _DECODERS.get(view)
    if known is None:
        known = _DECODERS[view] = msgspec.json.Decoder(view)
    return known
