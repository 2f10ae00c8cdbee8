"""Small checks that the validation of many parts of a pod spec shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from eachnode.objects import formats
from eachnode.objects.quantities import canonical, milli, nano
from eachnode.server.field_errors import FieldError, invalid, not_supported, required
from eachnode.server.kind import Tree

LARGEST_INT32 = 2**31 - 1
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


@dataclass(frozen=True, slots=True)
class Leniency:
    """Faults that the stored object already has and that an update may therefore keep."""

    selector_values: bool = False  # Label values in affinity selectors that no label can have.
    node_values: bool = False  # The same in required node affinity.
    spread_selector: bool = False
    spread_keys: bool = False
    huge_pages: bool = False  # Not a multiple of the page size.
    token_paths: bool = False
    host_sysctls: bool = False
    deletion_cost: bool = False
    restarting_init_resize: bool = False
    devices_in_user_namespace: bool = False
    host_network_in_user_namespace: bool = False
    empty_image_reference: bool = False
    admin_without_escalation: bool = False


@dataclass(frozen=True, slots=True)
class PodContext:
    """What the checks of one part need to know of the rest of the pod."""

    spec: Tree
    is_pod: bool  # A pod itself, not a template.
    name: str = ""  # The name of a pod; empty for templates.
    annotations: dict[str, str] = field(default_factory=dict)
    lenient: Leniency = Leniency()
    volumes: dict[str, Tree] = field(default_factory=dict)  # The sound ones by name.
    claims: frozenset[str] = frozenset()  # The names of resource claims.

    @property
    def grace(self) -> int | None:
        """The termination grace period in seconds."""
        return self.spec.get("terminationGracePeriodSeconds")

    @property
    def host_users(self) -> bool:
        """Whether users in the containers are those of the node."""
        return self.spec.get("hostUsers") is not False


def wrong(path: str, value: Any, problems: Iterable[str]) -> Iterator[FieldError]:
    """One error for each problem of a value."""
    return (invalid(path, value, problem) for problem in problems)


def dns_label(path: str, value: str) -> Iterator[FieldError]:
    """The value must be a DNS label."""
    return wrong(path, value, formats.dns_label(value))


def dns_subdomain(path: str, value: str) -> Iterator[FieldError]:
    """The value must be DNS labels joined by dots."""
    return wrong(path, value, formats.dns_subdomain(value))


def name_or_required(path: str, value: str | None) -> Iterator[FieldError]:
    """The value must be there and be a DNS label."""
    return dns_label(path, value) if value else iter((required(path),))


def one_of(path: str, value: Any, supported: Sequence[str]) -> Iterator[FieldError]:
    """The value, if set, must be one of those known, which are named in this order."""
    if value is not None and value not in supported:
        yield not_supported(path, value, supported)


def required_one_of(path: str, value: Any, supported: Sequence[str]) -> Iterator[FieldError]:
    """The value must be set, to one of those known."""
    if not value:
        yield required(path)
    else:
        yield from one_of(path, value, supported)


def must_have(tree: Tree, path: str, *fields: str) -> Iterator[FieldError]:
    """These fields must not be empty."""
    for name in fields:
        if not tree.get(name):
            yield required(f"{path}.{name}")


def not_negative(path: str, value: int | None) -> Iterator[FieldError]:
    """The number must not be negative."""
    if value is not None and value < 0:
        yield invalid(path, value, "must be greater than or equal to 0")


def positive(path: str, value: int) -> Iterator[FieldError]:
    """The number must be above zero."""
    if value <= 0:
        yield invalid(path, value, "must be greater than zero")


def file_mode(path: str, mode: int | None) -> Iterator[FieldError]:
    """The permissions of a file, if given."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, FILE_MODE)


def no_backsteps(path: str, target: str) -> Iterator[FieldError]:
    """The file path must not lead upwards."""
    if ".." in target.split("/"):
        yield invalid(path, target, "must not contain '..'")


def descending(path: str, target: str) -> Iterator[FieldError]:
    """The file path must be relative and not lead upwards."""
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    yield from no_backsteps(path, target)


def local_path(path: str, target: str) -> Iterator[FieldError]:
    """The same, and its name must not begin with two dots, which volumes use themselves."""
    yield from descending(path, target)
    if target.startswith("..") and not target.startswith("../"):
        yield invalid(path, target, "must not start with '..'")


def is_integral(amount: str) -> bool:
    """Whether an amount is whole, to the thousandth."""
    return milli(amount) % 1000 == 0


def quantity_not_negative(path: str, amount: str) -> Iterator[FieldError]:
    """The amount must not be below zero."""
    if nano(amount) < 0:
        yield invalid(path, canonical(amount), "must be greater than or equal to 0")


def each(tree: Tree, name: str, path: str) -> Iterator[tuple[Tree, str]]:
    """The entries of a list with their paths."""
    for index, entry in enumerate(tree.get(name) or ()):
        yield entry, f"{path}.{name}[{index}]"
