"""A request's body to a tree of the kind it should be of, or the reference's reason why not (400)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

from eachnode.objects.resources import Resource
from eachnode.objects.status import BadRequest
from eachnode.server.field_errors import shown
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import json_text, yaml_text
from eachnode.server.schema.canonical_form import Reading, Unreadable, conform, mismatch
from eachnode.server.schema.json_text import NotJson, Repeated
from eachnode.server.schema.shapes import Shape, known_kinds, shape
from eachnode.server.schema.yaml_text import NotYaml

Media = Literal["json", "yaml"]
Conform = Callable[[Any, Reading], Tree]

_SUMMARY = 30  # Bytes of an unreadable body that the answer shows.
_HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"  # Where the reference keeps its kinds; part of its message.
# The Go packages of the reference's internal types, where their name is not the group's first word.
_INTERNAL = {"": "core", "events.k8s.io": "core", "extensions": "apps"}


def decode(kind: Kind, raw: bytes, call: Call, media: Media = "json") -> Tree:
    """The tree of a body that should hold an object of this kind; warnings go to the call."""
    if kind.structure is not None:
        return decode_with(kind.resource, kind.structure.conform, raw, call, media, whole_name_needed=True)
    return decode_as(kind.definition, kind.resource, raw, call, media)


def decode_as(definition: str, resource: Resource, raw: bytes, call: Call, media: Media = "json") -> Tree:
    """The same for a body that is not a kind of its own (Binding, Eviction, DeleteOptions): any definition."""
    wanted: Shape = shape(definition)
    return decode_with(resource, lambda tree, reading: conform(wanted, tree, reading), raw, call, media)


def decode_with(
    resource: Resource, conform: Conform, raw: bytes, call: Call, media: Media, *, whole_name_needed: bool = False
) -> Tree:
    """The same by any rule that brings a tree into form."""
    try:
        tree = json_text.read(raw) if media == "json" else yaml_text.read(raw)
    except NotJson as refusal:
        raise _unrecognized(resource, f"couldn't get version/kind; json parse error: {refusal}", raw) from None
    except NotYaml as refusal:
        raise _unrecognized(resource, str(refusal), raw) from None
    _check_name(resource, tree, raw, whole_name_needed)
    return _conform(resource, conform, tree, raw, call, media)


def unmarshal(raw: bytes, call: Call | None = None) -> Any:
    """A patch's JSON: any tree. Raises NotJson; repeated keys become complaints in the call unless it ignores them."""
    tree = json_text.read(raw)
    is_strict = call is not None and call.field_validation != "Ignore"
    if call is not None and is_strict and json_text.may_repeat_keys(raw, json_text.keys_in(tree)):
        complaints = repeated_keys(raw)
        if complaints and call.field_validation == "Strict":
            raise StrictComplaints(complaints)
        call.warnings += complaints
    return tree


def repeated_keys(raw: bytes) -> list[str]:
    """A complaint for each key that stands in one object of a JSON text more than once."""
    return list(_repeats(json_text.read_with_care(raw), ""))


