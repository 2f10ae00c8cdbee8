"""What the selectors of a query mean for a kind."""

from __future__ import annotations

from eachnode.objects.selectors import parse_field_selector, parse_label_selector
from eachnode.objects.status import BadRequest
from eachnode.server.kind import Kind
from eachnode.server.store import Selection
from eachnode.server.store.selection import EVERY_LABEL
from eachnode.server.verbs.registry import Served

_KNOWN_TO_ALL = ("metadata.name", "metadata.namespace")


def selection(served: Served, namespace: str, labels: str, fields: str) -> Selection:
    """What the selectors of a query mean; raises BadRequest when they mean nothing."""
    try:
        wanted = parse_field_selector(fields) if fields else ()
        chosen = parse_label_selector(labels) if labels else EVERY_LABEL
    except ValueError as error:
        raise BadRequest(str(error)) from None
    for requirement in wanted:
        _check_field(served.kind, requirement.field)
    return Selection(served.namespace(namespace), chosen, wanted)


def _check_field(kind: Kind, field: str) -> None:
    if field in _KNOWN_TO_ALL or field in kind.fields:
        return
    if kind.fields or not kind.definition:
        raise BadRequest(f"field label not supported: {field}")
    raise BadRequest(f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"')
