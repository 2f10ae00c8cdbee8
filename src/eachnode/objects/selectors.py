"""Which objects are meant: label selectors in both of their forms, and field selectors.

The object form (`spec.selector` of a DaemonSet) and the query form (`a=b,c in (d,e),!f`) say the same things; the query
form is parsed with the reference's grammar and refused in the reference's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from eachnode.objects.formats import label_value, qualified_name
from eachnode.objects.go_text import go_quoted


class LabelExpression(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One `matchExpressions` entry."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels satisfy it; an unknown operator is satisfied by nothing."""
        match self.operator:
            case "In":
                return labels.get(self.key) in (self.values or ())
            case "NotIn":
                return labels.get(self.key) not in (self.values or ())
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        return False


class LabelSelector(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The object form; an empty one matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelExpression, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        for key, value in (self.match_labels or {}).items():
            if labels.get(key) != value:
                return False
        return all(expression.matches(labels) for expression in self.match_expressions or ())

    @property
    def empty(self) -> bool:
        """Whether it says nothing and so matches everything."""
        return not self.match_labels and not self.match_expressions

    @property
    def problem(self) -> str:
        """What makes it unusable, in a sentence; empty when nothing does."""
        for expression in self.match_expressions or ():
            if expression.operator in ("In", "NotIn"):
                if not expression.values:
                    return f"operator {expression.operator} of {expression.key!r} needs at least one value"
            elif expression.operator not in ("Exists", "DoesNotExist"):
                return f"{expression.operator!r} is not a valid label selector operator"
            elif expression.values:
                return f"operator {expression.operator} of {expression.key!r} takes no values"
        return ""

    @property
    def text(self) -> str:
        """The query form that means the same."""
        parts = [f"{key}={value}" for key, value in sorted((self.match_labels or {}).items())]
        for expression in self.match_expressions or ():
            values = ",".join(sorted(expression.values or ()))
            forms = {
                "In": f"{expression.key} in ({values})",
                "NotIn": f"{expression.key} notin ({values})",
                "Exists": expression.key,
                "DoesNotExist": f"!{expression.key}",
            }
            parts.append(forms[expression.operator])
        return ",".join(parts)


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One comma-separated part of the query form."""

    key: str
    operator: str  # in, notin, exists, !, gt, lt; the three ways to write equality are `in` and `notin`.
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels satisfy it."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        number = whole_number(value or "")
        bound = whole_number(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "gt" else number < bound


@dataclass(frozen=True, slots=True)
class Selector:
    """The query form, parsed; one without requirements matches everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether it says nothing and so matches everything."""
        return not self.requirements


def whole_number(text: str) -> int | None:
    """A decimal of 64 bits as Go's ParseInt reads it, or None."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def parse_label_selector(text: str) -> Selector:
    """The meaning of a `labelSelector` query parameter; ValueError says what cannot be understood."""
    return Selector(_LabelParser(text).parse())


_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<>\s]+")
_COMPARISONS = {"in": "in", "=": "in", "==": "in", ">": "gt", "<": "lt", "notin": "notin", "!=": "notin"}
_COMPARISONS_AS_LISTED = "in, notin, =, ==, !=, gt, lt"


class _LabelParser:
    """Reads one requirement after another; its errors quote the token that surprised it."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = [*_TOKEN.findall(text), ""]
        self._position = 0

    def parse(self) -> tuple[LabelRequirement, ...]:
        requirements: list[LabelRequirement] = []
        while word := self._peek():
            if word != "!" and not _is_name(word):
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            separator = self._take()
            if not separator:
                break
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self._peek()
            if following != "!" and not _is_name(following):
                raise ValueError(f"found '{following}', expected: identifier after ','")
        return tuple(sorted(requirements, key=lambda requirement: requirement.key))

    def _peek(self) -> str:
        return self._words[self._position]

    def _take(self) -> str:
        word = self._words[self._position]
        self._position += 1
        return word

    def _requirement(self) -> LabelRequirement:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if not _is_name(key):
            raise ValueError(f"found '{key}', expected: identifier")
        if errors := qualified_name(key):
            # The reference has no field path here and says so.
            raise ValueError(f"<nil>: Invalid value: {go_quoted(key)}: {'; '.join(errors)}")
        if absent:
            return LabelRequirement(key, "!")
        if self._peek() in ("", ","):
            return LabelRequirement(key, "exists")
        return self._comparison(key)

    def _comparison(self, key: str) -> LabelRequirement:
        sign = self._take()
        if sign not in _COMPARISONS:
            raise ValueError(f"found '{sign}', expected: {_COMPARISONS_AS_LISTED}")
        found = self._values() if sign in ("in", "notin") else {self._exact_value()}
        values = tuple(sorted(found))
        errors = []
        if sign in ("<", ">") and whole_number(values[0]) is None:
            wrong = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(f"values[0]: Invalid value: {go_quoted(values[0])}: {wrong}")
        for index, value in enumerate(values):
            if wrongs := label_value(value):
                errors.append(f"values[{index}][{key}]: Invalid value: {go_quoted(value)}: {'; '.join(wrongs)}")
        if errors:
            raise ValueError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return LabelRequirement(key, _COMPARISONS[sign], values)

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if not _is_name(value):
            raise ValueError(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> set[str]:
        opening = self._take()
        if opening != "(":
            raise ValueError(f"found '{opening}' expected: '('")
        if self._peek() == ")":
            self._take()
            return {""}
        if self._peek() != "," and not _is_name(self._peek()):
            raise ValueError(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: set[str] = set()
        blank = True  # Nothing stood before the next comma or parenthesis: that is the empty value.
        while True:
            word = self._take()
            if word == ")":
                return values | {""} if blank else values
            if word == ",":
                if blank:
                    values.add("")
                blank = True
            elif not _is_name(word):
                raise ValueError(f"found '{word}', expected: ',', or identifier")
            elif self._peek() not in (",", ")"):
                raise ValueError(f"found '{self._peek()}', expected: ',' or ')'")
            else:
                values.add(word)
                blank = False


def _is_name(word: str) -> bool:
    return bool(word) and word not in ("=", "==", "!=", "!", "(", ")", ",", "<", ">")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One comma-separated part of a field selector."""

    field: str
    equal: bool
    value: str


_FIELD_TERM = re.compile(r"(?:[^,\\]|\\.|\\$)*", re.DOTALL)
_FIELD_PARTS = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def parse_field_selector(text: str) -> tuple[FieldRequirement, ...]:
    """The meaning of a `fieldSelector` query parameter; ValueError says what cannot be understood."""
    found = []
    for term in sorted(_split_terms(text)):
        if not term:
            continue
        parts = _FIELD_PARTS.fullmatch(term)
        if parts is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, sign, value = parts.groups()
        found.append(FieldRequirement(field, sign != "!=", _unescaped(value)))
    return tuple(found)


def _split_terms(text: str) -> list[str]:
    """The parts between commas that no backslash precedes."""
    terms, position = [], 0
    while position <= len(text):
        term = _FIELD_TERM.match(text, position)
        assert term is not None  # The pattern matches the empty text too.
        terms.append(term.group())
        position = term.end() + 1
    return terms


def _unescaped(value: str) -> str:
    plain, characters = [], iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            plain.append(escaped)
        elif character in ",=":
            # The reference prints the character's number.
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            plain.append(character)
    return "".join(plain)
