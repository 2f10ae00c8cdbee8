"""What labels, annotations and label selectors must look like; the same wherever an object carries some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eachnode.objects.formats import label_value, qualified_name
from eachnode.server.field_errors import FieldError, forbidden, invalid, required, too_long

ANNOTATIONS_LIMIT = 256 * 1024


def validate_labels(labels: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Keys and values of labels, in order of their keys."""
    for key, value in sorted((labels or {}).items()):
        yield from validate_label_key(key, path)
        for problem in label_value(value):
            yield invalid(path, value, problem)


def validate_label_key(key: str, path: str) -> Iterator[FieldError]:
    """One label key."""
    return (invalid(path, key, problem) for problem in qualified_name(key))


def validate_annotations(annotations: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Keys of annotations, and their size together."""
    size = 0
    for key, value in sorted((annotations or {}).items()):
        size += len(key.encode()) + len(value.encode())
        for problem in qualified_name(key.lower()):
            yield invalid(path, key, problem)
    if size > ANNOTATIONS_LIMIT:
        yield too_long(path, ANNOTATIONS_LIMIT)


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: str, *, any_values: bool = False
) -> Iterator[FieldError]:
    """A selector in its object form; `any_values` spares values that an older version of the object already had."""
    if not selector:
        return
    yield from validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        yield from validate_label_requirement(requirement, f"{path}.matchExpressions[{index}]", any_values=any_values)


def has_invalid_values(selector: Mapping[str, Any] | None) -> bool:
    """Whether an expression of the selector holds a value that no label can have."""
    expressions = (selector or {}).get("matchExpressions", ())
    return any(label_value(value) for requirement in expressions for value in requirement.get("values", ()))


def validate_label_requirement(
    requirement: Mapping[str, Any], path: str, *, any_values: bool = False, any_operator: bool = False
) -> Iterator[FieldError]:
    """One expression of a selector; `any_operator` spares operators that are not known."""
    yield from validate_operator(requirement, path, any_operator=any_operator)
    yield from validate_label_key(requirement.get("key", ""), f"{path}.key")
    if not any_values:
        for index, value in enumerate(requirement.get("values", ())):
            for problem in label_value(value):
                yield invalid(f"{path}.values[{index}]", value, problem)


def validate_operator(requirement: Mapping[str, Any], path: str, *, any_operator: bool = False) -> Iterator[FieldError]:
    """The operator of an expression, and whether it has values just where it needs them."""
    operator = requirement.get("operator", "")
    values = requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif not any_operator:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
