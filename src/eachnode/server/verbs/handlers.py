"""Subresources that do as they like (binding, eviction, log), and kinds that are asked and not stored (reviews)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import Resource
from eachnode.server.kind import Answer, Asked, Call, Tree
from eachnode.server.verbs import refusals
from eachnode.server.verbs.delete import delete
from eachnode.server.verbs.registry import Registry, Served, TreeReader
from eachnode.server.verbs.update import modify


def ask(registry: Registry, call: Call, served: Served, asked: Asked) -> Answer:
    """What the handler answers; raises NotFound or MethodNotAllowed where there is none."""
    rules = served.subresources.get(asked.subresource)
    if rules is None:
        raise refusals.no_such_resource()
    if rules.handle is None or asked.verb not in rules.verbs:
        raise refusals.not_allowed(served.resource, asked.verb)
    return rules.handle(_Hands(registry), call, asked)


class _Hands(TreeReader):
    """What a handler may do."""

    def modify(
        self, call: Call, resource: Resource, namespace: str, name: str, change: Callable[[Tree], None]
    ) -> Answer:
        """Changes the newest state of an object, without asking its kind's rules; raises NotFound."""
        return modify(self._registry, call, self._registry.served(resource), namespace, name, change)

    def remove(
        self, call: Call, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> Answer:
        """A DELETE."""
        served = self._registry.served(resource)
        call = replace(call, verb="delete")
        return delete(self._registry, call, served, namespace, name, options or DeleteOptions())
