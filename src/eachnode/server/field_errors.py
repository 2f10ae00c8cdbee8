"""What is wrong with one field of an object, in the API's own words.

The kinds and their wording mirror apimachinery's `field.Error`; values are shown as the reference shows them: strings
quoted, scalars bare, everything else as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eachnode.objects.go_text import go_json, go_quoted
from eachnode.objects.resources import Resource
from eachnode.objects.status import Cause, Details, Invalid

NOWHERE = "[]"  # What the reference writes for a path without a name, where it blames no field in particular.


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field, the API's reason for refusing it, and the sentence."""

    field: str
    reason: str
    message: str


def required(field: str, detail: str = "") -> FieldError:
    """The field must be set."""
    return FieldError(field, "FieldValueRequired", _with("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is not a legal one."""
    return FieldError(field, "FieldValueInvalid", _with(f"Invalid value: {shown(value)}", detail))


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """The value is not one of those known; they are named in the order given (sort where the reference does)."""
    known = ", ".join(shown(choice) for choice in supported)
    detail = f"supported values: {known}" if supported else ""
    return FieldError(field, "FieldValueNotSupported", _with(f"Unsupported value: {shown(value)}", detail))


def forbidden(field: str, detail: str) -> FieldError:
    """The field must not be set here, or not be changed."""
    return FieldError(field, "FieldValueForbidden", _with("Forbidden", detail))


def duplicate(field: str, value: Any) -> FieldError:
    """The value stands elsewhere in the same list."""
    return FieldError(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def not_found(field: str, value: Any) -> FieldError:
    """The value names something that does not exist."""
    return FieldError(field, "FieldValueNotFound", f"Not found: {shown(value)}")


def too_long(field: str, at_most: int) -> FieldError:
    """More bytes than allowed."""
    return FieldError(field, "FieldValueTooLong", f"Too long: may not be more than {at_most} bytes")


def too_many(field: str, actual: int, at_most: int) -> FieldError:
    """More entries than allowed."""
    return FieldError(field, "FieldValueTooMany", f"Too many: {actual}: must have at most {at_most} items")


def shown(value: Any) -> str:
    """A value as the reference prints it in an error."""
    if isinstance(value, str):
        return go_quoted(value)
    if value is None:
        return "null"
    return go_json(value).decode()


def refusal(resource: Resource, name: str, errors: Iterable[FieldError]) -> Invalid:
    """The 422 answer that names every wrong field of one object, each error once."""
    distinct = dict.fromkeys(errors)
    causes = tuple(Cause(reason=error.reason, message=error.message, field=error.field) for error in distinct)
    sentences = [f"{cause.field}: {cause.message}" for cause in causes]
    summary = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return Invalid(
        f"{kind} {shown(name)} is invalid: {summary}",
        details=Details(name=name, group=resource.group, kind=resource.kind, causes=causes),
    )


def _with(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head
