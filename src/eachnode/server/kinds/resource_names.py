"""Names and amounts of resources: what may stand in a node's capacity, a quota or a limit range."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects.formats import qualified_name
from eachnode.objects.quantities import nano
from eachnode.server.field_errors import FieldError, invalid

_COUNTED = frozenset((
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
))  # fmt: skip
_QUOTA = _COUNTED | frozenset((
    "cpu", "memory", "ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
    "limits.cpu", "limits.memory", "limits.ephemeral-storage",
))  # fmt: skip
_STANDARD = _QUOTA | {"storage"}
_CONTAINER = frozenset(("cpu", "memory", "ephemeral-storage"))


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines it: no domain, or its own."""
    return "/" not in name or "kubernetes.io/" in name


def is_huge_page(name: str) -> bool:
    """Memory pages of one large size: `hugepages-2Mi`."""
    return name.startswith("hugepages-")


def is_extended(name: str) -> bool:
    """A device or the like that somebody else defines: `example.com/gpu`."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def is_overcommit_allowed(name: str) -> bool:
    """Whether limits may exceed requests."""
    return is_native(name) and not is_huge_page(name)


def is_quota_name(name: str) -> bool:
    """Whether a quota may limit it by this bare name."""
    return name in _QUOTA or is_huge_page(name) or name.startswith("requests.hugepages-")


def validate_resource_name(name: str, path: str) -> Iterator[FieldError]:
    """Any resource: a standard one, or qualified by a domain."""
    problems = qualified_name(name)
    for problem in problems:
        yield invalid(path, name, problem)
    if not problems and "/" not in name and not (name in _STANDARD or is_quota_name(name)):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def validate_quota_name(name: str, path: str) -> Iterator[FieldError]:
    """A resource that a quota limits; `count/pods` and the like are qualified names."""
    yield from validate_resource_name(name, path)
    if "/" not in name and not is_quota_name(name):
        yield invalid(path, name, "must be a standard resource for quota")


def validate_container_name(name: str, path: str) -> Iterator[FieldError]:
    """A resource that containers may ask for."""
    yield from validate_resource_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not is_huge_page(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def validate_amount(name: str, amount: str, path: str) -> Iterator[FieldError]:
    """An amount of a resource: not negative, and whole for things that are counted."""
    size = nano(amount)
    if size < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")
    if size % 1_000_000_000 and (name in _COUNTED or is_extended(name)):
        yield invalid(path, amount, "must be an integer")
