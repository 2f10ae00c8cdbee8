"""Server-side apply: a manager says which fields it wants, and owns them from then on.

The configuration is laid over the live object. What the manager applied before and applies no more goes away, unless
somebody else owns it. A field that another manager owns and that would change is a conflict, unless it is forced.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from eachnode.objects.clock import timestamp
from eachnode.objects.go_text import go_json
from eachnode.objects.resources import Resource
from eachnode.objects.status import ApiError, BadRequest, Cause, Conflict, Details
from eachnode.server.field_errors import FieldError, refusal, required, shown
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import field_sets, json_text, ownership, yaml_text
from eachnode.server.schema.canonical_form import Unreadable
from eachnode.server.schema.decoding import StrictComplaints, conform_patched
from eachnode.server.schema.field_sets import FieldSet
from eachnode.server.schema.json_text import NotJson
from eachnode.server.schema.ownership import Entry
from eachnode.server.schema.shapes import Shape
from eachnode.server.schema.typed_values import Untypable, check, compare, merge, named, remove, with_structs
from eachnode.server.schema.yaml_text import NotYaml

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE = "before-first-apply"

_KUBECTL = "kubectl"
_OPTIONS = Resource("meta.k8s.io", "v1", "patchoptions", "PatchOptions", namespaced=False)


def applied(kind: Kind, live: Tree | None, body: bytes, call: Call, subresource: str = "") -> Tree:
    """What the object becomes when this configuration is applied, managedFields included; None: it is created."""
    if not call.field_manager:
        wrong: FieldError = required("fieldManager", "is required for apply patch")
        raise refusal(_OPTIONS, "", [wrong])
    config, repeats = _configuration(kind, body)
    wanted = ownership.shape_of(kind)
    _check_types(kind, wanted, config)
    try:
        made, entries = _apply(kind, wanted, live, config, call, subresource)
    except Untypable as wrong_live:
        sentence = f"failed to create typed live object ({_called(kind, config)}): {wrong_live}"
        raise ApiError(sentence, reason="") from None
    _complain(repeats, call)
    try:
        tree = conform_patched(kind, copy.deepcopy(made), call)
    except (Unreadable, StrictComplaints) as wrong_type:
        sentence = f"failed to convert new typed object ({_called(kind, config)}) to object: {wrong_type}"
        raise ApiError(sentence, reason="") from None
    ownership.write(tree["metadata"], entries)
    return tree


def _configuration(kind: Kind, body: bytes) -> tuple[Tree, list[str]]:
    """The applied object, as far as it can be read at all, and a complaint for each key that it repeats."""
    tree, repeats = _read(body)
    if tree is not None and not isinstance(tree, dict):
        go = {list: "array", str: "string", bool: "bool"}.get(type(tree), "number")
        raise BadRequest(
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{go} into Go value of type map[string]interface {{}}"
        )
    config: Tree = tree or {}
    version, name = (said if isinstance(said := config.get(key), str) else "" for key in ("apiVersion", "kind"))
    if (version, name) != (kind.resource.api_version, kind.resource.kind):
        raise BadRequest(f"invalid object type: {_full_name(version, name)}")
    metadata = config.setdefault("metadata", {})
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    return config, repeats


def _complain(repeats: list[str], call: Call) -> None:
    """Says that the configuration repeats keys, as loudly as the caller wishes."""
    if repeats and call.field_validation == "Strict":
        listed = "\n  ".join(repeats)
        sentence = "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  "
        raise BadRequest(sentence + listed)
    if call.field_validation == "Warn":
        call.warnings += repeats


def _read(body: bytes) -> tuple[Any, list[str]]:
    """(tree, complaints about repeated keys) of a body in YAML, which most clients send as JSON."""
    if body.lstrip()[:1] == b"{":
        try:
            tree = json_text.read(body)
            if not json_text.may_repeat_keys(body, json_text.keys_in(tree)):
                return tree, []
        except NotJson:
            pass
    try:
        tree = yaml_text.read(body)
    except NotYaml as wrong:
        raise BadRequest(f"error encoding patch: {wrong}") from None
    return json_text.plain(tree), yaml_text.repeated_keys_in(tree)


def _check_types(kind: Kind, wanted: Shape, config: Tree) -> None:
    """Refuses a configuration that names fields there are none of, or gives them the wrong types."""
    problems = sorted(set(check(wanted, config)))
    if problems:
        listed = problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {line}" for line in problems)
        raise ApiError(f"failed to create typed patch object ({_called(kind, config)}): {listed}", reason="")


def _called(kind: Kind, tree: Tree) -> str:
    metadata = tree.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    namespace, name = (text if isinstance(text := about.get(key), str) else "" for key in ("namespace", "name"))
    return f"{namespace}/{name}; {_full_name(kind.resource.api_version, kind.resource.kind)}"


def _full_name(api_version: str, kind: str) -> str:
    """A kind as the reference names it: the core group is an empty word."""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _apply(
    kind: Kind, wanted: Shape, live: Tree | None, config: Tree, call: Call, subresource: str
) -> tuple[Tree, list[Entry]]:
    """(the object, its entries) after the configuration was applied."""
    before, entries = _live_parts(kind, wanted, live, call)
    before = before or {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
    mine = Entry(call.field_manager, "Apply", kind.resource.api_version, subresource, None, {})
    last = next((entry for entry in entries if entry.identity == mine.identity), None)
    others = [entry for entry in entries if entry is not last]
    wish = ownership.ours(kind, named(wanted, config), subresource)
    made = merge(wanted, before, config)
    if last is not None and last.fields:
        made = _prune(wanted, made, last.fields, [wish, *(entry.fields for entry in others)])
    changed, removed = compare(wanted, before, made)
    changed = ownership.ours(kind, changed or {}, subresource)
    others = _take_over(kind, wanted, before, others, changed, call)
    others = _less(others, ownership.ours(kind, removed or {}, subresource))
    # As in the reference, one who only joins the owners of what is there already has no time.
    time = timestamp(call.now) if made != before else last.time if last is not None else None
    own = ownership.owned(wish)
    if call.field_manager == _KUBECTL:
        _renew_last_applied(made, config)
    return made, [*others, replace(mine, fields=own, time=time)] if own else others


def _live_parts(kind: Kind, wanted: Shape, live: Tree | None, call: Call) -> tuple[Tree, list[Entry]]:
    """(the live object without its entries, its entries); one that has none gets one for all that is there."""
    if live is None:
        return {}, []
    metadata = dict(live["metadata"])
    entries = ownership.entries_from(metadata.pop("managedFields", []))
    before = {**live, "metadata": metadata}
    if not entries:
        everything, _ = ownership.changes(wanted, kind, None, before, "")
        if fields := ownership.owned(everything):
            entries = [Entry(BEFORE, "Update", kind.resource.api_version, "", timestamp(call.now), fields)]
    return before, entries


def _prune(wanted: Shape, merged: Tree, last: FieldSet, others: list[FieldSet]) -> Tree:
    """The merged object without what was applied last time, is not applied now, and is nobody else's."""
    last = with_structs(wanted, last)
    everything = with_structs(wanted, named(wanted, merged))
    claimed: FieldSet = {}
    for fields in others:
        claimed = field_sets.union(claimed, fields)
    pruned = remove(wanted, merged, last) or {}
    kept = field_sets.union(with_structs(wanted, named(wanted, pruned)), with_structs(wanted, claimed))
    pruned = remove(wanted, merged, field_sets.difference(everything, kept)) or {}
    gone = field_sets.difference(everything, with_structs(wanted, named(wanted, pruned)))
    return remove(wanted, merged, field_sets.intersection(gone, last)) or {}


