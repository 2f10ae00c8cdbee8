"""Containers added to a pod that runs, to look into it: they may come, and then stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.server.field_errors import NOWHERE, FieldError, forbidden
from eachnode.server.kind import Call, Subresource, Tree
from eachnode.server.kinds.pods.equality import same
from eachnode.server.kinds.pods.gates import drop_disabled
from eachnode.server.kinds.pods.leniency import judged
from eachnode.server.kinds.pods.preparation import count_generation, keep
from eachnode.server.kinds.pods.update import diff_of, validate_kept_annotations
from eachnode.server.kinds.pods.validation.annotations import MIRROR
from eachnode.server.kinds.pods.validation.spec import validate_pod

_PATH = "spec.ephemeralContainers"


def keep_the_rest(new: Tree, old: Tree) -> None:
    """A subresource that changes a part of the spec changes nothing else, metadata included."""
    keep(new, old, "status")
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        keep(new["metadata"], old["metadata"], field)


def _prepare(new: Tree, old: Tree, _call: Call) -> None:
    wanted = (new.get("spec") or {}).get("ephemeralContainers")
    keep_the_rest(new, old)
    new["spec"] = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
    if wanted:
        new["spec"]["ephemeralContainers"] = wanted
    drop_disabled(new["spec"], new["metadata"].get("annotations"))
    count_generation(new, old)


def _validate(new: Tree, old: Tree) -> Iterator[FieldError]:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden(NOWHERE, "static pods do not support ephemeral containers")
        return
    yield from judged(lambda lenient: validate_pod(new, lenient), old)
    yield from validate_kept_annotations(new, old)
    there = {item.get("name", ""): item for item in new["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before.get("name", "")
        if name not in there:
            yield forbidden(_PATH, f'existing ephemeral containers "{name}" may not be removed\n')
        elif not same(before, there[name]):
            difference = diff_of("EphemeralContainer", before, there[name])
            yield forbidden(_PATH, f'existing ephemeral containers "{name}" may not be changed\n{difference}')


EPHEMERAL_CONTAINERS = Subresource(kind="Pod", prepare=_prepare, validate=_validate)
