"""Keeps the rules of cluster roles that gather those of others: the rules of all roles that carry certain labels.

The rules are written into the gathering role, where everybody can read them, a moment after something changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.resources import CLUSTER_ROLES
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.status import ApiError
from eachnode.server.api_server import OURSELVES, ApiServer
from eachnode.server.kind import Call, Tree
from eachnode.server.verbs.update import modify


class AggregatedRoles:
    """The cluster roles of one server, and what some of them gather from the others."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._roles: dict[str, Tree] = {}
        self._worker: asyncio.Task[None] | None = None
        server.follow(CLUSTER_ROLES, self._see)

    async def settled(self) -> None:
        """Waits until all rules are gathered."""
        self._work()
        if self._worker is not None:
            await self._worker

    def _see(self, old: Document | None, new: Document | None) -> None:
        if new is not None:
            tree = new.tree()
            self._roles[tree["metadata"]["name"]] = tree
        elif old is not None:
            self._roles.pop(old.tree()["metadata"]["name"], None)
        self._work()

    def _work(self) -> None:
        """Has the rules gathered; before the server runs, they wait for `settled`."""
        if self._worker is None or self._worker.done():
            with suppress(RuntimeError):  # No loop runs yet.
                self._worker = asyncio.get_running_loop().create_task(self._gather())

    async def _gather(self) -> None:
        while stale := dict(self._stale()):
            await asyncio.sleep(0)  # The write that woke us is answered first.
            for name, rules in stale.items():
                self._write(name, rules)

    def _stale(self) -> Iterator[tuple[str, list[Tree]]]:
        """The roles whose rules are not what they gather, with what these should be."""
        for name, role in self._roles.items():
            if role.get("aggregationRule") and (rules := gathered(role, self._roles)) != (role.get("rules") or []):
                yield name, rules

    def _write(self, name: str, rules: list[Tree]) -> None:
        def change(tree: Tree) -> None:
            tree["rules"] = rules

        registry = self._server.registry
        call = Call(OURSELVES, registry.now(), verb="update")
        try:
            modify(registry, call, registry.served(CLUSTER_ROLES), "", name, change)
            self._roles[name] = {**self._roles[name], "rules": rules}  # It is seen once it is committed.
        except ApiError:  # It is gone, or nothing can be written now: the next change looks again.
            self._roles.pop(name, None)


def gathered(role: Tree, roles: Mapping[str, Tree]) -> list[Tree]:
    """The rules of all other roles that a role selects, each once, selector by selector and in order of names."""
    rules: list[Tree] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        wanted = msgspec.convert(selector, LabelSelector)
        for name, other in sorted(roles.items()):
            if name != role["metadata"]["name"] and wanted.matches(other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
