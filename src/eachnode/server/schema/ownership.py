"""Who manages which fields of an object: the entries of `metadata.managedFields`, and how each write changes them.

Every writer has one entry for each way it writes (apply or update, which subresource, which version). A write that
changes fields takes them from all others and adds them to its own entry. Entries of updaters are capped in number:
the oldest are merged into one called `ancient-changes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from eachnode.objects.clock import seconds, timestamp
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import field_sets
from eachnode.server.schema.field_sets import FieldSet
from eachnode.server.schema.shapes import Shape, shape
from eachnode.server.schema.typed_values import Untypable, compare

MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
UNKNOWN = "unknown"

# What nobody owns, for the server alone writes it.
_UNOWNED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        field_sets.SELF: {},
        **{
            f"f:{name}": {}
            for name in (
                *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
                *("managedFields", "resourceVersion"),
            )
        },
    },
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One writer and its fields."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str | None = None
    fields: FieldSet = None  # type: ignore[assignment]  # always given; last, so that the rest reads as an identity

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two entries the same writer; appliers keep theirs across versions."""
        version = "" if self.applies else self.api_version
        return self.manager, self.operation, version, self.subresource

    @property
    def applies(self) -> bool:
        """Whether its fields were applied, rather than updated."""
        return self.operation == "Apply"

    def tree(self) -> Tree:
        """As it stands in managedFields."""
        tree: Tree = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        if self.time is not None:
            tree["time"] = self.time
        tree |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields}
        if self.subresource:
            tree["subresource"] = self.subresource
        return tree


def entries_from(trees: Iterable[Tree]) -> list[Entry]:
    """The entries that a stored object's managedFields hold."""
    return [
        Entry(
            tree.get("manager", ""),
            tree["operation"],
            tree["apiVersion"],
            tree.get("subresource", ""),
            tree.get("time"),
            tree.get("fieldsV1", {}),
        )
        for tree in trees
    ]


def is_well_formed(trees: Iterable[Tree]) -> bool:
    """Whether entries that a client sent can be stored."""
    return all(
        tree.get("operation") in ("Apply", "Update")
        and tree.get("apiVersion")
        and tree.get("fieldsType") == "FieldsV1"
        and field_sets.is_well_formed(tree.get("fieldsV1", {}))
        for tree in trees
    )


def track(kind: Kind, new: Tree, old: Tree | None, call: Call, subresource: str = "") -> None:
    """Notes in the new object that the caller wrote what differs from the old one (None: it is being created)."""
    metadata = new["metadata"]
    sent = metadata.pop("managedFields", None)
    entries = _entries_to_start_from(sent, old, subresource)
    if not entries and old is not None:
        return  # Nobody tracks this object: it was made before there were entries, or its entries were cleared.
    try:
        changed, removed = changes(shape_of(kind), kind, old, new, subresource)
    except Untypable:  # The object is not valid, which validation says better.
        write(metadata, entries)
        return
    write(metadata, updated(entries, changed, removed, updater(kind, call, subresource), call.now))


def keep_times(new: Tree, old: Tree) -> None:
    """Gives the new object the old one's entries when they differ in nothing but their times."""
    ours, theirs = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if ours and theirs and ours != theirs and _timeless(ours) == _timeless(theirs):
        new["metadata"]["managedFields"] = theirs


def _timeless(trees: list[Tree]) -> list[Tree]:
    plain = [{key: value for key, value in tree.items() if key != "time"} for tree in trees]
    return sorted(
        plain, key=lambda tree: [str(tree.get(key)) for key in ("manager", "operation", "apiVersion", "subresource")]
    )


def shape_of(kind: Kind) -> Shape:
    """The shape of a kind's objects."""
    return kind.structure.shape if kind.structure is not None else shape(kind.definition)


def changes(wanted: Shape, kind: Kind, old: Tree | None, new: Tree, subresource: str) -> tuple[FieldSet, FieldSet]:
    """(added or changed, removed) by a write, without what the kind's rules undo anyway."""
    changed, removed = compare(wanted, unmanaged(old) if old is not None else {}, new)
    return ours(kind, changed or {}, subresource), ours(kind, removed or {}, subresource)


