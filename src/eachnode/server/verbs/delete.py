"""DELETE: at once, or begun now and done when finalizers and grace allow it."""

from __future__ import annotations

from eachnode.objects.clock import timestamp
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.status import Details, Status
from eachnode.server.kind import Answer, Call
from eachnode.server.store import Stored
from eachnode.server.verbs import refusals
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.shaping import encode
from eachnode.server.verbs.writing import put, show, take_away


def delete(registry: Registry, call: Call, served: Served, namespace: str, name: str, options: DeleteOptions) -> Answer:
    """Deletes an object, or begins to."""
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    tree = old.document.tree()
    about = tree["metadata"]
    if about.get("finalizers"):
        about.setdefault("deletionTimestamp", timestamp(call.now))
        about["deletionGracePeriodSeconds"] = 0
        return put(registry, served, tree, old, call)
    take_away(registry, served, old, call)
    return Answer(show(served, old) if served.kind.returns_deleted else _done(served, old))


def _done(served: Served, stored: Stored) -> Document:
    details = Details(name=stored.name, group=served.resource.group, kind=served.resource.plural, uid=stored.uid)
    return Document(encode(Status(status="Success", details=details).tree()))