def _take_over(
    kind: Kind, wanted: Shape, live: Tree, others: list[Entry], changed: FieldSet, call: Call
) -> list[Entry]:
    """The other entries without the fields that change; raises Conflict unless it is forced."""
    conflicts = [(entry, field_sets.intersection(entry.fields, changed)) for entry in others]
    conflicts = [(entry, fields) for entry, fields in conflicts if fields]
    if conflicts and not call.force:
        if call.field_manager == _KUBECTL:
            excused = _as_last_applied(kind, wanted, live)
            conflicts = [(entry, field_sets.difference(fields, excused)) for entry, fields in conflicts]
            conflicts = [(entry, fields) for entry, fields in conflicts if fields]
        if conflicts:
            raise _conflict(conflicts)
    return _less(others, changed)


def _less(entries: list[Entry], gone: FieldSet) -> list[Entry]:
    """The entries without these fields; those left with nothing go away."""
    if not gone:
        return entries
    rest = [replace(entry, fields=field_sets.difference(entry.fields, gone)) for entry in entries]
    return [entry for entry in rest if entry.fields]


def _conflict(conflicts: list[tuple[Entry, FieldSet]]) -> Conflict:
    """The refusal that names each field and its owner."""
    conflicts = sorted(conflicts, key=lambda pair: pair[0].identity)
    lines = [(_owner(entry), path) for entry, fields in conflicts for path in field_sets.paths(fields)]
    causes = tuple(
        Cause(reason="FieldManagerConflict", message=f"conflict with {owner}", field=path) for owner, path in lines
    )
    if len(lines) == 1:
        sentence = f"Apply failed with 1 conflict: conflict with {lines[0][0]}: {lines[0][1]}"
    else:
        parts: list[str] = []
        for entry, fields in conflicts:
            parts.append(f"conflicts with {_owner(entry)}:")
            parts += [f"- {path}" for path in field_sets.paths(fields)]
        sentence = f"Apply failed with {len(lines)} conflicts: " + "\n".join(parts)
    return Conflict(sentence, details=Details(causes=causes))


def _owner(entry: Entry) -> str:
    called = shown(entry.manager)
    if entry.subresource:
        called += f" with subresource {shown(entry.subresource)}"
    return called if entry.applies else f"{called} using {entry.api_version}"


def _as_last_applied(kind: Kind, wanted: Shape, live: Tree) -> FieldSet:
    """The fields that are still as `kubectl apply` left them by its annotation: those kubectl may take over."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        config = json_text.read(text.encode())
        if not isinstance(config, dict) or config.get("apiVersion") != kind.resource.api_version:
            return {}
        changed, removed = compare(wanted, config, live)
        return field_sets.difference(named(wanted, config), field_sets.union(changed or {}, removed or {}))
    except (NotJson, Untypable):
        return {}


def _renew_last_applied(made: Tree, config: Tree) -> None:
    """Keeps kubectl's annotation true, for those who go back to applying by it."""
    annotations = (made.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    plain_config = copy.deepcopy(config)
    own = plain_config.get("metadata", {}).get("annotations")
    if own:
        own.pop(LAST_APPLIED, None)
        if not own:
            del plain_config["metadata"]["annotations"]
    text = go_json(plain_config).decode() + "\n"
    made["metadata"] = {**made["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}
