"""JSON is refused in Go's words, and its repeated keys are found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.server.schema import json_text
from eachnode.server.schema.json_text import DEEPEST, NotJson, Repeated, Written

REFUSALS = {
    "": "unexpected end of JSON input",
    "{not json": "invalid character 'n' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 "b":2}': "invalid character '\"' after object key:value pair",
    "[1 2]": "invalid character '2' after array element",
    "[1,]": "invalid character ']' looking for beginning of value",
    "tru3": "invalid character '3' in literal true (expecting 'e')",
    "{}x": "invalid character 'x' after top-level value",
    "01": "invalid character '1' after top-level value",
    "-x": "invalid character 'x' in numeric literal",
    "1.x": "invalid character 'x' after decimal point in numeric literal",
    "1ex": "invalid character 'x' in exponent of numeric literal",
    r'"\x"': "invalid character 'x' in string escape code",
    r'"\u12g4"': r"invalid character 'g' in \u hexadecimal character escape",
    '"a\nb"': r"invalid character '\n' in string literal",
    "['a']": r"invalid character '\'' looking for beginning of value",
    r"[\]": r"invalid character '\\' looking for beginning of value",
    "[\x01]": r"invalid character '\x01' looking for beginning of value",
    "nul": "unexpected end of JSON input",
}


@pytest.mark.parametrize(("text", "sentence"), REFUSALS.items())
def test_what_is_no_json_is_refused_in_gos_words(text: str, sentence: str) -> None:
    with pytest.raises(NotJson) as refusal:
        json_text.read(text.encode())
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("depth", [DEEPEST + 1, 5000, 200_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(NotJson, match=json_text.TOO_DEEP):
        json_text.read(b"[" * depth + b"]" * depth)


def test_nesting_that_is_not_too_deep_is_read() -> None:
    assert json_text.read(b"[" * DEEPEST + b"]" * DEEPEST)


def test_invalid_unicode_is_replaced() -> None:
    assert json_text.read(b'"\xff"') == "�"
    assert json_text.read(rb'"\ud800 \ud83d\ude00"') == "� 😀"


def test_repeated_keys_and_written_numbers_are_kept_in_view() -> None:
    tree = json_text.read_with_care(b'{"a": 1.50, "b": {"c": 1, "c": 2}}')
    assert isinstance(tree["b"], Repeated)
    assert (tree["b"].repeats, tree["b"]["c"]) == (["c"], 2)
    assert isinstance(tree["a"], Written)
    assert tree["a"].text == "1.50"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_both_ways_of_reading_agree(tree: Any) -> None:
    raw = json.dumps(tree).encode()
    assert json_text.read(raw) == json_text.read_with_care(raw)


@given(st.text(max_size=30))
def test_no_text_is_anything_but_read_or_refused(text: str) -> None:
    try:
        json.loads(text, parse_constant=_no_constant)
    except ValueError:
        with pytest.raises(NotJson):
            json_text.read(text.encode())
    else:
        json_text.read(text.encode())


def _no_constant(name: str) -> None:
    raise ValueError(name)
