"""GET of one object."""

from __future__ import annotations

from eachnode.objects.document import Document
from eachnode.server.verbs.refusals import not_found
from eachnode.server.verbs.registry import Served
from eachnode.server.verbs.writing import show


def get(served: Served, namespace: str, name: str) -> Document:
    """One object as it is now."""
    stored = served.shelf.committed(served.namespace(namespace), name)
    if stored is None:
        raise not_found(served.resource, name)
    return show(served, stored)
