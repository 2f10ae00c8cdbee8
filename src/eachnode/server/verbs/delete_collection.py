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
from eachnode.server.verbs.listing import ListOptions, choose
from eachnode.server.verbs.registry import Registry, Served

_AT_ONCE = 200


async def delete_collection(
    registry: Registry,
    call: Call,
    served: Served,
    selection: Selection,
    options: DeleteOptions,
    listing: ListOptions,
) -> Page:
    """Deletes the selected objects, or one page of them, or begins to; answers with them as they were."""
    call = replace(call, verb="delete")
    chosen, page = choose(registry, served, selection, listing)
    for first in range(0, len(chosen), _AT_ONCE):
        try:
            for stored in chosen[first : first + _AT_ONCE]:
                with suppress(NotFound):  # Somebody else was faster.
                    delete(registry, call, served, stored.namespace, stored.name, options)
        finally:
            await registry.store.settled()
    return page
