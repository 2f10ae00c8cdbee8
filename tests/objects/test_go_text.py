"""Texts as Go writes them."""

from __future__ import annotations

import pytest

from eachnode.objects.go_text import go_quoted


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain ü 😀", '"plain ü 😀"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x01\x7f", '"\\x01\\x7f"'),
        ("\u2028\U000e0001", '"\\u2028\\U000e0001"'),
    ],
)
def test_what_cannot_be_seen_is_escaped(text: str, quoted: str) -> None:
    assert go_quoted(text) == quoted
