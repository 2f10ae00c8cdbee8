"""Resource quotas: how much a namespace may hold; admission enforces them, a loop keeps their status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eachnode.objects.quantities import nano
from eachnode.objects.resources import RESOURCE_QUOTAS
from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.resource_names import is_quota_name, validate_amount, validate_quota_name
from eachnode.server.kinds.rows import AGE, NAME, age_of, at, name_of

_PODS = frozenset(("pods",))
_POD_RESOURCES = _PODS | {"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
_CLAIMS = frozenset(("persistentvolumeclaims", "requests.storage"))
# Each scope and the resources that it can narrow down.
_SCOPES: Mapping[str, frozenset[str]] = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": _PODS,
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "VolumeAttributesClass": _CLAIMS,
}
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_EXISTS_ONLY_SENTENCE = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["status"] = {}


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    new["status"] = old.get("status", {})


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    new["spec"] = old.get("spec", {})


def _validate(tree: Tree) -> Iterator[FieldError]:
    spec = tree.get("spec", {})
    yield from _validate_amounts(spec.get("hard"), "spec.hard")
    yield from _validate_scopes(spec.get("scopes") or [], spec)
    if spec.get("scopeSelector") is not None:
        yield from _validate_selector(spec["scopeSelector"], spec)


def _validate_amounts(amounts: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    for name, amount in sorted((amounts or {}).items()):
        yield from validate_quota_name(name, f"{path}[{name}]")
        yield from validate_amount(name, amount, f"{path}[{name}]")


def _validate_scopes(scopes: list[str], spec: Tree) -> Iterator[FieldError]:
    path = "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, scopes, "unsupported scope")
        for _ in _beyond(scope, spec):
            yield invalid(path, scopes, "unsupported scope applied to resource")
    yield from _contradictions(scopes, path, scopes)


def _beyond(scope: str, spec: Tree) -> Iterator[str]:
    """The limited resources that the scope cannot narrow down."""
    for name in sorted(spec.get("hard") or ()):
        if scope in _SCOPES and is_quota_name(name) and name not in _SCOPES[scope]:
            yield name


def _contradictions(found: Sequence[str], path: str, scopes: Sequence[str]) -> Iterator[FieldError]:
    for pair in _OPPOSITES:
        if set(pair) <= set(found):
            yield invalid(path, list(scopes), "conflicting scopes")


def _validate_selector(selector: Tree, spec: Tree) -> Iterator[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    requirements = selector.get("matchExpressions") or []
    for requirement in requirements:
        scope = requirement.get("scopeName", "")
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _beyond(scope, spec):
            yield invalid(path, _as_internal(selector), "unsupported scope applied to resource")
        yield from _validate_operator(requirement, path)
    yield from _contradictions([each.get("scopeName", "") for each in requirements], path, spec.get("scopes") or [])


def _as_internal(selector: Tree) -> dict[str, Any]:
    """A selector as the reference's internal type prints."""
    requirements = selector.get("matchExpressions") or []
    return {
        "MatchExpressions": [
            {
                "ScopeName": requirement.get("scopeName", ""),
                "Operator": requirement.get("operator", ""),
                "Values": requirement.get("values"),
            }
            for requirement in requirements
        ]
    }


def _validate_operator(requirement: Tree, path: str) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if requirement.get("scopeName") in _EXISTS_ONLY and operator != "Exists":
        yield invalid(f"{path}.operator", operator, _EXISTS_ONLY_SENTENCE)
    if operator in ("In", "NotIn"):
        if not values:
            sentence = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", sentence)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            sentence = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, sentence)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    scopes = at(new, "spec", "scopes") or []
    if set(scopes) != set(at(old, "spec", "scopes") or ()):
        yield invalid("spec.scopes", scopes or None, "field is immutable")


def _validate_status(new: Tree, _old: Tree) -> Iterator[FieldError]:
    for part in ("hard", "used"):
        yield from _validate_amounts(at(new, "status", part), f"status.{part}")


def _warn(new: Tree, old: Tree | None) -> Iterator[str]:
    """On creation: requests that exceed the limits of the same resource."""
    hard = at(new, "spec", "hard") or {}
    for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and nano(hard[request]) > nano(hard[limit]):
            yield f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"


def _row(tree: Tree, now: float) -> list[Any]:
    requests: list[str] = []
    limits: list[str] = []
    hard, used = at(tree, "status", "hard") or {}, at(tree, "status", "used") or {}
    for name in sorted(hard):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(tree), ", ".join(requests), ", ".join(limits), age_of(tree, now)]


RESOURCE_QUOTA = Kind(
    resource=RESOURCE_QUOTAS,
    singular="resourcequota",
    definition="io.k8s.api.core.v1.ResourceQuota",
    short_names=("quota",),
    has_status=True,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    validate_name=name_rules.dns_subdomain,
    returns_deleted=True,
    warn=_warn,
    columns=(
        NAME,
        Column("Request", description="What is used and allowed, of all but limits."),
        Column("Limit", description="What is used and allowed of limits."),
        AGE,
    ),
    row=_row,
)
