"""Who owns whom, by uid, kept up to date object by object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from eachnode.decisions.garbage import Owned
from eachnode.objects.meta import OwnerReference
from eachnode.objects.resources import Resource

REMEMBERED = 10_000  # How many of the objects seen to go are remembered.


class Node(NamedTuple):
    """One object and the kind it is of."""

    resource: Resource
    item: Owned


class Graph:
    """Every object by uid, and the dependents of each owner, known or not."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._dropped: dict[str, None] = {}  # Uids never come back, so one that was seen to go needs no look-up.

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, uid: str) -> bool:
        return uid in self._nodes

    def find(self, uid: str) -> Node | None:
        """The object of this uid, if it exists."""
        return self._nodes.get(uid)

    def named_by(self, owner: OwnerReference, namespace: str) -> Node | None:
        """The object that an owner reference means, written in this namespace: all that it says has to be so."""
        node = self._nodes.get(owner.uid)
        if node is None:
            return None
        resource, metadata = node.resource, node.item.metadata
        group = owner.api_version.rpartition("/")[0]
        if (group, owner.kind, owner.name) != (resource.group, resource.kind, metadata.name):
            return None
        return node if not resource.namespaced or metadata.namespace == namespace else None

    def dependents(self, uid: str) -> Iterator[Node]:
        """The objects that name this uid as an owner, in the order in which they appeared."""
        for dependent in self._dependents.get(uid, ()):
            yield self._nodes[dependent]

    def put(self, resource: Resource, item: Owned) -> None:
        """Take notice of an object, new or changed."""
        uid = item.metadata.uid
        before = self._nodes.get(uid)
        self._nodes[uid] = Node(resource, item)
        if before is not None:
            if before.item.owners == item.owners:
                return
            self._unlink(uid, before.item)
        for owner in item.owners:
            self._dependents[owner.uid][uid] = None

    def drop(self, uid: str) -> None:
        """Forget an object that is gone."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        self._unlink(uid, node.item)
        self._dropped[uid] = None
        if len(self._dropped) > REMEMBERED:
            del self._dropped[next(iter(self._dropped))]

    def was_dropped(self, uid: str) -> bool:
        """Whether an object of this uid was seen to go, lately."""
        return uid in self._dropped

    def _unlink(self, uid: str, item: Owned) -> None:
        for owner in item.owners:
            dependents = self._dependents.get(owner.uid)
            if dependents is not None:
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[owner.uid]
