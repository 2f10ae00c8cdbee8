"""JSON text to trees, as the reference reads it. (`objects.go_text` writes it.)

Reading takes the quick way (msgspec) for all that is well formed. What the quick way refuses, and what may hold a key
twice, is read again with care: by a scanner that words its errors as Go's does, keeps the repeated keys in view, and
remembers how numbers were written.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from eachnode.objects.go_text import go_quoted

DEEPEST = 256  # Levels of nesting. No kind needs more than a few dozen, and each costs stack everywhere it passes.
TOO_DEEP = "exceeded max depth"

_BLANKS = " \t\n\r"
_STRING = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SPACED_COLONS = (b" :", b"\t:", b"\n:", b"\r:")


class NotJson(ValueError):
    """The text is not JSON; the message says so in Go's words."""


class Repeated(dict[str, Any]):
    """An object some of whose keys stood in it more than once; it holds the last value of each."""

    def __init__(self) -> None:
        super().__init__()
        self.repeats: list[str] = []
        self.pairs: list[tuple[str, Any]] = []  # All of them as they stood there.


class Written(float):
    """A number that is no 64-bit whole number, and its text."""

    text: str

    def __new__(cls, text: str) -> Written:
        made = super().__new__(cls, text)
        made.text = text
        return made


def read(raw: bytes) -> Any:
    """The tree of a JSON text; raises NotJson."""
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return plain(read_with_care(raw))
    if raw.count(b"{") + raw.count(b"[") > DEEPEST:
        check_depth(tree)
    return tree


def read_with_care(raw: bytes) -> Any:
    """The same with repeated keys marked (`Repeated`) and the text of fractions kept (`Written`)."""
    return _Scanner(raw.decode("utf-8", "replace")).whole()


def may_repeat_keys(raw: bytes, keys: int) -> bool:
    """Whether an object of `keys` keys in all may hold some of them twice: more colons than keys."""
    return raw.count(b'":') != keys or any(spaced in raw for spaced in _SPACED_COLONS)


def check_depth(tree: Any) -> None:
    """Refuses a tree that is nested too deep."""
    level = [tree]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below += [child for child in node.values() if isinstance(child, (dict, list))]
            elif isinstance(node, list):
                below += [child for child in node if isinstance(child, (dict, list))]
        if not below:
            return
        level = below
    raise NotJson(TOO_DEEP)


def keys_in(value: Any) -> int:
    """How many keys all objects in a value have together."""
    if isinstance(value, dict):
        return len(value) + sum(keys_in(entry) for entry in value.values() if entry.__class__ in (dict, list))
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


def plain(value: Any) -> Any:
    """A value of no known shape without the marks of careful reading."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return float(value) if type(value) is Written else value


class _Scanner:
    """One pass over a text. Each method reads one thing at `self.at` and leaves `self.at` behind it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> Any:
        value = self._value()
        self._skip()
        if self.at < len(self.text):
            raise self._wrong("after top-level value")
        return value

    def _skip(self) -> str:
        """The next character that is no blank, not yet read; empty at the end."""
        text, at = self.text, self.at
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        self.at = at
        return text[at] if at < len(text) else ""

    def _wrong(self, where: str) -> NotJson:
        if self.at >= len(self.text):
            return NotJson("unexpected end of JSON input")
        char = self.text[self.at]
        shown = {"'": "\\'", '"': '"'}.get(char) or go_quoted(char)[1:-1]
        return NotJson(f"invalid character '{shown}' {where}")

    def _value(self) -> Any:
        char = self._skip()
        if char == "{":
            return self._object()
        if char == "[":
            return self._array()
        if char == '"':
            return self._string()
        if char == "-" or (char.isascii() and char.isdigit()):
            return self._number()
        for word, value in (("true", True), ("false", False), ("null", None)):
            if char == word[0]:
                return self._word(word, value)
        raise self._wrong("looking for beginning of value")

    def _enter(self) -> None:
        self.at += 1
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotJson(TOO_DEEP)

    def _object(self) -> Any:
        self._enter()
        tree = Repeated()
        if self._skip() == "}":
            return self._leave(tree)
        while True:
            if self._skip() != '"':
                raise self._wrong("looking for beginning of object key string")
            key = self._string()
            if self._skip() != ":":
                raise self._wrong("after object key")
            self.at += 1
            if key in tree:
                tree.repeats.append(key)
            tree[key] = self._value()
            tree.pairs.append((key, tree[key]))
            if self._skip() == "}":
                return self._leave(tree)
            if self.text[self.at : self.at + 1] != ",":
                raise self._wrong("after object key:value pair")
            self.at += 1

    def _array(self) -> Any:
        self._enter()
        items: list[Any] = []
        if self._skip() == "]":
            return self._leave(items)
        while True:
            items.append(self._value())
            if self._skip() == "]":
                return self._leave(items)
            if self.text[self.at : self.at + 1] != ",":
                raise self._wrong("after array element")
            self.at += 1

    def _leave(self, made: Any) -> Any:
        self.at += 1
        self.depth -= 1
        return made if not isinstance(made, Repeated) or made.repeats else dict(made)

    def _string(self) -> str:
        self.at += 1
        parts = []
        while True:
            plain = _STRING.match(self.text, self.at)
            assert plain is not None  # It matches the empty text.
            parts.append(plain[0])
            self.at = plain.end()
            char = self.text[self.at : self.at + 1]
            if char == '"':
                self.at += 1
                return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if char != "\\":
                raise self._wrong("in string literal")
            self.at += 1
            parts.append(self._escape())

    def _escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        if char in _ESCAPES:
            self.at += 1
            return _ESCAPES[char]
        if char != "u":
            raise self._wrong("in string escape code")
        digits = _HEX.match(self.text, self.at + 1)
        if digits is None:
            self.at += 1
            while self.text[self.at : self.at + 1] in (*"0123456789abcdefABCDEF",):
                self.at += 1
            raise self._wrong(r"in \u hexadecimal character escape")
        self.at = digits.end()
        return chr(int(digits[0], 16))

    def _number(self) -> int | float:
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            self.at += 1
            raise self._wrong("in numeric literal")
        self.at = number.end()
        following = self.text[self.at : self.at + 1]
        if following == ".":
            self.at += 1
            raise self._wrong("after decimal point in numeric literal")
        if following in ("e", "E"):
            self.at += 1
            if self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            raise self._wrong("in exponent of numeric literal")
        literal = number[0]
        digits = literal.lstrip("-")
        is_whole = digits.isdigit() and len(digits) < 20
        return int(literal) if is_whole and -(1 << 63) <= int(literal) < 1 << 63 else Written(literal)

    def _word(self, word: str, value: Any) -> Any:
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                raise self._wrong(f"in literal {word} (expecting '{expected}')")
            self.at += 1
        return value
