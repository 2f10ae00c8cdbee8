"""Puts the server together: the built-in kinds over a store, with the admission of a default cluster."""

from __future__ import annotations

import msgspec

from eachnode.objects.clock import Chance, Clock
from eachnode.server.admission import default_admission, default_judges
from eachnode.server.api_server import ApiServer
from eachnode.server.custom_kinds import CustomKinds
from eachnode.server.kinds import BUILT_IN
from eachnode.server.kinds.fresh_cluster import initial_objects
from eachnode.server.store import Store


def make_server(store: Store, *, clock: Clock, chance: Chance) -> ApiServer:
    """The API over what the store holds."""
    steps, judges = default_admission(), default_judges()
    return ApiServer(store, BUILT_IN, clock=clock, chance=chance, admission=steps, judges=judges)


async def furnish(server: ApiServer) -> None:
    """Serve the kinds that users brought, and create what every cluster has from the start, as far as it is missing."""
    await CustomKinds(server).settled()
    for resource, tree in initial_objects():
        metadata = tree["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        if server.registry.served(resource).shelf.get(namespace, name) is None:
            await server.create(resource, msgspec.json.encode(tree), namespace)
