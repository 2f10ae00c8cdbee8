"""ConfigMaps: data by key, sealed for good when marked immutable."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eachnode.objects.formats import config_key
from eachnode.objects.resources import CONFIG_MAPS
from eachnode.server.field_errors import FieldError, forbidden, invalid, too_long
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of

DATA_LIMIT = 1024 * 1024


def validate_keys(data: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """The keys of a ConfigMap or a Secret."""
    for key in sorted(data):
        for problem in config_key(key):
            yield invalid(f"{path}[{key}]", key, problem)


def decoded_size(text: str) -> int:
    """How many bytes stand behind a base64 text; that it is one was checked when it was read."""
    return len(base64.b64decode(text))


def validate_seal(new: Tree, old: Tree, fields: Iterable[str]) -> Iterator[FieldError]:
    """What an immutable ConfigMap or Secret keeps."""
    if not old.get("immutable"):
        return
    sealed = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        yield forbidden("immutable", sealed)
    for field in fields:
        if new.get(field) != old.get(field):
            yield forbidden(field, sealed)


def _validate(tree: Tree) -> Iterator[FieldError]:
    data, binary = tree.get("data") or {}, tree.get("binaryData") or {}
    for key in sorted(data):
        for problem in config_key(key):
            yield invalid(f"data[{key}]", key, problem)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from validate_keys(binary, "binaryData")
    size = sum(len(text.encode()) for text in data.values()) + sum(map(decoded_size, binary.values()))
    if size > DATA_LIMIT:
        yield too_long("", DATA_LIMIT)


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    return validate_seal(new, old, ("data", "binaryData"))


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), len(tree.get("data") or ()) + len(tree.get("binaryData") or ()), age_of(tree, now)]


CONFIG_MAP = Kind(
    resource=CONFIG_MAPS,
    singular="configmap",
    definition="io.k8s.api.core.v1.ConfigMap",
    short_names=("cm",),
    validate=_validate,
    validate_update=_validate_update,
    validate_name=name_rules.dns_subdomain,
    columns=(NAME, Column("Data", description="How many entries it holds."), AGE),
    row=_row,
)
