"""The formats that a schema may ask of a string; formats nobody knows are no restriction."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from unicodedata import category
from urllib.parse import urlsplit

from eachnode.server.schema import go_values


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _raises(read: Callable[[str], object], *errors: type[Exception]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            read(text)
        except errors:
            return False
        return True

    return fits


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


_HOST_NAME = re.compile(
    r"[a-z0-9](?:-?[a-z0-9]{0,62})?|(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", re.IGNORECASE | re.ASCII
)


def _is_host_name(text: str) -> bool:
    """Labels of letters, digits and symbols of any script; where there are several, the last has letters only."""
    plain = "".join("a" if letter.isalpha() else "0" if category(letter)[0] == "S" else letter for letter in text)
    fits = all(len(label.encode()) <= 63 for label in text.split(".")) and len(text.encode()) <= 255
    return fits and _HOST_NAME.fullmatch(plain) is not None


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and base64.b64decode(text, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_ANY_HEX = "[0-9a-f]"
_UNITS = "ns|us|µs|μs|ms|s|m|h"
_SPAN = "nanos?|microseconds?|micros?|milliseconds?|millis?|seconds?|minutes?|hours?|days?|weeks?|d|w|sec|min|hr"

FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _matches(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"),
    "date-time": _raises(go_values.moment, ValueError),
    "datetime": _raises(go_values.moment, ValueError),
    "duration": _matches(
        rf"[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*(?:{_UNITS}|{_SPAN})(?:(?:\d+(?:\.\d*)?|\.\d+)(?:{_UNITS}))*|0"
    ),
    "ipv4": _raises(ipaddress.IPv4Address, ValueError),
    "ipv6": _raises(ipaddress.IPv6Address, ValueError),
    "cidr": _raises(
        lambda text: ipaddress.ip_interface(text) if "/" in text else ipaddress.ip_interface(""), ValueError
    ),
    "mac": _matches(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE),
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "hostname": _is_host_name,
    "uri": _is_uri,
    "uuid": _matches(_UUID % (_ANY_HEX, _ANY_HEX), re.IGNORECASE),
    "uuid3": _matches(_UUID % ("3", _ANY_HEX), re.IGNORECASE),
    "uuid4": _matches(_UUID % ("4", "[89ab]"), re.IGNORECASE),
    "uuid5": _matches(_UUID % ("5", "[89ab]"), re.IGNORECASE),
    "byte": _is_base64,
    "bsonobjectid": _matches("[0-9a-f]{24}", re.IGNORECASE),
    "hexcolor": _matches("#?(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE),
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "password": lambda _text: True,
}


_OF_NUMBERS = ("int32", "int64", "float", "double")


def is_known(name: str) -> bool:
    """Whether a format restricts anything, texts or numbers."""
    return name in FORMATS or name in _OF_NUMBERS


def fits(name: str, text: str) -> bool:
    """Whether a text has this format."""
    check = FORMATS.get(name)
    return check is None or check(text)
