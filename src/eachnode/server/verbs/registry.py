"""The kinds that are served, each with the shelf that holds its objects; kinds come and go while the server runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from eachnode.objects.clock import Chance, Clock
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.server.kind import Call, Kind, Reader, Subresource, Tree
from eachnode.server.store import Shelf, Store
from eachnode.server.store.stored import FieldReader
from eachnode.server.verbs.refusals import no_such_resource


class Admission(Protocol):
    """One step that every write passes: it may change the new object, or refuse it.

    `call.verb` says which write it is; in a deletion, `tree` and `old` are both the object that is to go.
    """

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:
        """Changes the tree in place, or raises an ApiError."""
        ...


@dataclass(slots=True)
class Served:
    """One kind and where its objects are."""

    kind: Kind
    shelf: Shelf
    subresources: dict[str, Subresource] = field(default_factory=dict)

    @property
    def resource(self) -> Resource:
        """The name under which it is served."""
        return self.kind.resource

    @property
    def judged_as(self) -> Resource:
        """What validation calls it: events of either group are judged as those that are stored."""
        return self.kind.alias.of if self.kind.alias else self.resource

    @property
    def shows_otherwise(self) -> bool:
        """Whether objects are shown in another form than they are stored in."""
        return self.kind.alias is not None or bool(self.kind.verbatim)

    def namespace(self, namespace: str) -> str:
        """The namespace that counts: none for kinds of the whole cluster."""
        return namespace if self.resource.namespaced else ""

    def asks(self, subresource: str) -> bool:
        """Whether a handler answers for this subresource (`` is the kind itself)."""
        rules = self.subresources.get(subresource)
        return rules is not None and rules.handle is not None

    def rules(self, subresource: str) -> Subresource:
        """The rules by which the object, or this part of it, is written; raises NotFound when it has no such part."""
        kind = self.kind
        if not subresource:
            return Subresource(kind=kind.resource.kind, prepare=kind.prepare_update, validate=kind.validate_update)
        if subresource == "status" and kind.has_status:
            return Subresource(kind=kind.resource.kind, prepare=kind.prepare_status, validate=kind.validate_status)
        known = self.subresources.get(subresource)
        if known is None:
            raise no_such_resource()
        return known

    def inward(self, tree: Tree) -> Tree:
        """An object of this kind in the form in which it is stored."""
        return self.kind.alias.stored(tree) if self.kind.alias else tree

    def outward(self, tree: Tree) -> Tree:
        """A stored object in the form of this kind."""
        return self.kind.alias.shown(tree) if self.kind.alias else tree


class Registry:
    """All served kinds, and what the verbs need besides: the store, time, chance and admission."""

    def __init__(
        self,
        store: Store,
        kinds: Iterable[Kind],
        *,
        clock: Clock,
        chance: Chance,
        admission: Sequence[Admission] = (),
        judges: Sequence[Admission] = (),
    ) -> None:
        self.store = store
        self.clock = clock
        self.chance = chance
        self.admission = admission
        self.judges = judges
        self._served: dict[Resource, Served] = {}
        for kind in sorted(kinds, key=lambda kind: kind.alias is not None):  # What is aliased comes first.
            self.register(kind)

    def register(self, kind: Kind) -> None:
        """Serves a kind from now on, in place of what was served under the same name."""
        stored_as = kind.alias.of if kind.alias else kind.resource
        shelf = self.store.shelf(stored_as, {} if kind.alias else kind.fields, kind.lifetime)
        shelf.readers.late |= _late_fields(kind, shelf)
        self._served[kind.resource] = Served(kind, shelf, dict(kind.subresources))

    def unregister(self, resource: Resource) -> None:
        """Serves a kind no longer; ValueError when it still has objects and no other name."""
        served = self.served(resource)
        if not any(other.shelf is served.shelf for other in self if other is not served):
            self.store.discard(served.shelf.resource)
        del self._served[resource]

    def served(self, resource: Resource) -> Served:
        """The kind of this name; raises NotFound when it is not served."""
        known = self._served.get(resource)
        if known is None:
            raise no_such_resource()
        return known

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The kind that is served under this name, or None."""
        for served in self:
            resource = served.resource
            if (resource.group, resource.version, resource.plural) == (group, version, plural):
                return served
        return None

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def now(self) -> float:
        """Seconds since 1970."""
        return self.clock.now()


def _late_fields(kind: Kind, shelf: Shelf) -> dict[str, FieldReader]:
    """The fields that the shelf does not read at once: those of other forms of its objects."""

    def shown(read: FieldReader) -> FieldReader:
        alias = kind.alias
        return read if alias is None else lambda tree: read(alias.shown(tree))

    return {name: shown(read) for name, read in kind.fields.items() if name not in shelf.readers.at_once}


class TreeReader:
    """The store as rules and admission read it: the newest state, as fresh copies."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, resource: Resource, namespace: str, name: str) -> Tree | None:
        """One object, or None."""
        served = self._registry.served(resource)
        stored = served.shelf.get(served.namespace(namespace), name)
        return None if stored is None else served.outward(stored.document.tree())

    def list(self, resource: Resource, namespace: str = "") -> Iterable[Tree]:
        """All objects of a kind, in one namespace or in all."""
        served = self._registry.served(resource)
        return (served.outward(stored.document.tree()) for stored in served.shelf.within(namespace))

    def documents(self, resource: Resource, namespace: str = "") -> Iterable[Document]:
        """The same as they are stored: nothing is decoded."""
        return (stored.document for stored in self._registry.served(resource).shelf.within(namespace))


def admit(registry: Registry, kind: Kind, tree: Tree, old: Tree | None, call: Call) -> None:
    """Takes a write through the steps that come before validation."""
    reader = TreeReader(registry)
    for step in registry.admission:
        step.admit(kind, tree, old, call, reader)


def judge(registry: Registry, kind: Kind, tree: Tree, old: Tree | None, call: Call) -> None:
    """Takes a valid object through the steps that may still refuse it."""
    reader = TreeReader(registry)
    for step in registry.judges:
        step.admit(kind, tree, old, call, reader)
