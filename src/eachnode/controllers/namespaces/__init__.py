"""Namespace upkeep: what each namespace has from the start, and its removal with all it holds."""

from eachnode.controllers.namespaces.loop import NamespaceOptions, Namespaces

__all__ = ["NamespaceOptions", "Namespaces"]
