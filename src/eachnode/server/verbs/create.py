"""POST: a new object."""

from __future__ import annotations

from typing import Literal

from eachnode.objects.clock import name_suffix, new_uid, timestamp
from eachnode.objects.status import ApiError
from eachnode.server.field_errors import refusal
from eachnode.server.kind import Answer, Call, Tree
from eachnode.server.schema import decode
from eachnode.server.verbatim import keep_text
from eachnode.server.verbs import metadata, refusals
from eachnode.server.verbs.registry import Registry, Served, admit, judge
from eachnode.server.verbs.shaping import as_given, track
from eachnode.server.verbs.writing import put

_LONGEST_BASE = 58  # Of a generated name: five letters follow, and 63 is the most that fits everywhere.
_ATTEMPTS = 8


def create(
    registry: Registry, call: Call, served: Served, namespace: str, body: bytes, media: Literal["json", "yaml"] = "json"
) -> Answer:
    """Creates the object that the body describes."""
    tree = decode(served.kind, body, call, media)
    keep_text(served.kind.verbatim, tree, body, media)
    about = tree.setdefault("metadata", {})
    metadata.wipe(about)
    metadata.settle_namespace(about, served, namespace)
    metadata.drop_repeated_owners(about, call)
    track(served.kind, tree, None, call)
    return create_tree(registry, call, served, tree)


def create_tree(registry: Registry, call: Call, served: Served, tree: Tree) -> Answer:
    """Creates this object."""
    about = tree["metadata"]
    version = about.pop("resourceVersion", "")
    about["uid"] = new_uid(registry.chance)
    about["creationTimestamp"] = timestamp(call.now)
    if about.get("generateName") and not about.get("name"):
        about["name"] = _free_name(registry, served, about)
    _shape(registry, call, served, tree)
    if version.isdigit() and int(version):
        # The reference has no better code for it either.
        raise ApiError("resourceVersion should not be set on objects to be created", reason="")
    known = served.shelf.get(about.get("namespace", ""), about["name"])
    if known is not None:
        leaving = "deletionTimestamp" in known.document.tree()["metadata"]
        generated = bool(about.get("generateName"))
        raise refusals.already_exists(served.resource, about["name"], generated=generated, leaving=leaving)
    return Answer(put(registry, served, tree, None, call).document, 201)


def _shape(registry: Registry, call: Call, served: Served, tree: Tree) -> None:
    """Admits and judges a new object."""
    kind = served.kind
    admit(registry, kind, tree, None, call)
    kind.prepare_create(tree, call)
    with as_given(kind, call):
        errors = [*metadata.validate(tree["metadata"], kind), *kind.validate(tree)]
    if errors:
        raise refusal(served.judged_as, tree["metadata"].get("name", ""), errors)
    judge(registry, kind, tree, None, call)
    call.warnings += kind.warn(tree, None)


def _free_name(registry: Registry, served: Served, about: Tree) -> str:
    """A name with this prefix that nobody has, as far as a few attempts find one."""
    base = about["generateName"][:_LONGEST_BASE]
    name = ""
    for _ in range(_ATTEMPTS):
        name = base + name_suffix(registry.chance)
        if served.shelf.get(about.get("namespace", ""), name) is None:
            break
    return name
