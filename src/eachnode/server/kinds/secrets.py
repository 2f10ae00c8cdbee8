"""Secrets: ConfigMaps with a type, and values in base64 that `stringData` spares the writer."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from eachnode.objects.resources import SECRETS
from eachnode.server.field_errors import FieldError, invalid, required, too_long
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.certificates import key_pair_problem
from eachnode.server.kinds.config_maps import DATA_LIMIT, decoded_size, validate_keys, validate_seal
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of
from eachnode.server.schema import json_text
from eachnode.server.schema.canonical_form import mismatch
from eachnode.server.schema.json_text import NotJson

_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"
_TLS = "kubernetes.io/tls"
_REQUIRED_KEYS: Mapping[str, tuple[str, ...]] = {_TLS: ("tls.crt", "tls.key")}
_JSON_KEYS: Mapping[str, str] = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _default(tree: Tree) -> None:
    for key, text in tree.pop("stringData", {}).items():
        tree.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()
    tree["type"] = tree.get("type") or "Opaque"


def _validate(tree: Tree) -> Iterator[FieldError]:
    data = tree.get("data", {})
    yield from validate_keys(data, "data")
    if sum(map(decoded_size, data.values())) > DATA_LIMIT:
        yield too_long("data", DATA_LIMIT)
    kind = tree.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not tree["metadata"].get("annotations", {}).get(_ACCOUNT_ANNOTATION):
            yield required(f"metadata.annotations[{_ACCOUNT_ANNOTATION}]")
    elif kind in _JSON_KEYS:
        yield from _validate_json(data, _JSON_KEYS[kind])
    elif kind == "kubernetes.io/basic-auth":
        if not {"username", "password"} & data.keys():
            yield required("data[username]")
            yield required("data[password]")
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            yield required("data[ssh-privatekey]")
    else:
        for key in _REQUIRED_KEYS.get(kind, ()):
            if key not in data:
                yield required(f"data[{key}]")


def _validate_json(data: Mapping[str, str], key: str) -> Iterator[FieldError]:
    path = f"data[{key}]"
    if key not in data:
        yield required(path)
        return
    try:
        tree = json_text.read(base64.b64decode(data[key]))
    except NotJson as error:
        yield invalid(path, _REDACTED, str(error))
        return
    if not isinstance(tree, dict | None):
        yield invalid(path, _REDACTED, mismatch(tree, "map[string]interface {}", None))


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    if new.get("type") != old.get("type"):
        yield invalid("type", new.get("type", ""), "field is immutable")
    yield from validate_seal(new, old, ("data",))


def _warn(new: Tree, _old: Tree | None) -> Iterator[str]:
    """A key that is not the certificate's, or no such thing at all."""
    if new.get("type") == _TLS:
        data = new.get("data", {})
        certificate, key = (base64.b64decode(data.get(name, "")) for name in _REQUIRED_KEYS[_TLS])
        if problem := key_pair_problem(certificate, key):
            yield problem


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), tree.get("type", ""), len(tree.get("data", ())), age_of(tree, now)]


SECRET = Kind(
    resource=SECRETS,
    singular="secret",
    definition="io.k8s.api.core.v1.Secret",
    default=_default,
    validate=_validate,
    validate_update=_validate_update,
    validate_name=name_rules.dns_subdomain,
    columns=(
        NAME,
        Column("Type", description="What the secret is for."),
        Column("Data", description="How many entries it holds."),
        AGE,
    ),
    warn=_warn,
    row=_row,
    fields={"type": lambda tree: str(tree.get("type", ""))},
)
