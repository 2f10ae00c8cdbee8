"""What the front itself reads from the store: roles, definitions of custom kinds, and whether somebody still exists."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS, SERVICE_ACCOUNTS, Resource
from eachnode.objects.status import AlreadyExists, NotFound
from eachnode.server.api_server import ApiServer
from eachnode.server.http.authorization import RBAC_KINDS
from eachnode.server.http.default_roles import default_roles
from eachnode.server.http.tokens import AccountClaims
from eachnode.server.kind import Tree
from eachnode.server.store import Shelf


class ClusterState:
    """The committed objects, and how often those of some kinds have changed."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._changes: Counter[Resource] = Counter()
        for kind in (*RBAC_KINDS, CUSTOM_RESOURCE_DEFINITIONS):
            self._count_changes(kind)

    def documents(self, kind: Resource) -> Iterable[Document]:
        """All objects of a kind; none when it is not served."""
        shelf = self._shelf(kind)
        return () if shelf is None else [stored.document for stored in shelf.listed()]

    def changes(self, kind: Resource) -> int:
        """A number that grows whenever an object of the kind changes."""
        return self._changes[kind]

    def still_there(self, claims: AccountClaims) -> bool:
        """Whether a token's account, and the pod it is bound to, are still the ones it was issued for."""
        if not self._is_same(SERVICE_ACCOUNTS, claims.namespace, claims.name, claims.uid):
            return False
        if claims.bound_kind == "Pod":
            return self._is_same(PODS, claims.namespace, claims.bound_name, claims.bound_uid)
        return True

    async def ensure_default_roles(self) -> None:
        """Creates those of the default roles and bindings that are missing, all with one commit."""
        wanted = [(kind, tree, self._shelf(kind)) for kind, tree in default_roles()]
        missing = [
            (kind, tree)
            for kind, tree, shelf in wanted
            if shelf is not None and shelf.committed("", tree["metadata"]["name"]) is None
        ]
        await asyncio.gather(*(self._create(kind, tree) for kind, tree in missing))

    async def _create(self, kind: Resource, tree: Tree) -> None:
        with contextlib.suppress(AlreadyExists):
            await self._api.create(kind, msgspec.json.encode(tree))

    def _is_same(self, kind: Resource, namespace: str, name: str, uid: str) -> bool:
        shelf = self._shelf(kind)
        stored = None if shelf is None else shelf.committed(namespace, name)
        return stored is not None and stored.uid == uid

    def _count_changes(self, kind: Resource) -> None:
        shelf = self._shelf(kind)
        if shelf is not None:
            shelf.follow(lambda _old, _new: self._changes.update((kind,)))

    def _shelf(self, kind: Resource) -> Shelf | None:
        """Where the objects of a kind are, if it is served at all."""
        try:
            return self._api.registry.served(kind).shelf
        except NotFound:
            return None
