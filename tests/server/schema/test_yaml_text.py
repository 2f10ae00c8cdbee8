"""YAML means what it means to the reference, and cannot be made to explode."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.schema import yaml_text
from eachnode.server.schema.yaml_text import NotYaml

SCALARS: dict[str, Any] = {
    "yes": True,
    "off": False,
    "~": None,
    "010": 8,
    "0x1f": 31,
    "0b11": 3,
    "1_000": 1000,
    "1.5": 1.5,
    "1e3": 1000,
    "1e30": 1e30,
    "2001-01-01": "2001-01-01",
    "12:30:45": "12:30:45",
    "'5'": "5",
    "!!str 5": "5",
    "!!int '5'": 5,
    "!!binary aGk=": "hi",
    "1.2.3": "1.2.3",
    "-": [None],
}


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_a_scalar_means_what_it_means_to_the_reference(text: str, value: Any) -> None:
    found = yaml_text.read(f"a: {text}\n".encode()) if text != "-" else {"a": yaml_text.read(b"-\n")}
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_aliases_and_merges_are_copies() -> None:
    tree = yaml_text.read(b"base: &b {x: 1, z: [2]}\none: *b\ntwo: {<<: *b, x: 3}\n")
    assert tree["two"] == {"x": 3, "z": [2]}
    tree["one"]["z"].append(9)
    assert tree["base"]["z"] == [2]


def test_keys_become_texts() -> None:
    assert yaml_text.read(b"1: a\ntrue: b\n1.5: c\n") == {"1": "a", "true": "b", "1.5": "c"}


def test_repeated_keys_are_told_by_their_lines() -> None:
    assert yaml_text.repeated_keys_in(yaml_text.read(b"a: 1\nb: {c: 1, c: 2}\na: 2\n")) == [
        'line 2: key "c" already set in map',
        'line 3: key "a" already set in map',
    ]
    assert yaml_text.repeated_keys_in(yaml_text.read(b"a: 1\na:\n  b: 1\n")) == ['line 3: key "a" already set in map']


def test_only_the_first_document_counts() -> None:
    assert yaml_text.read(b"a: 1\n---\nb: 2\n") == {"a": 1}
    assert yaml_text.read(b"") is None


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 10)) for name in b"bcdefghi"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BOMB, "yaml: document contains excessive aliasing"),
        (b"[" * 5000, "yaml: exceeded max depth"),
        (b"a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a:\n  b: c\n d: e\n", "yaml: line 2: did not find expected key"),
        (b"a: b: c\n", "yaml: mapping values are not allowed in this context"),
        (b"\n\na: b: c\n", "yaml: line 3: mapping values are not allowed in this context"),
        (b"a: *nobody\n", "yaml: unknown anchor 'nobody' referenced"),
        (b"a: .inf\n", "json: unsupported value: +Inf"),
        (b"a: .nan\nb: -.inf\n", "json: unsupported value: NaN"),
        (b"a: .inf\nb: [c\n", "yaml: line 2: did not find expected ',' or ']'"),
        (b"? [a]\n: b\n", "unsupported map key of type: []interface {}"),
        (b"a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
    ],
    ids=[
        "bomb",
        "deep",
        "open",
        "indent",
        "first line",
        "token",
        "alias",
        "infinity",
        "no number",
        "not read to its end",
        "key",
        "tag",
    ],
)
def test_what_cannot_be_json_is_refused(text: bytes, sentence: str) -> None:
    with pytest.raises(NotYaml) as refusal:
        yaml_text.read(text)
    assert str(refusal.value) == sentence
