"""The seam between the verbs and the field tables."""

from __future__ import annotations

from typing import Literal

import msgspec

from eachnode.objects.go_text import go_json
from eachnode.objects.status import BadRequest
from eachnode.server.kind import Call, Kind, Tree

encode = go_json


def decode(kind: Kind, raw: bytes, call: Call, media: Literal["json", "yaml"]) -> Tree:  # noqa: ARG001
    try:
        tree = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise BadRequest(str(error)) from None
    tree.setdefault("kind", kind.resource.kind)
    tree.setdefault("apiVersion", kind.resource.api_version)
    return tree


def patch_merge(tree: Tree, patch: Tree) -> Tree:
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict):
            known = tree.get(key)
            tree[key] = patch_merge(known if isinstance(known, dict) else {}, value)
        else:
            tree[key] = value
    return tree


def canonical(definition: str, tree: Tree) -> Tree:
    return tree


def track(kind: Kind, new: Tree, old: Tree | None, call: Call, subresource: str = "") -> None:
    return None
