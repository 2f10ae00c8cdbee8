"""The DaemonSet as a change would leave it: asked of the server, so that what it fills in does not look like a change.

Where a dry run is not allowed, the change is laid over what is there; then defaults may look like changes, and that is
said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.cli.client_side_apply import LAST_APPLIED, last_applied, without_dropped
from eachnode.cli.errands import find
from eachnode.cli.failures import Failure
from eachnode.cli.manifests import Manifest, apply_manifest
from eachnode.cli.template_changes import Change, changes
from eachnode.client.door import Door, PatchKind
from eachnode.objects.daemonset import GENERATION_ANNOTATION, DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.status import Forbidden, Invalid, NotFound

Tree = dict[str, Any]

_NOT_TOLD = (GENERATION_ANNOTATION, LAST_APPLIED)
GUESSED = (
    "the server may not be asked (dry run is forbidden), so the change is laid over what is there: "
    "defaults may look like changes"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A DaemonSet before and after a change."""

    before: DaemonSet | None
    after: DaemonSet
    changes: tuple[Change, ...]
    tree: Tree  # After the change: what of the object its author decides.
    notes: tuple[str, ...] = ()
    carried_out_by: str = ""  # Who wrote its status: the controller that looks after it.

    @property
    def is_change(self) -> bool:
        """Whether there is anything to do."""
        return self.before is None or bool(self.changes)


async def from_manifest(door: Door, manifest: Manifest, namespace: str) -> Wanted:
    """What applying a manifest would make of the DaemonSet."""
    where = str(manifest.tree["metadata"].get("namespace") or namespace)
    try:
        before = await door.get(DAEMON_SETS, manifest.name, where)
    except NotFound:
        before = None
    try:
        _, after = await apply_manifest(door, manifest, where, before=before, dry_run=True)
    except Forbidden as error:
        if _is_refused_for_good(error):
            raise
        change = {**manifest.tree, "metadata": _placed(manifest, where)}
        return _wanted(before, _guessed(before, change, last_applied(before) if before else None), (GUESSED,))
    except Invalid as error:
        raise _refused(error) from error
    return _wanted(before, after)


async def from_images(door: Door, name: str, namespace: str, images: Mapping[str, str]) -> Wanted:
    """What other images would make of the DaemonSet."""
    from eachnode.cli.set import image_changes

    before = await find(door, DAEMON_SETS, name, namespace)
    spec = image_changes(before.read(DaemonSet).template_tree.get("spec") or {}, images, name)
    if not spec:
        return _wanted(before, before)
    patch = {"spec": {"template": {"spec": spec}}}
    try:
        after = await door.patch(
            DAEMON_SETS, name, msgspec.json.encode(patch), PatchKind.STRATEGIC, namespace, dry_run=True
        )
    except Forbidden as error:
        if _is_refused_for_good(error):
            raise
        return _wanted(before, _guessed(before, patch), (GUESSED,))
    except Invalid as error:
        raise _refused(error) from error
    return _wanted(before, after)


def _is_refused_for_good(error: Forbidden) -> bool:
    """Whether not the asking is forbidden, but the change itself: the namespace is going, say."""
    return error.has_cause("NamespaceTerminating")


def _refused(error: Invalid) -> Failure:
    hint = ""
    if "spec.selector" in error.message and "immutable" in error.message:
        hint = "; give the DaemonSet another name, or delete it with --cascade=orphan and create it anew"
    return Failure(f"the server will refuse this change: {error.message}{hint}")


def _placed(manifest: Manifest, namespace: str) -> Tree:
    return {**manifest.tree["metadata"], "namespace": namespace}


def _wanted(before: Document | None, after: Document, notes: tuple[str, ...] = ()) -> Wanted:
    old, new = (before.tree() if before is not None else {}), after.tree()
    found = changes(_told_of(old), _told_of(new)) if old else ()
    was = before.read(DaemonSet) if before is not None else None
    return Wanted(was, after.read(DaemonSet), found, _bare(new), notes, _writer_of_status(old))


def _writer_of_status(tree: Tree) -> str:
    """Who wrote the status last, as far as the managed fields tell."""
    entries = (tree.get("metadata") or {}).get("managedFields") or ()
    writers = [(each.get("time") or "", each["manager"]) for each in entries if each.get("subresource") == "status"]
    return str(max(writers)[1]) if writers else ""


def _bare(tree: Tree) -> Tree:
    """The object as one would write it into a file."""
    metadata = {key: tree["metadata"][key] for key in ("name", "namespace") if tree["metadata"].get(key)}
    told = _told_of(tree)
    metadata |= {key: value for key, value in told["metadata"].items() if value}
    return {
        "apiVersion": DAEMON_SETS.api_version, "kind": DAEMON_SETS.kind, "metadata": metadata, "spec": told["spec"]
    }  # fmt: skip


def _told_of(tree: Tree) -> Tree:
    """What of an object its author decides."""
    metadata = tree.get("metadata") or {}
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key not in _NOT_TOLD}
    return {"metadata": {"labels": metadata.get("labels"), "annotations": annotations}, "spec": tree.get("spec") or {}}


# Without the server


def _guessed(before: Document | None, change: Tree, last: Tree | None = None) -> Document:
    """The change laid over what is there; no pod can be current by its template generation any more."""
    tree = overlaid(without_dropped(before.tree() if before is not None else {}, last, change), change)
    if before is None or tree.get("spec", {}).get("template") != before.tree()["spec"]["template"]:
        (tree.get("metadata", {}).get("annotations") or {}).pop(GENERATION_ANNOTATION, None)
    return Document(msgspec.json.encode(tree))


def overlaid(below: Any, above: Any) -> Any:
    """One tree laid over another; items of lists that have names are matched by them."""
    if isinstance(below, dict) and isinstance(above, dict):
        kept = {key: value for key, value in below.items() if key not in above}
        laid = {key: overlaid(below.get(key), value) for key, value in above.items() if not key.startswith("$")}
        return {**kept, **laid}
    if isinstance(below, list) and isinstance(above, list) and _all_named(below) and _all_named(above):
        known = {item["name"]: item for item in below}
        names = {item["name"] for item in above}
        replaced = [overlaid(known.get(item["name"]), item) for item in above]
        return replaced if names >= set(known) else [*(item for item in below if item["name"] not in names), *replaced]
    return above


def _all_named(items: list[Any]) -> bool:
    return all(isinstance(item, dict) and "name" in item for item in items)
