"""GET of a collection: a consistent page of objects, in order."""

from __future__ import annotations

from eachnode.objects.watching import Page
from eachnode.server.store import Selection
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.writing import show


async def list_page(registry: Registry, served: Served, selection: Selection) -> Page:
    """The objects that are selected."""
    await registry.store.readable(served.shelf)
    found = [stored for stored in served.shelf.within(selection.namespace) if selection.matches(stored)]
    return Page(tuple(show(served, stored) for stored in found), str(registry.store.committed))
