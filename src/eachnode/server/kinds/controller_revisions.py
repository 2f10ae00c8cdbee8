"""ControllerRevisions as a kind: recorded templates, whose data never changes, not even in how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from eachnode.objects.resources import CONTROLLER_REVISIONS
from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.rows import AGE, NAME, NONE, age_of, name_of
from eachnode.server.verbatim import text_of

Errors = Iterator[FieldError]


def _validate(tree: Tree) -> Errors:
    yield from fields.not_negative("revision", tree.get("revision"))
    data = tree.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def _validate_update(new: Tree, old: Tree) -> Errors:
    yield from fields.not_negative("revision", new.get("revision"))
    text = text_of(new.get("data"))
    if text != text_of(old.get("data")):
        as_written = msgspec.Raw(msgspec.json.format(text, indent=-1))
        yield invalid("data", as_written, "field is immutable")


def _controller(tree: Tree) -> str:
    for owner in tree["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = f"{owner['kind']}.{group}" if group else owner["kind"]
            return f"{kind.lower()}/{owner['name']}"
    return NONE


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), _controller(tree), tree.get("revision", 0), age_of(tree, now)]


CONTROLLER_REVISIONS_KIND = Kind(
    resource=CONTROLLER_REVISIONS,
    singular="controllerrevision",
    definition="io.k8s.api.apps.v1.ControllerRevision",
    verbatim="data",
    validate=_validate,
    validate_update=_validate_update,
    whole_update=True,
    validate_name=name_rules.dns_subdomain,
    columns=(
        NAME,
        Column("Controller", description="Controller of the object"),
        Column("Revision", description="The number of the revision: higher ones are newer."),
        AGE,
    ),
    row=_row,
)
