"""Scalars that Go reads in its own way: moments, binary data, numbers. Wrong ones raise ValueError in Go's words."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

_INT64 = 1 << 63
_PLAIN_TIME = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z", re.ASCII
)
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_PAD = ord("=")
# (pattern, how the layout spells it) of RFC 3339 in Go's notation.
_TIME_PARTS = (
    (r"[0-9]{4}", "2006"),
    ("-", "-"),
    (r"[0-9]{2}", "01"),
    ("-", "-"),
    (r"[0-9]{2}", "02"),
    ("T", "T"),
    (r"[0-9]{1,2}", "15"),
    (":", ":"),
    (r"[0-9]{2}", "04"),
    (":", ":"),
    (r"[0-9]{2}", "05"),
)
_ZONE = r"Z|[+-][0-9]{2}:[0-9]{2}"


def is_beyond_int64(value: Any) -> bool:
    """Whether a whole number is one that Go's untyped trees hold as a fraction."""
    return isinstance(value, int) and not -_INT64 <= value < _INT64


def converted(value: Any, bound: int) -> Any:
    """A whole number as Go converts it to a type of this size, cutting its upper bits off; anything else as it is."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value % 1:
        return value
    whole = int(value) if -_INT64 <= value < _INT64 else -_INT64
    return (whole + bound) % (2 * bound) - bound


@lru_cache(maxsize=4096)
def moment(text: str) -> str | None:
    """A `Time` in whole seconds of UTC, as it is stored; None for the zero time."""
    if _PLAIN_TIME.fullmatch(text) and not text.startswith("0001-01-01"):
        return text
    instant = _instant(text, "2006-01-02T15:04:05Z07:00", fraction=None)
    return None if instant == _ZERO_TIME else instant.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


@lru_cache(maxsize=4096)
def micro_moment(text: str) -> str | None:
    """A `MicroTime` in microseconds of UTC; the text must hold just as many digits."""
    instant = _instant(text, "2006-01-02T15:04:05.000000Z07:00", fraction=6)
    return None if instant == _ZERO_TIME else instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _instant(text: str, layout: str, fraction: int | None) -> datetime:
    """The moment a text means by Go's rules for this layout."""
    at, found = 0, []
    whole = _said(text)

    def take(pattern: str, spelled: str) -> str:
        nonlocal at
        match = re.compile(pattern, re.ASCII).match(text, at)
        if match is None:
            raise ValueError(
                f"parsing time {whole} as {_said(layout)}: cannot parse {_said(text[at:])} as {_said(spelled)}"
            )
        at = match.end()
        return match[0]

    for pattern, spelled in _TIME_PARTS:
        found.append(take(pattern, spelled))
    if fraction is None:
        digits = take(r"(?:[.,][0-9]+)?", "05")[1:]
    else:
        digits = take(rf"\.[0-9]{{{fraction}}}", "." + "0" * fraction)[1:]
    zone = take(_ZONE, "Z07:00")
    if at < len(text):
        raise ValueError(f"parsing time {whole}: extra text: {_said(text[at:])}")
    year, month, day, hour, minute, second = (int(found[place]) for place in (0, 2, 4, 6, 8, 10))
    for name, value, below in (
        ("month", month, 13),
        ("hour", hour, 24),
        ("minute", minute, 60),
        ("second", second, 60),
    ):
        if value >= below or (name == "month" and value == 0):
            raise ValueError(f"parsing time {whole}: {name} out of range")
    try:
        local = datetime(max(year, 1), month, day, hour, minute, second, int(digits[:6].ljust(6, "0")), tzinfo=UTC)
        return local - _offset(zone)
    except (ValueError, OverflowError):
        raise ValueError(f"parsing time {whole}: day out of range") from None


def _said(text: str) -> str:
    """A text as Go's errors about times quote it: byte by byte."""
    shown = {0x22: '\\"', 0x5C: "\\\\"}
    letters = (shown.get(byte) or (chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}") for byte in text.encode())
    return f'"{"".join(letters)}"'


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    size = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return -size if zone[0] == "-" else size


def binary(text: str) -> str:
    """Base64 as Go writes it again."""
    raw = text.encode("utf-8", "replace")
    wrong = _first_wrong_byte(raw)
    if wrong is not None:
        raise ValueError(f"illegal base64 data at input byte {wrong}")
    return base64.b64encode(base64.b64decode(raw)).decode()


def _first_wrong_byte(raw: bytes) -> int | None:
    """Where Go stops reading; line ends count for nothing."""
    in_group = 0
    for at, byte in enumerate(raw):
        if byte in b"\r\n":
            continue
        if byte == _PAD:
            return _wrong_padding(raw, at, in_group)
        if byte not in _BASE64:
            return at
        in_group = (in_group + 1) % 4
    return len(raw) - in_group if in_group else None


def _wrong_padding(raw: bytes, at: int, in_group: int) -> int | None:
    """What is wrong from the first `=` on, if anything."""
    if in_group < 2:
        return at
    rest = [(place, byte) for place, byte in enumerate(raw[at + 1 :], at + 1) if byte not in b"\r\n"]
    if in_group == 2:
        if not rest:
            return len(raw)
        if rest[0][1] != _PAD:
            return rest[0][0] - 1
        rest = rest[1:]
    return rest[0][0] if rest else None
