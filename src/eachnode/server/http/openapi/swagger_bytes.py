"""An OpenAPI 2 document in the protobuf form in which older kubectl asks for it.

The messages are those of gnostic's `openapi.v2` package; only what our documents use is written. A message is a dict of
field numbers here, so that the numbers stand in one place each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

ASKED_AS = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"  # An @ is not legal in what comes back.

_Message = Iterable[tuple[int, bytes | str | bool | None]]
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def swagger_bytes(document: Mapping[str, Any]) -> bytes:
    """The whole document."""
    info = _message([(1, document["info"]["title"]), (2, document["info"]["version"])])
    paths = _message((2, _named(path, _path_item(item))) for path, item in document["paths"].items())
    definitions = _message((1, _named(name, _schema(tree))) for name, tree in document["definitions"].items())
    return _message([(1, document["swagger"]), (2, info), (8, paths), (9, definitions)])


def _path_item(item: Mapping[str, Any]) -> bytes:
    operations = [(number, _operation(item[method])) for method, number in _METHODS.items() if method in item]
    parameters = [(9, _parameter(tree)) for tree in item.get("parameters", ())]
    return _message([*operations, *parameters])


def _operation(tree: Mapping[str, Any]) -> bytes:
    responses = _message((1, _named(code, _response(answer))) for code, answer in tree["responses"].items())
    return _message(
        [
            (5, tree["operationId"]),
            *((6, media) for media in tree["produces"]),
            *((7, media) for media in tree["consumes"]),
            *((8, _parameter(parameter)) for parameter in tree["parameters"]),
            (9, responses),
            *_extensions(13, tree),
        ]
    )


def _response(tree: Mapping[str, Any]) -> bytes:
    schema = _message([(1, _schema(tree["schema"]))])
    return _message([(1, _message([(1, tree["description"]), (2, schema)]))])


def _parameter(tree: Mapping[str, Any]) -> bytes:
    """A ParametersItem; query, path and body parameters are messages of their own."""
    if tree["in"] == "body":
        body = _message([(2, tree["name"]), (3, "body"), (4, tree["required"]), (5, _schema(tree["schema"]))])
        return _message([(1, _message([(1, body)]))])
    if tree["in"] == "path":
        plain = _message([(1, True), (2, "path"), (4, tree["name"]), (5, tree["type"]), (19, True)])
        return _message([(1, _message([(2, _message([(4, plain)]))]))])
    plain = _message([(2, "query"), (4, tree["name"]), (6, tree["type"]), (20, True)])
    return _message([(1, _message([(2, _message([(3, plain)]))]))])


def _schema(tree: Mapping[str, Any]) -> bytes:
    properties = tree.get("properties")
    more = tree.get("additionalProperties")
    items = tree.get("items")
    type_ = tree.get("type")
    return _message(
        [
            (1, tree.get("$ref")),
            (2, tree.get("format")),
            (4, tree.get("description")),
            *((19, name) for name in tree.get("required", ())),
            *((20, _yaml(value)) for value in tree.get("enum", ())),
            (21, _additional(more) if more is not None else None),
            (22, _message([(1, type_)]) if isinstance(type_, str) else None),
            (23, _message([(1, _schema(items))]) if isinstance(items, dict) else None),
            (
                25,
                _message((1, _named(name, _schema(value))) for name, value in properties.items())
                if properties
                else None,
            ),
            *_extensions(31, tree),
        ]
    )


def _additional(value: Any) -> bytes:
    return _message([(2, value)]) if isinstance(value, bool) else _message([(1, _schema(value))])


def _extensions(number: int, tree: Mapping[str, Any]) -> list[tuple[int, bytes]]:
    return [(number, _named(name, _yaml(value))) for name, value in tree.items() if name.startswith("x-")]


def _yaml(value: Any) -> bytes:
    """An Any message: JSON is YAML too."""
    return _message([(2, msgspec.json.encode(value) + b"\n")])


def _named(name: str, value: bytes) -> bytes:
    return _message([(1, name), (2, value)])


def _message(fields: _Message) -> bytes:
    """A protobuf message of strings, messages and truths; what is None or false is left out."""
    parts: list[bytes] = []
    for number, value in fields:
        if value is None or value is False:
            continue
        if value is True:
            parts += (_varint(number << 3), b"\x01")
            continue
        data = value.encode() if isinstance(value, str) else value
        parts += (_varint(number << 3 | 2), _varint(len(data)), data)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