def ours(kind: Kind, fields: FieldSet, subresource: str) -> FieldSet:
    """The fields that a write through this subresource can change: the status only by its own."""
    undone: tuple[str, ...] = ()
    if subresource == "status":
        undone = ("f:spec", "f:metadata") if kind.structure is not None else ("f:spec",)
    elif kind.has_status:
        undone = ("f:status",)
    if any(step in fields for step in undone):
        return {step: node for step, node in fields.items() if step not in undone}
    return fields


def owned(fields: FieldSet) -> FieldSet:
    """The fields that somebody can own."""
    return field_sets.difference(fields, _UNOWNED)


def updater(kind: Kind, call: Call, subresource: str) -> Entry:
    """The entry of the caller, still without fields."""
    return Entry(call.field_manager or UNKNOWN, "Update", kind.resource.api_version, subresource, None, {})


def updated(entries: list[Entry], changed: FieldSet, removed: FieldSet, writer: Entry, now: float) -> list[Entry]:
    """The entries after an update: the changed fields are the writer's, the removed ones nobody's."""
    lost = field_sets.union(changed, removed)
    own = owned(changed)
    made, found = [], False
    for entry in entries:
        is_writer = entry.identity == writer.identity
        found = found or is_writer
        if is_writer and not removed and own:
            fields = entry.fields if field_sets.covers(entry.fields, own) else field_sets.union(entry.fields, own)
        else:
            fields = field_sets.difference(entry.fields, lost) if lost else entry.fields
            fields = field_sets.union(fields, own) if is_writer else fields
        if fields:
            made.append(replace(entry, fields=fields, time=timestamp(now) if is_writer and own else entry.time))
    if own and not found:
        made.append(replace(writer, fields=own, time=timestamp(now)))
    return _capped(made)


def write(metadata: Tree, entries: list[Entry]) -> None:
    """Puts the entries into the metadata, in the reference's order."""
    if entries:
        metadata["managedFields"] = [entry.tree() for entry in sorted(entries, key=_order)]
    else:
        metadata.pop("managedFields", None)


def _order(entry: Entry) -> tuple[str, float, str, str, str]:
    return entry.operation, _moment(entry), entry.manager, entry.api_version, entry.subresource


def _moment(entry: Entry) -> float:
    return seconds(entry.time) if entry.time else 0.0


def unmanaged(tree: Tree) -> Tree:
    """An object without its managedFields, to be compared and not to be changed."""
    metadata = tree.get("metadata", {})
    if "managedFields" not in metadata:
        return tree
    return {**tree, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _entries_to_start_from(sent: Any, old: Tree | None, subresource: str) -> list[Entry]:
    """What the client sent, unless it sent nothing sensible; `[]` or `[{}]` clears the entries."""
    kept = (old or {}).get("metadata", {}).get("managedFields", [])
    if sent is None or subresource or sent == kept:
        return entries_from(kept)
    if sent in ([], [{}]):
        return []
    return entries_from(sent if is_well_formed(sent) else kept)


def _capped(entries: list[Entry]) -> list[Entry]:
    """The entries with the oldest updaters of each version merged when there are too many."""
    updaters = [entry for entry in entries if not entry.applies]
    surplus = len(updaters) - MOST_UPDATERS
    if surplus <= 0:
        return entries
    updaters.sort(key=lambda entry: (int(_moment(entry)), entry.identity))
    kept = {entry.identity: entry for entry in entries}
    first: dict[str, Entry] = {}
    for entry in updaters:
        if surplus <= 0:
            break
        version = entry.api_version
        if version not in first:
            first[version] = entry
            continue
        ancient = Entry(ANCIENT, "Update", version, "", entry.time, {})
        bucket = kept.get(ancient.identity) or kept.pop(first[version].identity)
        kept.pop(entry.identity, None)
        kept[ancient.identity] = replace(ancient, fields=field_sets.union(bucket.fields, entry.fields))
        surplus -= 1
    return list(kept.values())
