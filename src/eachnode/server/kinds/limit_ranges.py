"""Limit ranges: bounds and defaults for what single pods and containers ask for. Admission applies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID, uuid5

from eachnode.objects.formats import qualified_name
from eachnode.objects.quantities import nano
from eachnode.objects.resources import LIMIT_RANGES
from eachnode.server.field_errors import FieldError, duplicate, forbidden, invalid, required
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.resource_names import (
    is_overcommit_allowed,
    validate_container_name,
    validate_resource_name,
)
from eachnode.server.kinds.rows import at

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_ONE = 10**9


def _prepare_create(tree: Tree, _call: Call) -> None:
    """One without a name is called by its uid's like."""
    if not tree["metadata"].get("name"):
        tree["metadata"]["name"] = str(uuid5(UUID(tree["metadata"]["uid"]), LIMIT_RANGES.plural))


def _default(tree: Tree) -> None:
    for limit in at(tree, "spec", "limits") or ():
        if limit.get("type") == "Container":
            _fill(limit, "default", "max")
            _fill(limit, "defaultRequest", "default")
            _fill(limit, "defaultRequest", "min")


def _fill(limit: Tree, part: str, source: str) -> None:
    """What `part` does not say is as in `source`."""
    if merged := {**(limit.get(source) or {}), **(limit.get(part) or {})}:
        limit[part] = merged


def _validate(tree: Tree) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, limit in enumerate(at(tree, "spec", "limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        yield from _validate_type(kind, f"{path}.type")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _validate_names(limit, path)
        for name in sorted(_names(limit)):
            yield from _validate_bounds(limit, name, path)


def _validate_type(kind: str, path: str) -> Iterator[FieldError]:
    problems = qualified_name(kind)
    for problem in problems:
        yield invalid(path, kind, problem)
    if not problems and "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _parts(limit: Tree) -> tuple[str, ...]:
    """The parts that name resources; a pod has no defaults."""
    defaults = () if limit.get("type") == "Pod" else ("default", "defaultRequest")
    return ("max", "min", *defaults, "maxLimitRequestRatio")


def _names(limit: Tree) -> set[str]:
    return {name for part in _parts(limit) for name in limit.get(part) or ()}


def _validate_names(limit: Tree, path: str) -> Iterator[FieldError]:
    kind = limit.get("type", "")
    check = validate_container_name if kind in ("Pod", "Container") else validate_resource_name
    for part in ("default", "defaultRequest"):
        if kind == "Pod" and limit.get(part):
            yield forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
    for part in _parts(limit):
        for name in sorted(limit.get(part) or ()):
            yield from check(name, f"{path}.{part}[{name}]")
    bounds = {**(limit.get("min") or {}), **(limit.get("max") or {})}
    if kind == "PersistentVolumeClaim" and "storage" not in bounds:
        sentence = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", sentence)


class _Order(NamedTuple):
    """`lower` must not exceed `upper`; `blamed` is the part under which the fault is reported, with whose value."""

    lower: str
    upper: str
    blamed: str
    value: str
    sentence: Callable[[str, str], str]


_ORDERS = (
    _Order("min", "max", "min", "min", lambda low, high: f"min value {low} is greater than max value {high}"),
    _Order(
        "min", "defaultRequest", "defaultRequest", "defaultRequest",
        lambda low, high: f"min value {low} is greater than default request value {high}",
    ),
    _Order(
        "defaultRequest", "max", "defaultRequest", "defaultRequest",
        lambda low, high: f"default request value {low} is greater than max value {high}",
    ),
    _Order(
        "defaultRequest", "default", "defaultRequest", "defaultRequest",
        lambda low, high: f"default request value {low} is greater than default limit value {high}",
    ),
    _Order(
        "min", "default", "default", "min",
        lambda low, high: f"min value {low} is greater than default value {high}",
    ),
    _Order(
        "default", "max", "default", "max",
        lambda low, high: f"default value {low} is greater than max value {high}",
    ),
)  # fmt: skip


def _validate_bounds(limit: Tree, name: str, path: str) -> Iterator[FieldError]:
    has = {part: (limit.get(part) or {})[name] for part in _parts(limit) if name in (limit.get(part) or {})}
    for order in _ORDERS:
        if order.lower in has and order.upper in has and nano(has[order.lower]) > nano(has[order.upper]):
            sentence = order.sentence(has[order.lower], has[order.upper])
            yield invalid(f"{path}.{order.blamed}[{name}]", has[order.value], sentence)
    yield from _validate_ratio(has, f"{path}.maxLimitRequestRatio[{name}]")
    limits, requests = has.get("default"), has.get("defaultRequest")
    if (
        limits is not None
        and requests is not None
        and not is_overcommit_allowed(name)
        and nano(limits) != nano(requests)
    ):
        sentence = f"default value {limits} must equal to defaultRequest value {requests} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", requests, sentence)


def _validate_ratio(has: Mapping[str, str], path: str) -> Iterator[FieldError]:
    ratio = has.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if nano(ratio) < _ONE:
        yield invalid(path, ratio, f"ratio {ratio} is less than 1")
    if "min" in has and "max" in has and nano(has["min"]):
        largest = nano(has["max"]) / nano(has["min"])
        if nano(ratio) / _ONE > largest:
            yield invalid(path, ratio, f"ratio {ratio} is greater than max/min = {largest:f}")


LIMIT_RANGE = Kind(
    resource=LIMIT_RANGES,
    singular="limitrange",
    definition="io.k8s.api.core.v1.LimitRange",
    short_names=("limits",),
    default=_default,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_name=name_rules.dns_subdomain,
    create_on_update=True,
)
