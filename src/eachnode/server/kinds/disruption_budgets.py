"""Pod disruption budgets: how many pods of a selection an eviction must leave alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eachnode.objects.formats import mismatch, percent
from eachnode.objects.resources import POD_DISRUPTION_BUDGETS
from eachnode.server.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.labels import has_invalid_values, validate_label_key, validate_label_selector
from eachnode.server.kinds.rows import AGE, NAME, age_of, at, name_of

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_SENTENCE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_REASON_EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
_NOT_NEGATIVE = "must be greater than or equal to 0"


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["metadata"]["generation"] = 1
    tree["status"] = dict.fromkeys(_COUNTS, 0)


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    new["status"] = old.get("status", {})
    if new.get("spec", {}) != old.get("spec", {}):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    new["spec"] = old.get("spec", {})


def _validate(tree: Tree) -> Iterator[FieldError]:
    return _validate_spec(tree.get("spec", {}), any_values=False)


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    return _validate_spec(new.get("spec", {}), any_values=has_invalid_values(at(old, "spec", "selector")))


def _validate_spec(spec: Tree, *, any_values: bool) -> Iterator[FieldError]:
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", _as_internal(spec), "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            yield from _validate_amount(spec[field], f"spec.{field}")
    yield from validate_label_selector(spec.get("selector"), "spec.selector", any_values=any_values)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _as_internal(spec: Tree) -> dict[str, Any]:
    """A spec as the reference's internal type prints."""
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }


def _validate_amount(amount: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(amount, int):
        if amount < 0:
            yield invalid(path, amount, _NOT_NEGATIVE)
        return
    problems = percent(amount)
    for problem in problems:
        yield invalid(path, amount, problem)
    if not problems and int(amount[:-1]) > 100:
        yield invalid(path, amount, "must not be greater than 100%")


def _validate_status(new: Tree, _old: Tree) -> Iterator[FieldError]:
    status = new.get("status", {})
    yield from _validate_conditions(status.get("conditions") or ())
    for field in _COUNTS:
        if status.get(field, 0) < 0:
            yield invalid(f"status.{field}", status[field], _NOT_NEGATIVE)


def _validate_conditions(conditions: Any) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind, path = condition.get("type", ""), f"status.conditions[{index}]"
        if kind in seen:
            yield duplicate(path, kind)
        seen.add(kind)
        yield from _validate_condition(condition, path)


def _validate_condition(condition: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if not condition.get("type"):
        yield required(f"{path}.type", "is required")
    else:
        yield from validate_label_key(condition["type"], f"{path}.type")
    status = condition.get("status")
    if not status:
        yield required(f"{path}.status")
    elif status not in ("True", "False", "Unknown"):
        yield not_supported(f"{path}.status", status, ("False", "True", "Unknown"))
    if condition.get("observedGeneration", 0) < 0:
        yield invalid(
            f"{path}.observedGeneration", condition["observedGeneration"], "must be greater than or equal to zero"
        )
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    yield from _validate_reason(condition.get("reason") or "", f"{path}.reason")
    if len((condition.get("message") or "").encode()) > 32 * 1024:
        yield too_long(f"{path}.message", 32 * 1024)


def _validate_reason(reason: str, path: str) -> Iterator[FieldError]:
    if not reason:
        yield required(path)
        return
    if not re.fullmatch(_REASON, reason):
        yield invalid(path, reason, mismatch(_REASON_SENTENCE, _REASON, *_REASON_EXAMPLES))
    if len(reason.encode()) > 1024:
        yield too_long(path, 1024)


def _row(tree: Tree, now: float) -> list[Any]:
    spec = tree.get("spec", {})
    return [
        name_of(tree),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        at(tree, "status", "disruptionsAllowed", missing=0),
        age_of(tree, now),
    ]


POD_DISRUPTION_BUDGET = Kind(
    resource=POD_DISRUPTION_BUDGETS,
    singular="poddisruptionbudget",
    definition="io.k8s.api.policy.v1.PodDisruptionBudget",
    short_names=("pdb",),
    has_status=True,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    any_finalizers=True,
    whole_update=True,
    validate_status=_validate_status,
    validate_name=name_rules.path_segment,
    unconditional_update=False,
    columns=(
        NAME,
        Column("Min Available", description="The minimum number of pods that must be available."),
        Column("Max Unavailable", description="The maximum number of pods that may be unavailable."),
        Column(
            "Allowed Disruptions",
            "integer",
            description="Calculated number of pods that may be disrupted at this time.",
        ),
        AGE,
    ),
    row=_row,
)