class StrictComplaints(ValueError):
    """Unknown or repeated fields where the caller wants none."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(f"strict decoding error: {', '.join(complaints)}")
        self.complaints = complaints


def conform_patched(kind: Kind, tree: Tree, call: Call, *, converts: bool = False) -> Tree:
    """A tree that a patch made, in its canonical form; raises Unreadable, or StrictComplaints by fieldValidation."""
    reading = Reading(converts=converts)
    if kind.structure is None and not converts:
        check_kind(kind.resource, tree)
    tree = kind.structure.conform(tree, reading) if kind.structure else conform(shape(kind.definition), tree, reading)
    call.emptied = reading.emptied
    complaints = sorted(reading.strict) if converts else reading.strict
    if complaints and call.field_validation == "Strict":
        raise StrictComplaints(complaints)
    if call.field_validation == "Warn":
        call.warnings += complaints
    return tree if kind.structure else _as(kind.resource, tree)


def _conform(resource: Resource, conform: Conform, tree: Any, raw: bytes, call: Call, media: Media) -> Tree:
    """The tree in form. A JSON text with anything wrong in it is read again with care, for the exact words."""
    is_json = media == "json"
    reading, repeats = Reading(careful=not is_json), [] if is_json else _yaml_complaints(tree)
    try:
        made = conform(tree if tree is not None else {}, reading)
        if is_json and json_text.may_repeat_keys(raw, reading.keys):
            reading = Reading(careful=True)
            made = conform(json_text.read_with_care(raw) or {}, reading)
    except Unreadable as refusal:
        raise _cannot_be_handled(resource, tree, _exact(refusal, conform, raw) if is_json else str(refusal)) from None
    call.emptied = reading.emptied
    complaints = reading.strict if is_json else [*repeats, *_unknown(reading)]
    if complaints and call.field_validation == "Strict":
        raise _cannot_be_handled(resource, tree, str(StrictComplaints(complaints)))
    if call.field_validation == "Warn":
        call.warnings += [line for complaint in complaints for line in _yaml_lines(complaint)]
    return _named(resource, made)


def _as(resource: Resource, made: Tree) -> Tree:
    """The object under the name of its kind, whatever it calls itself."""
    made["kind"], made["apiVersion"] = resource.kind, resource.api_version
    return made


def _named(resource: Resource, made: Tree) -> Tree:
    """The object with its kind and apiVersion written first, for the body may leave them out."""
    kind, version = made.pop("kind", "") or resource.kind, made.pop("apiVersion", "") or resource.api_version
    return {"kind": kind, "apiVersion": version, **made}


def _exact(refusal: Unreadable, conform: Conform, raw: bytes) -> str:
    """The refusal with numbers as they were written."""
    try:
        conform(json_text.read_with_care(raw), Reading(careful=True))
    except Unreadable as exact:
        return str(exact)
    return str(refusal)


def _check_name(resource: Resource, tree: Any, raw: bytes, whole_name_needed: bool) -> None:
    """Refuses a body that says it is of another kind or version."""
    if tree is None and not whole_name_needed:
        return
    try:
        version, kind = said_to_be(tree)
    except Unreadable as refusal:
        raise _unrecognized(resource, str(refusal), raw) from None
    if whole_name_needed and not kind:
        raise _unrecognized(resource, f"Object 'Kind' is missing in '{raw.decode('utf-8', 'replace')}'", raw)
    if whole_name_needed:
        if version != resource.api_version:
            raise _other_version(resource, version)
        return
    version, kind = version or resource.api_version, kind or resource.kind
    if (version, kind) != (resource.api_version, resource.kind):
        raise _stranger(resource, version, kind)


def said_to_be(tree: Any) -> tuple[str, str]:
    """The apiVersion and kind that an object names, empty where it names none; raises Unreadable."""
    if tree is None:
        return "", ""
    if not isinstance(tree, dict):
        raise Unreadable(f"couldn't get version/kind; json parse error: {mismatch(tree, _HEAD, None)}")
    version, kind = ("" if tree.get(key) is None else tree[key] for key in ("apiVersion", "kind"))
    for key, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str):
            wrong = mismatch(value, "string", None).replace("Go value", f"Go struct field .{key}")
            raise Unreadable(f"couldn't get version/kind; json parse error: {wrong}")
    if version.count("/") > 1:
        raise Unreadable(f"unexpected GroupVersion string: {version}")
    return version, kind


def check_kind(resource: Resource, tree: Any) -> None:
    """Raises Unreadable when a patch made an object of another kind or version of it."""
    if not isinstance(tree, dict):
        return
    version: Any = tree.get("apiVersion") or resource.api_version
    kind: Any = tree.get("kind") or resource.kind
    if (version, kind) == (resource.api_version, resource.kind):
        return
    if not isinstance(version, str) or not isinstance(kind, str):
        return  # Reading them as texts says what is wrong.
    if reason := _no_conversion(resource, version, kind):
        raise Unreadable(reason)


def _stranger(resource: Resource, version: str, kind: str) -> BadRequest:
    """The refusal of another kind, which depends on whether the reference knows it."""
    reason = _no_conversion(resource, version, kind)
    if not reason:
        return _other_version(resource, version)
    short = shown(version.rpartition("/")[2])
    return BadRequest(f"{kind} in version {short} cannot be handled as a {resource.kind}: {reason}")


def _no_conversion(resource: Resource, version: str, kind: str) -> str:
    """Why an object of another kind is none of this; empty when it is the same in another version."""
    group, _, short = version.rpartition("/")
    if kind not in known_kinds(version):
        return f"no kind {shown(kind)} is registered for version {shown(version)} in scheme {shown(_SCHEME)}"
    if kind == resource.kind and _internal(group) == _internal(resource.group):
        return ""
    return f"converting ({short}.{kind}) to ({internal_type(resource, resource.kind)}): unknown conversion"


def _other_version(resource: Resource, version: str) -> BadRequest:
    return BadRequest(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def internal_type(resource: Resource, kind: str) -> str:
    """The name of the reference's own type for a kind of this resource's group, as Go prints it."""
    return f"{_internal(resource.group)}.{kind}"


def _internal(group: str) -> str:
    return _INTERNAL.get(group) or group.partition(".")[0]


def _unrecognized(resource: Resource, reason: str, raw: bytes) -> BadRequest:
    return BadRequest(
        f"the object provided is unrecognized (must be of type {resource.kind}): {reason} ({_summary(raw)})"
    )


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    head = raw[:_SUMMARY]
    text = head.decode("utf-8", "replace") if raw.startswith(b"{") else head.hex()
    return f"{text} ..." if len(raw) > _SUMMARY else text


def _cannot_be_handled(resource: Resource, tree: Any, reason: str) -> BadRequest:
    kind = (isinstance(tree, dict) and tree.get("kind")) or resource.kind
    version = shown(resource.version)
    return BadRequest(f"{kind} in version {version} cannot be handled as a {resource.kind}: {reason}")


def _repeats(tree: Any, path: str) -> Iterator[str]:
    """`duplicate field "a.b"` for each key that stands in an object twice."""
    if isinstance(tree, dict):
        if isinstance(tree, Repeated):
            yield from (f"duplicate field {json.dumps(path + key)}" for key in tree.repeats)
        for key, value in tree.items():
            yield from _repeats(value, f"{path}{key}.")
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _repeats(value, f"{path.removesuffix('.')}[{index}].")


def _yaml_complaints(tree: Any) -> list[str]:
    """One complaint that names all repeated keys by their lines, as go-yaml makes it."""
    lines = yaml_text.repeated_keys_in(tree)
    return ["yaml: unmarshal errors:\n  " + "\n  ".join(lines)] if lines else []


def _yaml_lines(complaint: str) -> list[str]:
    """A complaint as warnings: go-yaml's are one to each line."""
    head = "yaml: unmarshal errors:\n"
    return [line.strip() for line in complaint[len(head) :].split("\n")] if complaint.startswith(head) else [complaint]


def _unknown(reading: Reading) -> list[str]:
    """The complaints of a YAML body that are not about repeated keys, which have lines instead of paths."""
    return [complaint for complaint in reading.strict if complaint.startswith("unknown")]
