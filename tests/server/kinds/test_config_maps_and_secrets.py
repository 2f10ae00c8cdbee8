"""ConfigMaps and Secrets as kinds."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from eachnode.objects.status import BadRequest
from eachnode.server.kind import Kind, Tree
from eachnode.server.kinds.config_maps import CONFIG_MAP, DATA_LIMIT
from eachnode.server.kinds.secrets import SECRET

from .judging import cells, created, faults, update_faults

KEY_SENTENCE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
SEALED = "Forbidden: field is immutable when `immutable` is set"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data": {"a.b-C_1": "v"}}, []),
        ({"data": {"a b": "v"}}, [("data[a b]", f'Invalid value: "a b": {KEY_SENTENCE}')]),
        ({"data": {"..": "v"}}, [("data[..]", "Invalid value: \"..\": must not be '..'")]),
        ({"data": {"..x": "v"}}, [("data[..x]", "Invalid value: \"..x\": must not start with '..'")]),
        (
            {"data": {"k" * 254: "v"}},
            [(f"data[{'k' * 254}]", f'Invalid value: "{"k" * 254}": must be no more than 253 characters')],
        ),
        (
            {"data": {"k": "v"}, "binaryData": {"k": "dg=="}},
            [("data[k]", 'Invalid value: "k": duplicate of key present in binaryData')],
        ),
        ({"binaryData": {"a b": "dg=="}}, [("binaryData[a b]", f'Invalid value: "a b": {KEY_SENTENCE}')]),
        ({"data": {"k": "v" * DATA_LIMIT}}, []),
        ({"data": {"k": "v" * (DATA_LIMIT + 1)}}, [("", "Too long: may not be more than 1048576 bytes")]),
    ],
)
def test_what_is_wrong_with_a_config_map(fields: Tree, expected: Any) -> None:
    assert faults(CONFIG_MAP, **fields) == expected


@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET])
@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"immutable": True, "data": {"k": "dg=="}}, []),
        ({"immutable": False, "data": {"k": "dg=="}}, [("immutable", SEALED)]),
        ({"immutable": True, "data": {"k": "dg==", "l": "dg=="}}, [("data", SEALED)]),
        ({}, [("immutable", SEALED), ("data", SEALED)]),
    ],
)
def test_a_sealed_one_stays_as_it_is(kind: Kind, new: Tree, expected: Any) -> None:
    old = created(kind, immutable=True, data={"k": "dg=="})
    assert update_faults(kind, old, **new) == expected


def test_an_open_one_may_be_sealed() -> None:
    assert update_faults(CONFIG_MAP, created(CONFIG_MAP, data={"k": "v"}), immutable=True, data={"k": "w"}) == []


def test_string_data_is_folded_into_data_and_wins() -> None:
    tree = created(SECRET, stringData={"k": "v"}, data={"k": encoded("old"), "l": encoded("w")})
    assert tree["data"] == {"k": "dg==", "l": encoded("w")}
    assert "stringData" not in tree
    assert tree["type"] == "Opaque"


@pytest.mark.parametrize(("text", "index"), [("not base64!", 3), ("abc", 0), ("dg==dg", 4), ("abcde", 4)])
def test_data_that_is_no_base64_is_a_bad_request(text: str, index: int) -> None:
    with pytest.raises(BadRequest) as refused:
        created(SECRET, data={"k": text})
    assert refused.value.code == 400
    sentence = 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte'
    assert refused.value.message == f"{sentence} {index}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "kubernetes.io/tls"}, [("data[tls.crt]", "Required value"), ("data[tls.key]", "Required value")]),
        (
            {"type": "kubernetes.io/basic-auth"},
            [("data[username]", "Required value"), ("data[password]", "Required value")],
        ),
        ({"type": "kubernetes.io/basic-auth", "data": {"password": ""}}, []),
        (
            {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
            [("data[ssh-privatekey]", "Required value")],
        ),
        ({"type": "kubernetes.io/dockercfg"}, [("data[.dockercfg]", "Required value")]),
        ({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "{}"}}, []),
        (
            {"type": "kubernetes.io/service-account-token"},
            [("metadata.annotations[kubernetes.io/service-account.name]", "Required value")],
        ),
        ({"type": "example.com/own"}, []),
        ({"data": {"k": encoded("v" * (DATA_LIMIT + 1))}}, [("data", "Too long: may not be more than 1048576 bytes")]),
    ],
)
def test_what_is_wrong_with_a_secret(fields: Tree, expected: Any) -> None:
    assert faults(SECRET, **fields) == expected


def test_a_broken_configuration_is_refused_without_showing_it() -> None:
    found = faults(SECRET, type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{hush"})
    assert [field for field, _ in found] == ["data[.dockerconfigjson]"]
    assert found[0][1].startswith('Invalid value: "<secret contents redacted>": ')
    assert "hush" not in msgspec.json.encode(found).decode()


def test_the_type_of_a_secret_stays() -> None:
    found = update_faults(SECRET, created(SECRET), type="example.com/own")
    assert found == [("type", 'Invalid value: "example.com/own": field is immutable')]


def test_rows_count_entries() -> None:
    tree = created(CONFIG_MAP, data={"a": "1", "b": "2"}, binaryData={"c": "dg=="})
    assert cells(CONFIG_MAP, tree) == {"Name": "x", "Data": 3, "Age": "<unknown>"}
    secret = created(SECRET, data={"a": "dg=="})
    assert cells(SECRET, secret) == {"Name": "x", "Type": "Opaque", "Data": 1, "Age": "<unknown>"}


def test_secrets_can_be_selected_by_type() -> None:
    assert SECRET.fields["type"](created(SECRET, type="example.com/own")) == "example.com/own"
