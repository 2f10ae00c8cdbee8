"""PATCH: the changes to an object, in one of four languages."""

from __future__ import annotations

from eachnode.server.kind import Answer, Call
from eachnode.server.schema import APPLY, applied, patched
from eachnode.server.schema.ownership import unmanaged
from eachnode.server.verbatim import keep_text, write_anew
from eachnode.server.verbs import metadata, refusals
from eachnode.server.verbs.create import create_tree
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import track
from eachnode.server.verbs.update import as_it_was, check_name, replace


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
    if language == APPLY:
        return _apply(registry, call, served, namespace, name, body, subresource)
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    before = as_it_was(served, old)
    tree = patched(served.kind, served.outward(old.document.tree()), body, language, call)
    metadata.settle_namespace(tree["metadata"], served, old.namespace)
    check_name(tree["metadata"].get("name", ""), name)
    track(served.kind, tree, before, call, subresource)
    return replace(registry, call, served, tree, before, old, subresource)


def _apply(
    registry: Registry, call: Call, served: Served, namespace: str, name: str, body: bytes, subresource: str
) -> Answer:
    """Lays a configuration over an object, which comes into being if there is none."""
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None and subresource:
        raise refusals.not_found(served.resource, name)
    live = None if old is None else served.outward(old.document.tree())
    tree = applied(served.kind, live, body, call, subresource)
    if old is not None and live is not None and unmanaged(tree) == unmanaged(live):
        keep_text(served.kind.verbatim, tree, bytes(old.document.raw))  # Who changes nothing rewrites nothing.
    else:
        write_anew(served.kind.verbatim, tree)
    served.kind.default(tree)
    about = tree["metadata"]
    metadata.settle_namespace(about, served, namespace)
    check_name(about.get("name", ""), name)
    if old is not None:
        return replace(registry, call, served, tree, as_it_was(served, old), old, subresource)
    if about.get("uid"):
        reason = f"uid mismatch: the provided object specified uid {about['uid']}, and no existing object was found"
        raise refusals.conflict(served.resource, name, reason)
    metadata.wipe(about)
    about.pop("resourceVersion", None)
    metadata.drop_repeated_owners(about, call)
    return create_tree(registry, call, served, tree)
