"""DELETE of a collection: each of its objects in turn, a few hundred between two turns of the loop."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.status import NotFound
from eachnode.objects.watching import Page
from eachnode.server.kind import Call
from eachnode.server.store import Selection
from eachnode.server.verbs.delete import delete
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.writing import show

_AT_ONCE = 200


async def delete_collection(
    registry: Registry, call: Call, served: Served, selection: Selection, options: DeleteOptions
) -> Page:
    """Deletes the selected objects, or begins to; answers with them as they were."""
    call = replace(call, verb="delete")
    chosen = [stored for stored in served.shelf.listed(selection.namespace) if selection.matches(stored)]
    version = registry.store.committed
    for first in range(0, len(chosen), _AT_ONCE):
        try:
            for stored in chosen[first : first + _AT_ONCE]:
                with suppress(NotFound):  # Somebody else was faster.
                    delete(registry, call, served, stored.namespace, stored.name, options)
        finally:
            await registry.store.settled()
    return Page(tuple(show(served, stored) for stored in chosen), str(version))
