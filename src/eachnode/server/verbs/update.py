"""PUT: an object in place of the one there is, or its status, or another part that has rules of its own."""

from __future__ import annotations

from typing import Literal

from eachnode.objects.status import BadRequest
from eachnode.server.field_errors import refusal
from eachnode.server.kind import Answer, Call, Subresource, Tree
from eachnode.server.store import Stored
from eachnode.server.verbs import metadata, refusals
from eachnode.server.verbs.registry import Registry, Served, admit
from eachnode.server.verbs.shaping import decode, track
from eachnode.server.verbs.writing import put, show, take_away, unchanged


def update(
    registry: Registry,
    call: Call,
    served: Served,
    namespace: str,
    name: str,
    body: bytes,
    *,
    subresource: str = "",
    media: Literal["json", "yaml"] = "json",
) -> Answer:
    """Replaces an object, or the part of it that the subresource stands for."""
    tree = decode(served.kind, body, call, media)
    about = tree.setdefault("metadata", {})
    metadata.settle_namespace(about, served, namespace)
    if about.get("name", "") != name:
        raise BadRequest(
            f"the name of the object ({about.get('name', '')}) does not match the name on the URL ({name})"
        )
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    return replace(registry, call, served, tree, old, subresource=subresource)


def replace(
    registry: Registry, call: Call, served: Served, tree: Tree, old: Stored, *, subresource: str = ""
) -> Answer:
    """Makes the tree the new version of an object, if the rules allow it."""
    before = served.outward(old.document.tree())
    _check_version(served, tree["metadata"], old)
    metadata.drop_repeated_owners(tree["metadata"], call)
    track(served.kind, tree, before, call, subresource)
    _shape(registry, call, served, tree, before, subresource)
    if unchanged(tree, before):
        return Answer(show(served, old))
    if _is_over(served, tree, before):
        take_away(registry, served, old, call)
        return Answer(show(served, old))
    return put(registry, served, tree, old, call)


def _check_version(served: Served, about: Tree, old: Stored) -> None:
    version = about.get("resourceVersion") or "0"
    if version == "0":
        about["resourceVersion"] = str(old.version)
    elif version != str(old.version):
        raise refusals.conflict(served.resource, old.name, refusals.MODIFIED)


def _shape(registry: Registry, call: Call, served: Served, tree: Tree, before: Tree, subresource: str) -> None:
    """Fills in, admits and judges what an object is to become."""
    kind = served.kind
    kind.default(tree)
    metadata.keep(tree["metadata"], before["metadata"])
    rules = _rules(served, subresource)
    rules.prepare(tree, before, call)
    admit(registry, kind, tree, before, call)
    errors = [*metadata.validate_update(tree["metadata"], before["metadata"])]
    if not subresource and not kind.whole_update:
        errors += kind.validate(tree)
    errors += rules.validate(tree, before)
    if errors:
        raise refusal(served.resource, tree["metadata"]["name"], errors)
    if not subresource:
        call.warnings += kind.warn(tree, before)


def _rules(served: Served, subresource: str) -> Subresource:
    kind = served.kind
    if not subresource:
        return Subresource(kind=kind.resource.kind, prepare=kind.prepare_update, validate=kind.validate_update)
    if subresource == "status" and kind.has_status:
        return Subresource(kind=kind.resource.kind, prepare=kind.prepare_status, validate=kind.validate_status)
    rules = served.subresources.get(subresource)
    if rules is None:
        raise refusals.no_such_resource()
    return rules


def _is_over(served: Served, new: Tree, old: Tree) -> bool:
    """Whether nothing holds an object any more whose deletion has begun."""
    about = old["metadata"]
    if new["metadata"].get("finalizers") or "deletionTimestamp" not in about:
        return False
    if served.kind.held is not None and served.kind.held(new):
        return False
    return not about.get("deletionGracePeriodSeconds")
