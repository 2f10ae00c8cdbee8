"""What objects of a kind may be called; a generateName is judged with its last dash masked."""

from __future__ import annotations

from eachnode.objects import formats

_STANDARD_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")


def dns_label(name: str, is_prefix: bool) -> formats.Problems:
    """Namespaces and services' likes: one DNS label."""
    return formats.dns_label(_masked(name, is_prefix))


def dns_subdomain(name: str, is_prefix: bool) -> formats.Problems:
    """Most kinds: DNS labels joined by dots."""
    return formats.dns_subdomain(_masked(name, is_prefix))


def dns_1035_label(name: str, is_prefix: bool) -> formats.Problems:
    """Kinds whose names begin with a letter."""
    return formats.dns_1035_label(_masked(name, is_prefix))


def path_segment(name: str, is_prefix: bool) -> formats.Problems:
    """Roles and their bindings: whatever may stand in a URL."""
    return formats.path_segment_prefix(name) if is_prefix else formats.path_segment(name)


def domainless_finalizer(name: str) -> formats.Problems:
    """A finalizer without a domain is one of those that Kubernetes itself knows."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return ()
    return ("name is neither a standard finalizer name nor is it fully qualified",)


def _masked(name: str, is_prefix: bool) -> str:
    return formats.name_prefix(name) if is_prefix else name
