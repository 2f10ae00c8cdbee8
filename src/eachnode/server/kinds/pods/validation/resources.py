"""Requests and limits: of containers, of pods as a whole, and what both must have to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from eachnode.objects import formats
from eachnode.objects.quantities import canonical, nano, whole
from eachnode.server.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, shown
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import is_windows
from eachnode.server.kinds.pods.resource_sums import sum_of_containers
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext

HUGE_PAGES = "hugepages-"
_COMPUTE = ("cpu", "memory")
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_COUNTED = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
)
_STANDARD = frozenset(
    (
        *_CONTAINER_RESOURCES,
        *_COUNTED,
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "storage",
        "requests.storage",
    )
)

Errors = Iterator[FieldError]
NameRule = Callable[[str, str], Errors]


def is_native(name: str) -> bool:
    """Whether a resource is one of Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a resource is somebody else's, `example.com/gpu`."""
    return not (is_native(name) or name.startswith("requests.") or formats.qualified_name(f"requests.{name}"))


def may_overcommit(name: str) -> bool:
    """Whether limits of a resource may be higher than requests."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def validate_container_resources(resources: Tree, path: str, pod: PodContext) -> Errors:
    """The requests and limits of a container (also a pod's overhead, which counts as limits)."""
    return _validate_requirements(resources, path, pod, _container_resource_name)


def validate_pod_resources(spec: Tree, path: str, pod: PodContext) -> Errors:
    """The requests and limits of a pod as a whole."""
    resources = spec.get("resources")
    if resources is None:
        return
    if is_windows(spec):
        yield forbidden(path, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _validate_requirements(resources, path, pod, _pod_resource_name)
    yield from _validate_sums(spec, resources, path)


@dataclass(slots=True)
class _Seen:
    """What kinds of resources were met."""

    compute: bool = False
    huge_pages: bool = False

    def note(self, name: str) -> None:
        self.compute |= name in _COMPUTE
        self.huge_pages |= name.startswith(HUGE_PAGES)


def _validate_requirements(resources: Tree, path: str, pod: PodContext, name_rule: NameRule) -> Errors:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    seen = _Seen()
    for name, amount in sorted(limits.items()):
        place = f"{path}.limits[{name}]"
        yield from _validate_amount(name, amount, place, name_rule)
        yield from _validate_huge_page(name, amount, place, pod)
        seen.note(name)
    for name, amount in sorted(requests.items()):
        place = f"{path}.requests[{name}]"
        yield from _validate_amount(name, amount, place, name_rule)
        yield from _validate_against_limit(name, amount, limits.get(name), path)
        yield from _validate_huge_page(name, amount, place, pod)
        seen.note(name)
    if seen.huge_pages and not seen.compute:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _validate_claims(resources.get("claims") or (), f"{path}.claims", pod)


def _validate_amount(name: str, amount: str, path: str, name_rule: NameRule) -> Errors:
    yield from name_rule(name, path)
    yield from fields.quantity_not_negative(path, amount)
    if (name in _COUNTED or is_extended(name)) and not fields.is_integral(amount):
        yield invalid(path, canonical(amount), "must be an integer")


def _validate_against_limit(name: str, amount: str, limit: str | None, path: str) -> Errors:
    if limit is None:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif nano(amount) != nano(limit) and not may_overcommit(name):
        sentence = f"must be equal to {name} limit of {canonical(limit)}"
        yield invalid(f"{path}.requests", canonical(amount), sentence)
    elif nano(amount) > nano(limit):
        sentence = f"must be less than or equal to {name} limit of {canonical(limit)}"
        yield invalid(f"{path}.requests", canonical(amount), sentence)


def _validate_huge_page(name: str, amount: str, path: str, pod: PodContext) -> Errors:
    if name.startswith(HUGE_PAGES) and not pod.lenient.huge_pages and not divides(name, amount):
        yield invalid(path, canonical(amount), f"{canonical(amount)} is not positive integer multiple of {name}")


def divides(name: str, amount: str) -> bool:
    """Whether an amount of huge pages is a multiple of the page size that the resource is named for."""
    try:
        size = name.removeprefix(HUGE_PAGES)
        return whole(size) > 0 and fields.is_integral(size) and whole(amount) % whole(size) == 0
    except ValueError:
        return False


def _resource_name(name: str, path: str) -> Errors:
    problems = formats.qualified_name(name)
    yield from fields.wrong(path, name, problems)
    if not problems and "/" not in name and not _is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def _container_resource_name(name: str, path: str) -> Errors:
    yield from _resource_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def _pod_resource_name(name: str, path: str) -> Errors:
    problems = list(_resource_name(name, path))
    yield from problems
    if not problems and name not in _COMPUTE and not name.startswith(HUGE_PAGES):
        yield not_supported(path, name, ("cpu", HUGE_PAGES, "memory"))


def _validate_claims(claims: Iterable[Tree], path: str, pod: PodContext) -> Errors:
    """References to the pod's resource claims: each claim, or each request of one, once."""
    used: set[str] = set()
    for index, claim in enumerate(claims):
        name, place = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            yield required(place)
            continue
        yield from _validate_claim_use(name, claim.get("request", ""), used, place)
        if name not in pod.claims:
            names = f": {', '.join(sorted(pod.claims))}" if pod.claims else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{names}"
            yield FieldError(place, "FieldValueNotFound", f"Not found: {shown(name)}: {detail}")


def _validate_claim_use(name: str, request: str, used: set[str], path: str) -> Errors:
    if name in used:
        yield duplicate(path, name)
        return
    key = f"{name}/{request}" if request else name
    if request:
        yield from fields.dns_label(f"{path}.request", request)
    if key in used:
        yield duplicate(path, key)
    elif not request:
        yield from (duplicate(path, name) for other in used if "/" in other and other.partition("/")[0] == name)
    used.add(key)


def _validate_sums(spec: Tree, resources: Tree, path: str) -> Errors:
    """What containers ask for must fit into what the pod as a whole asks for."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in sorted(sum_of_containers(spec, "requests").items()):
        yield from _validate_sum(name, amount, requests, f"{path}.requests", "requests")
    for name, amount in sorted(sum_of_containers(spec, "limits").items()):
        if name.startswith(HUGE_PAGES):
            yield from _validate_sum(name, amount, limits, f"{path}.limits", "limits")
    for index, container in enumerate(spec.get("containers") or ()):
        own = (container.get("resources") or {}).get("limits") or {}
        for name, amount in sorted(own.items()):
            if name in limits and nano(amount) > nano(limits[name]):
                sentence = f"must be less than or equal to pod limits of {canonical(limits[name])}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", canonical(amount), sentence)


def _validate_sum(name: str, amount: str, allowed: Mapping[str, str], path: str, part: str) -> Errors:
    if name in allowed and nano(amount) > nano(allowed[name]):
        sentence = f"must be greater than or equal to aggregate container {part} of {canonical(amount)}"
        yield invalid(f"{path}[{name}]", canonical(allowed[name]), sentence)
