"""A patch's body carried out on an object: each language with the reference's refusals."""

from __future__ import annotations

from typing import Any

from eachnode.objects.go_text import go_json_sorted
from eachnode.objects.status import ApiError, BadRequest, Cause, Details, Invalid, TooLarge, UnsupportedMediaType
from eachnode.server.field_errors import shown
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.schema import json_text
from eachnode.server.schema.canonical_form import Unreadable
from eachnode.server.schema.decoding import StrictComplaints, conform_patched, unmarshal
from eachnode.server.schema.json_patch import MOST_OPERATIONS, DoesNotApply, patch_json
from eachnode.server.schema.json_text import NotJson
from eachnode.server.schema.merge_patch import patch_merge
from eachnode.server.schema.strategic_merge import BadPatch, CannotMerge, NoListOfLists, go_text, patch_strategic
from eachnode.server.verbatim import write_anew

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

# What an API client makes of a bare 422, and so what the reference says for all of them.
_REJECTED = "the server rejected our request due to an error in our request"
_OPERATION_FIELDS = ("op", "path", "from", "value")


def languages(kind: Kind) -> tuple[str, ...]:
    """The media types in which this kind can be patched."""
    return (JSON, MERGE, APPLY) if kind.structure is not None else (JSON, MERGE, STRATEGIC, APPLY)


def patched(kind: Kind, tree: Tree, body: bytes, language: str, call: Call) -> Tree:
    """What an object (changed in place) becomes by a JSON, merge or strategic merge patch."""
    if language not in languages(kind) or language == APPLY:
        raise UnsupportedMediaType("415: Unsupported Media Type", details=Details())
    run = {JSON: _json, MERGE: _merge, STRATEGIC: _strategic}[language]
    complaints = len(call.warnings)
    tree, spoken = run(kind, tree, body, call)
    text = go_json_sorted(tree).decode() if spoken is None else spoken  # Conforming changes the tree.
    try:
        if language == JSON:  # Only its operations can nest deeper than what they began with.
            json_text.check_depth(tree)
        made = conform_patched(kind, tree, call, converts=language == STRATEGIC)
    except (Unreadable, StrictComplaints, NotJson) as refusal:
        del call.warnings[complaints:]
        raise _unfit(text, str(refusal)) from None
    if language == STRATEGIC:
        write_anew(kind.verbatim, made)
    return made


def _json(_kind: Kind, tree: Tree, body: bytes, call: Call) -> tuple[Any, str | None]:
    operations = _unmarshal(body, call, "[]handlers.jsonPatchOp", list)
    if len(operations) > MOST_OPERATIONS:
        allowed = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}"
        raise TooLarge(f"Request entity too large: {allowed}, got {len(operations)}")
    complaints = _check_operations(operations)
    try:
        made = patch_json(tree, operations)
    except DoesNotApply:
        raise Invalid(_REJECTED, details=Details()) from None
    if call.field_validation == "Warn":
        call.warnings += complaints
    if complaints and call.field_validation == "Strict":
        raise _unfit(go_json_sorted(made).decode(), str(StrictComplaints(complaints)))
    return made, None


def _check_operations(operations: list[Any]) -> list[str]:
    """Refuses operations of the wrong types, and names the fields that operations do not have."""
    complaints = []
    for index, operation in enumerate(operations):
        if operation is None:
            operations[index] = operation = {}
        if not isinstance(operation, dict):
            raise _undecodable(operation, "handlers.jsonPatchOp")
        for field, value in operation.items():
            if field not in _OPERATION_FIELDS:
                complaints.append(f'json patch unknown field "[{index}].{field}"')
            elif field != "value" and not isinstance(value, str):
                raise _undecodable(value, "string", f"struct field jsonPatchOp.{field}")
    return complaints


def _merge(_kind: Kind, tree: Tree, body: bytes, call: Call) -> tuple[Any, str | None]:
    changes = _unmarshal(body, call, "map[string]interface {}", dict)
    if changes is None:
        raise BadRequest("Invalid JSON Patch")
    return patch_merge(tree, changes), None


def _strategic(kind: Kind, tree: Tree, body: bytes, call: Call) -> tuple[Any, str | None]:
    changes = _unmarshal(body, call, "map[string]interface {}", dict, prefix="") or {}
    try:
        made = patch_strategic(kind.definition, tree, changes)
    except BadPatch as refusal:
        raise BadRequest(str(refusal)) from None
    except NoListOfLists:
        raise Invalid(_REJECTED, details=Details()) from None
    except CannotMerge as refusal:
        raise ApiError(str(refusal), reason="") from None  # The reference gives these no code of their own: 500.
    return made, go_text(changes)


def _unmarshal(body: bytes, call: Call, go: str, wanted: type, prefix: str = "error decoding patch: ") -> Any:
    try:
        tree = unmarshal(body, call)
    except NotJson:
        raise BadRequest("invalid JSON patch") from None
    except StrictComplaints as refusal:
        raise _unfit(body.decode("utf-8", "replace"), str(refusal)) from None
    if tree is not None and not isinstance(tree, wanted):
        raise _undecodable(tree, go, prefix=prefix)
    return [] if tree is None and wanted is list else tree


def _undecodable(value: Any, go: str, where: str = "value", prefix: str = "error decoding patch: ") -> BadRequest:
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    found = names.get(type(value), "number")
    return BadRequest(f"{prefix}json: cannot unmarshal {found} into Go {where} of type {go}")


def _unfit(spoken: str, reason: str) -> Invalid:
    """The patched object is none of its kind any more."""
    cause = Cause(reason="FieldValueInvalid", message=f"Invalid value: {shown(spoken)}: {reason}", field="patch")
    return Invalid(f' "" is invalid: patch: {cause.message}', details=Details(causes=(cause,)))
