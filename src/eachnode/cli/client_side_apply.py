"""Objects that kubectl applied from its own side: what their next file no longer says has to go from them, too.

A server-side apply takes back only what its own manager once set. So the fields that `kubectl apply` set are handed to
our manager first, as `kubectl apply --server-side` does it. Where nothing may be written, what the last file said and
the next one does not say is taken away from the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eachnode.cli.template_changes import naming_field
from eachnode.client.door import Door, PatchKind
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource

Tree = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl-client-side-apply"  # The manager of what `kubectl apply` sets.


def last_applied(document: Document) -> Tree | None:
    """What the file said that kubectl applied last; None when the object is not kubectl's, or no longer."""
    metadata = document.tree()["metadata"]
    text = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    if text is None or not any(map(_is_kubectls, metadata.get("managedFields") or ())):
        return None
    try:
        tree = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return tree if isinstance(tree, dict) else None


# What stays kubectl's: without an owner the annotation would go, and a kubectl that applies again needs it.
_LEFT: Tree = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}


def _is_kubectls(entry: Mapping[str, Any]) -> bool:
    told = (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""))
    return told == (_KUBECTL, "Update", "") and entry.get("fieldsV1") != _LEFT


async def hand_over(door: Door, resource: Resource, document: Document, manager: str) -> None:
    """Let the manager own what kubectl's owns; nothing else of the object changes."""
    metadata = document.tree()["metadata"]
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": _handed(metadata["managedFields"], manager)},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
    ]
    where = metadata.get("namespace", "")
    await door.patch(resource, metadata["name"], msgspec.json.encode(patch), PatchKind.JSON, where)


def _handed(entries: list[Tree], manager: str) -> list[Tree]:
    """The managers' entries, those of kubectl made part of ours."""
    kubectls = [entry for entry in entries if _is_kubectls(entry)]
    ours = [entry for entry in entries if entry.get("manager") == manager and entry.get("operation") == "Apply"]
    fields: Tree = {}
    for entry in (*ours, *kubectls):
        fields = _together(fields, entry.get("fieldsV1") or {})
    fields.get("f:metadata", {}).get("f:annotations", {}).pop(f"f:{LAST_APPLIED}", None)
    common = {"apiVersion": kubectls[-1]["apiVersion"], "fieldsType": "FieldsV1", "time": kubectls[-1].get("time")}
    merged = {"manager": manager, "operation": "Apply", **common, "fieldsV1": fields}
    others = [entry for entry in entries if entry not in kubectls and entry not in ours]
    return [*others, merged, {**kubectls[-1], "fieldsV1": _LEFT}]


def _together(one: Tree, other: Tree) -> Tree:
    """Two sets of fields as one."""
    return {key: _together(one.get(key, {}), other.get(key, {})) for key in {**one, **other}}


def without_dropped(live: Any, last: Any, wanted: Any) -> Any:
    """What is there, without what the last file said and the wanted one does not say."""
    if isinstance(live, dict) and isinstance(last, dict) and isinstance(wanted, dict):
        return {
            key: without_dropped(value, last.get(key), wanted.get(key))
            for key, value in live.items()
            if key not in last or key in wanted
        }
    if isinstance(live, list) and isinstance(last, list) and isinstance(wanted, list):
        naming = naming_field(live, last, wanted)
        if naming is not None:
            then, now = ({item[naming]: item for item in side} for side in (last, wanted))
            return [
                without_dropped(item, then.get(item[naming]), now.get(item[naming]))
                for item in live
                if item[naming] not in then or item[naming] in now
            ]
    return live
