"""PATCH: the changes to an object, in one of four languages."""

from __future__ import annotations

from eachnode.server.kind import Answer, Call
from eachnode.server.schema.patching import patched
from eachnode.server.verbs import refusals
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import track
from eachnode.server.verbs.update import replace


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
    before = served.outward(old.document.tree())
    tree = patched(served.kind, served.outward(old.document.tree()), body, language, call)
    track(served.kind, tree, before, call, subresource)
    return replace(registry, call, served, tree, old, subresource)
