"""One object as the API sends it, decoded at most once into each view that somebody reads.

A loop decodes only the part it decides upon (a *view*: a frozen `msgspec.Struct` that skips unknown fields). Inside
`eachnode up` all loops are handed the same document, so a view that two of them share is decoded once.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

View = TypeVar("View")

_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


class Document:
    """The JSON text of one object, and the views already decoded from it."""

    __slots__ = ("_views", "raw")

    def __init__(self, raw: bytes | memoryview) -> None:
        self.raw = raw
        self._views: dict[type, Any] | None = None

    def read(self, view: type[View]) -> View:
        """The object as this view; raises `msgspec.ValidationError` when the object does not fit it."""
        if self._views is None:
            self._views = {}
        known = self._views.get(view)
        if known is None:
            known = self._views[view] = decoder_for(view).decode(self.raw)
        return known

    def tree(self) -> dict[str, Any]:
        """A fresh mutable copy of the whole object."""
        return msgspec.json.decode(self.raw)  # type: ignore[no-any-return]


def decoder_for(view: type[View]) -> msgspec.json.Decoder[View]:
    """The one decoder of a view: making one is much dearer than using it."""
    known = _DECODERS.get(view)
    if known is None:
        known = _DECODERS[view] = msgspec.json.Decoder(view)
    return known
