"""How a tree becomes the newest version of its object; the last step of every write."""

from __future__ import annotations

import msgspec

from eachnode.objects.document import Document
from eachnode.server.kind import Answer, Call, Tree
from eachnode.server.store import Stored
from eachnode.server.store.stored import stored_from
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import encode

_SORTED = msgspec.json.Encoder(order="sorted")


def put(registry: Registry, served: Served, tree: Tree, old: Stored | None, call: Call) -> Answer:
    """Stores an object, and answers with it; a dry run only answers."""
    shown = tree
    tree = served.inward(tree)
    if call.dry_run:
        return Answer(Document(encode(shown)))
    store, shelf = registry.store, served.shelf
    version = store.next_version()
    tree["metadata"]["resourceVersion"] = str(version)
    born = version if old is None else old.born
    new = stored_from(tree, encode(tree), shelf.readers, version=version, born=born, expires=store.expiry(shelf))
    store.record(shelf, old, new, version)
    return Answer(show(served, new))


def take_away(registry: Registry, served: Served, old: Stored, call: Call) -> None:
    """Removes an object; a dry run does not."""
    if not call.dry_run:
        registry.store.record(served.shelf, old, None, registry.store.next_version())


def show(served: Served, stored: Stored) -> Document:
    """A stored object as this kind shows it."""
    if served.kind.alias is None:
        return stored.document
    return Document(encode(served.outward(stored.document.tree())))


def unchanged(new: Tree, old: Tree) -> bool:
    """Whether a write would change nothing at all."""
    # Python's True equals 1, JSON's does not: the texts decide, but they are compared only when it matters.
    return new == old and _SORTED.encode(new) == _SORTED.encode(old)
