"""PUT: an object in place of the one there is, or its status, or another part that has rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields
from typing import Literal

from eachnode.objects.go_text import go_quoted
from eachnode.objects.status import ApiError, BadRequest
from eachnode.server.field_errors import invalid, refusal
from eachnode.server.kind import Answer, Call, Tree
from eachnode.server.schema import decode
from eachnode.server.store import Stored
from eachnode.server.verbatim import keep_text
from eachnode.server.verbs import metadata, refusals
from eachnode.server.verbs.create import create_tree
from eachnode.server.verbs.registry import Registry, Served, admit, judge
from eachnode.server.verbs.shaping import as_given, keep_times, track
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
    keep_text(served.kind.verbatim, tree, body, media)
    about = tree.setdefault("metadata", {})
    metadata.settle_namespace(about, served, namespace)
    check_name(about.get("name", ""), name)
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        if not served.kind.create_on_update or subresource:
            raise refusals.not_found(served.resource, name)
        track(served.kind, tree, None, call)
        metadata.wipe(about)
        about.pop("resourceVersion", None)
        return create_tree(registry, call, served, tree)
    _check_uid(served, about, old, call)
    before = as_it_was(served, old)
    track(served.kind, tree, before, call, subresource)
    return replace(registry, call, served, tree, before, old, subresource)


def as_it_was(served: Served, old: Stored) -> Tree:
    """A stored object as what is to replace it is compared with."""
    before = served.outward(old.document.tree())
    keep_text(served.kind.verbatim, before, bytes(old.document.raw))
    return before


def replace(
    registry: Registry, call: Call, served: Served, tree: Tree, before: Tree, old: Stored, subresource: str
) -> Answer:
    """Makes the tree the new version of an object, if the rules allow it."""
    about = tree.setdefault("metadata", {})
    metadata.settle_namespace(about, served, old.namespace)
    metadata.drop_repeated_owners(about, call)
    _check_version(served, about, old)
    _shape(registry, call, served, tree, before, subresource)
    return settle(registry, call, served, tree, before, old)


def settle(registry: Registry, call: Call, served: Served, tree: Tree, before: Tree, old: Stored) -> Answer:
    """Stores what an object became: nothing when it is the same, and not at all when nothing holds it any more."""
    if _is_over(served, tree, before):
        # Who took the last finalizer off gets to see the object without it, though it was never stored like that.
        answer = Answer(put(registry, served, tree, old, with_fields(call, dry_run=True)).document)
        take_away(registry, served, old, call)
        return answer
    keep_times(tree, before)
    if unchanged(tree, before):
        return Answer(show(served, old))
    return Answer(put(registry, served, tree, old, call).document)


def modify(
    registry: Registry, call: Call, served: Served, namespace: str, name: str, change: Callable[[Tree], None]
) -> Answer:
    """Changes the newest state of an object without asking its kind's rules."""
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    before = served.outward(old.document.tree())
    tree = served.outward(old.document.tree())
    change(tree)
    return settle(registry, call, served, tree, before, old)


def check_name(said: str, name: str) -> None:
    """Refuses an object that has another name than the path."""
    if not said:
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if said != name:
        raise BadRequest(f"the name of the object ({said}) does not match the name on the URL ({name})")


def _check_uid(served: Served, about: Tree, old: Stored, call: Call) -> None:
    said = about.get("uid", "")
    if said and said != old.uid:
        base = "" if call.dry_run else "/registry"  # A trial does not get as far as the storage, which adds this.
        reason = (
            f"StorageError: invalid object, Code: 4, Key: {base}{refusals.store_key(served.kind, old.path)}, "
            f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {said}, "
            f"UID in object meta: {old.uid}"
        )
        raise refusals.conflict(served.resource, old.name, reason)


def _check_version(served: Served, about: Tree, old: Stored) -> None:
    """Raises Conflict unless the writer saw the newest version, or does not mind."""
    said = about.get("resourceVersion") or "0"
    if not said.isdigit():
        # The reference has no better code for it either.
        raise ApiError(f"strconv.ParseUint: parsing {go_quoted(said)}: invalid syntax", reason="")
    if int(said) == 0 and not served.kind.unconditional_update:
        about_list = with_fields(served.resource, kind=served.resource.plural)
        raise refusal(about_list, old.name, [invalid("metadata.resourceVersion", 0, "must be specified for an update")])
    if int(said) not in (0, old.version):
        raise refusals.conflict(served.resource, old.name, refusals.MODIFIED)
    about["resourceVersion"] = str(old.version)


def _shape(registry: Registry, call: Call, served: Served, tree: Tree, before: Tree, subresource: str) -> None:
    """Admits and judges what an object is to become."""
    kind, rules = served.kind, served.rules(subresource)
    metadata.keep(tree["metadata"], before["metadata"])
    if not subresource:
        admit(registry, kind, tree, before, call)
    rules.prepare(tree, before, call)
    with as_given(kind, call):
        errors = [*metadata.validate_update(tree["metadata"], before["metadata"], kind)]
        if not subresource and not kind.whole_update:
            errors += kind.validate(tree)
        errors += rules.validate(tree, before)
    if errors:
        raise refusal(served.judged_as, tree["metadata"]["name"], errors)
    if not subresource:
        judge(registry, kind, tree, before, call)
        call.warnings += kind.warn(tree, before)


def _is_over(served: Served, new: Tree, old: Tree) -> bool:
    """Whether nothing holds an object any more whose deletion has begun."""
    about = old["metadata"]
    if new["metadata"].get("finalizers") or "deletionTimestamp" not in about:
        return False
    if served.kind.held is not None and served.kind.held(new):
        return False
    return not about.get("deletionGracePeriodSeconds")
