"""Fields whose text is kept as it was written: the data of ControllerRevisions.

Clients compare such data byte for byte, and so does the server when it says that the data never changes. Whoever sends
JSON decides its text. What passes through the server's own hands is written as Go writes it: compact and with its
escapes; with sorted keys, too, where it became a map in between (YAML, strategic merge, server-side apply).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eachnode.objects.go_text import go_json, go_json_sorted


class Verbatim(dict[str, Any]):
    """An object, and the text it was read from."""

    __slots__ = ("text",)

    def __init__(self, value: dict[str, Any], text: bytes) -> None:
        super().__init__(value)
        self.text = text


def keep_text(field: str, tree: dict[str, Any], raw: bytes, media: Literal["json", "yaml"] = "json") -> None:
    """Has a tree remember the text of one of its fields, given the text that the tree was read from."""
    if media == "yaml":
        write_anew(field, tree)
    elif field and isinstance(value := tree.get(field), dict):
        try:
            texts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:  # Something in it is no Unicode (half a pair of surrogates), which was mended.
            write_anew(field, tree)
        else:
            tree[field] = Verbatim(value, bytes(texts[field]))


def write_anew(field: str, tree: dict[str, Any]) -> None:
    """Has a tree's field count as written by the server out of a map."""
    if field and isinstance(value := tree.get(field), dict):
        tree[field] = Verbatim(value, go_json_sorted(value))


def text_of(value: Any) -> bytes:
    """The text of a value: as it was written, or as it stands in JSON that the server passed on."""
    return value.text if isinstance(value, Verbatim) else go_json(value)


def encode_keeping(field: str, tree: dict[str, Any]) -> bytes:
    """A tree's JSON with one of its fields as it was written."""
    value = tree.get(field) if field else None
    if not isinstance(value, Verbatim):
        return go_json(tree)
    keys = list(tree)
    place = keys.index(field)
    parts = (
        go_json({key: tree[key] for key in keys[:place]})[1:-1],
        go_json(field) + b":" + value.text,
        go_json({key: tree[key] for key in keys[place + 1 :]})[1:-1],
    )
    return b"{" + b",".join(part for part in parts if part) + b"}"
