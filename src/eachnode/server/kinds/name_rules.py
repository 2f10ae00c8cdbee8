"""What objects of a kind may be called; a generateName is judged with its last dash masked."""

from __future__ import annotations

from eachnode.objects import formats


def dns_label(name: str, is_prefix: bool) -> str | None:
    """Namespaces and services' likes: one DNS label."""
    return _first(formats.dns_label(_masked(name, is_prefix)))


def dns_subdomain(name: str, is_prefix: bool) -> str | None:
    """Most kinds: DNS labels joined by dots."""
    return _first(formats.dns_subdomain(_masked(name, is_prefix)))


def dns_1035_label(name: str, is_prefix: bool) -> str | None:
    """Kinds whose names begin with a letter."""
    return _first(formats.dns_1035_label(_masked(name, is_prefix)))


def path_segment(name: str, is_prefix: bool) -> str | None:
    """Roles and their bindings: whatever may stand in a URL."""
    return _first(formats.path_segment_prefix(name) if is_prefix else formats.path_segment(name))


def _masked(name: str, is_prefix: bool) -> str:
    return formats.name_prefix(name) if is_prefix else name


def _first(problems: formats.Problems) -> str | None:
    return problems[0] if problems else None
