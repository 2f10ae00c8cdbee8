"""JSON as Go's encoder writes it.

Clients of the API compare texts, not only values: revision data, error messages and diffs hold JSON that must be the
same byte for byte. Go's encoder is compact, and escapes in strings the three characters that matter in HTML and the two
line separators that matter in JavaScript.
"""

from __future__ import annotations

from typing import Any

import msgspec

_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
_ENCODER = msgspec.json.Encoder()


def go_json(value: Any) -> bytes:
    """Compact JSON, the keys of objects in the order they have."""
    text = _ENCODER.encode(value)
    for plain, escaped in _ESCAPES:
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def go_json_sorted(value: Any) -> bytes:
    """Compact JSON with the keys of all objects sorted bytewise, as Go writes maps."""
    return go_json(_sorted(value))


def go_json_indented(value: Any) -> str:
    """JSON with one blank for each level, as diffs in error messages show objects."""
    return msgspec.json.format(go_json(value), indent=1).decode()


def go_quoted(text: str) -> str:
    """A text in quotes, as Go's %q shows it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_quoted_letter, text))}"'


_QUOTED = {'"': '\\"', "\\": "\\\\"} | dict(zip("\a\b\f\n\r\t\v", (f"\\{name}" for name in "abfnrtv"), strict=True))


def _quoted_letter(letter: str) -> str:
    if letter.isprintable() or letter in _QUOTED:
        return _QUOTED.get(letter, letter)
    code = ord(letter)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=str.encode)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
