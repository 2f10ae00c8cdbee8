"""YAML text to the trees that JSON could have given.

Scalars mean what they mean to the reference (YAML 1.1 as go-yaml reads it: `yes` is true, `010` is eight, dates are
strings, sixty-based numbers are not numbers). The text is taken as a stream of events, never as a graph: nesting is
limited, and so is what aliases may add, so that a short text cannot grow into a huge tree.
"""

from __future__ import annotations

import base64
import binascii
import copy
import re
from collections.abc import Iterator
from typing import Any

import yaml

from eachnode.server.schema.json_text import DEEPEST, Repeated

MOST_FROM_ALIASES = 100_000  # Values that all aliases of one text may add together.

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where it was built in: ten times faster
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_IN_JSON = {
    **{sign + word: (sign or "+") + "Inf" for word in (".inf", ".Inf", ".INF") for sign in ("", "+", "-")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?", re.ASCII)


class NotYaml(ValueError):
    """The text is not YAML, or holds what JSON cannot; the message says so in the reference's words."""


class NoJsonValue(NotYaml):
    """One value of a text that is YAML cannot be in JSON; that is told once the text was read to its end."""


def read(raw: bytes) -> Any:
    """The first document's tree; an object that repeats keys is a `Repeated`. Raises NotYaml."""
    try:
        text = raw.decode("utf-8")
        return _Builder(yaml.parse(text, _LOADER)).document()
    except UnicodeDecodeError:
        raise NotYaml("yaml: invalid leading UTF-8 octet") from None
    except yaml.MarkedYAMLError as refusal:
        raise NotYaml(f"yaml: {_where(refusal)}{refusal.problem or refusal.context}") from None
    except yaml.YAMLError as refusal:
        raise NotYaml(f"yaml: {str(refusal).splitlines()[0]}") from None


def _where(refusal: yaml.MarkedYAMLError) -> str:
    """The line as go-yaml names it: counted from zero but for faults within a token, and not when it is the first."""
    problem, context = refusal.problem_mark, refusal.context_mark
    if problem is not None and problem.line:
        line = problem.line + isinstance(refusal, yaml.scanner.ScannerError)
    else:
        line = context.line if context is not None else 0
    return f"line {line}: " if line else ""


def is_plain_text(text: str) -> bool:
    """Whether a scalar without quotes is this text, and neither a number nor a date nor a word of YAML's own."""
    if text in _WORDS or text in _NOT_IN_JSON:
        return False
    digits = text.replace("_", "")
    return text[0] == "_" or not (_DATE.fullmatch(text) or _INTEGER.fullmatch(digits) or _FLOAT.fullmatch(digits))


def repeated_keys_in(tree: Any) -> list[str]:
    """`line 4: key "a" already set in map` for each key that a map of a tree just read repeats."""
    lines: list[tuple[int, str]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Repeated):
            lines += [(int(line.split(":")[0].removeprefix("line ")), line) for line in node.repeats]
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return [line for _, line in sorted(lines)]


class _Builder:
    """Makes one tree from a stream of events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.anchors: dict[str, Any] = {}
        self.added = 0
        self.depth = 0
        self.refused: NoJsonValue | None = None

    def document(self) -> Any:
        for event in self.events:
            if isinstance(event, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
                continue
            tree = None if isinstance(event, yaml.StreamEndEvent) else self._node(event)
            if self.refused is not None:
                raise self.refused
            return tree
        return None

    def _node(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.ScalarEvent):
            value = self._value(event)
        else:
            self.depth += 1
            if self.depth > DEEPEST:
                raise NotYaml("yaml: exceeded max depth")
            value = self._mapping() if isinstance(event, yaml.MappingStartEvent) else self._sequence()
            self.depth -= 1
        if event.anchor is not None:
            self.anchors[event.anchor] = value
        return value

    def _value(self, event: Any) -> Any:
        try:
            return _scalar(event)
        except NoJsonValue as refusal:
            self.refused = self.refused or refusal
            return None

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise NotYaml(f"yaml: unknown anchor '{event.anchor}' referenced")
        value = self.anchors[event.anchor]
        self.added += _size(value, MOST_FROM_ALIASES)
        if self.added > MOST_FROM_ALIASES:
            raise NotYaml("yaml: document contains excessive aliasing")
        return copy.deepcopy(value)

    def _sequence(self) -> list[Any]:
        items = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event))
        return items

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        repeats: list[str] = []
        merged: list[Any] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            is_merge = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value == "<<"
            key = _key(self._node(event))
            following = next(self.events)
            value = self._node(following)
            if is_merge:
                merged += value if isinstance(value, list) else [value]
                continue
            if key in found:
                line = following.start_mark.line + 1
                repeats.append(f'line {line}: key "{key}" already set in map')
            found[key] = value
        for source in merged:
            if not isinstance(source, dict):
                raise NotYaml("yaml: map merge requires map or sequence of maps as the value")
            for key, value in source.items():
                found.setdefault(key, value)
        tree = Repeated()
        tree.repeats = repeats
        tree.update({key: found[key] for key in sorted(found)})  # As the JSON is that the reference makes of it first.
        return tree if repeats else dict(tree)


def _size(value: Any, at_most: int) -> int:
    """How many values there are, counted no further than needed."""
    count, waiting = 0, [value]
    while waiting and count <= at_most:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return count


def _key(key: Any) -> str:
    """A map's key as JSON needs it."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, float)):
        return f"{key:g}" if isinstance(key, float) else str(key)
    named = "map[interface {}]interface {}" if isinstance(key, dict) else "[]interface {}"
    named = "%!s(<nil>)" if key is None else named
    raise NotYaml(f"unsupported map key of type: {named}")


def _scalar(event: Any) -> Any:
    text: str = event.value
    tag = (event.tag or "").removeprefix(_TAG)
    if tag == "binary":
        try:
            return base64.b64decode(text).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise NotYaml("yaml: !!binary value contains invalid base64 data") from None
    if tag in ("bool", "int", "float", "null"):
        value = _plain(text)
        if (tag == "bool") != isinstance(value, bool) or isinstance(value, str):
            raise NotYaml(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
        return float(value) if tag == "float" else value
    return _plain(text) if event.implicit[0] and not tag else text


def _plain(text: str) -> Any:
    """What a scalar without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if not (text[0].isdigit() or text[0] in "+-."):
        return text
    if text in _NOT_IN_JSON:
        raise NoJsonValue(f"json: unsupported value: {_NOT_IN_JSON[text]}")
    digits = text.replace("_", "")
    if _DATE.fullmatch(text):
        return text
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    return _fraction(float(digits)) if _FLOAT.fullmatch(digits) and len(digits) < 400 else text


def _fraction(value: float) -> int | float:
    """A number as JSON has it: without an exponent and a fraction, if it is whole and not huge."""
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _integer(digits: str) -> int | float:
    size = digits.lstrip("+-").lower()
    if len(size) > 70:
        return float(digits) if size.isdigit() else 0.0
    value = int(size, 8 if size[0] == "0" and size[1:].isdigit() else 0)
    return -value if digits[0] == "-" else value
