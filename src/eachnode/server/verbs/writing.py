"""How a tree becomes the newest version of its object; the last step of every write."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from eachnode.objects.document import Document
from eachnode.server.kind import Call, Tree
from eachnode.server.schema import encode
from eachnode.server.store import Stored
from eachnode.server.store.stored import stored_from
from eachnode.server.verbatim import encode_keeping
from eachnode.server.verbs.registry import Registry, Served

_SORTED = msgspec.json.Encoder(order="sorted")


class Written(NamedTuple):
    """An object as it goes back to the writer, and as it is stored (not after a dry run)."""

    document: Document
    stored: Stored | None


def put(registry: Registry, served: Served, tree: Tree, old: Stored | None, call: Call) -> Written:
    """Stores an object, new or in place of an old version; a dry run only answers."""
    if call.dry_run:
        return Written(Document(encode(_type_first(tree))), None)
    store, shelf = registry.store, served.shelf
    place = store.place(shelf, old)
    tree = _type_first(served.inward(tree))
    tree["metadata"]["resourceVersion"] = str(place.version)
    new = stored_from(tree, encode_keeping(served.kind.verbatim, tree), shelf.readers, place)
    store.record(shelf, old, new, place.version)
    return Written(show(served, new), new)


def take_away(registry: Registry, served: Served, old: Stored, call: Call) -> None:
    """Removes an object; a dry run does not."""
    if not call.dry_run:
        registry.store.record(served.shelf, old, None, registry.store.next_version())


def show(served: Served, stored: Stored) -> Document:
    """A stored object as this kind shows it."""
    return show_document(served, stored.document)


def show_document(served: Served, document: Document) -> Document:
    """A document of the store as this kind shows it: mostly the document itself."""
    if served.kind.alias is not None:
        return Document(encode(_type_first(served.outward(document.tree()))))
    if served.kind.verbatim:
        # Stored as it was written; told as Go tells it, in one line and with its escapes.
        text = encode(msgspec.Raw(msgspec.json.format(bytes(document.raw), indent=-1)))
        return document if text == document.raw else Document(text)
    return document


def unchanged(new: Tree, old: Tree) -> bool:
    """Whether a write would change nothing at all."""
    # Python's True equals 1, JSON's does not: the texts decide, but they are compared only when it matters.
    return new == old and _SORTED.encode(new) == _SORTED.encode(old)


def _type_first(tree: Tree) -> Tree:
    """The same object, beginning with `kind` and `apiVersion` as Go prints it (lists count on it)."""
    first = [*tree][:2]
    if first == ["kind", "apiVersion"]:
        return tree
    return {"kind": tree["kind"], "apiVersion": tree["apiVersion"], **tree}
