"""PATCH: the changes to an object, in one of four languages."""

from __future__ import annotations

import msgspec

from eachnode.objects.status import BadRequest, UnsupportedMediaType
from eachnode.server.kind import Answer, Call
from eachnode.server.verbs import refusals
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import patch_merge
from eachnode.server.verbs.update import replace

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch(
    registry: Registry,
    call: Call,
    served: Served,
    namespace: str,
    name: str,
    body: bytes,
    language: str,
    *,
    subresource: str = "",
) -> Answer:
    """Changes an object, or the part of it that the subresource stands for."""
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    if language not in (MERGE_PATCH, STRATEGIC_PATCH):
        raise UnsupportedMediaType("415: Unsupported Media Type")
    try:
        changes = msgspec.json.decode(body, type=dict)
    except msgspec.DecodeError as error:
        raise BadRequest(str(error)) from None
    tree = patch_merge(served.outward(old.document.tree()), changes)
    return replace(registry, call, served, tree, old, subresource=subresource)
