"""At most one priority class is the default, and those of the system stay."""

from __future__ import annotations

from eachnode.objects.resources import PRIORITY_CLASSES
from eachnode.server.admission.pod_priority import default_class
from eachnode.server.admission.refusals import forbidden
from eachnode.server.kind import Call, Kind, Reader, Tree
from eachnode.server.kinds.priority_classes import SYSTEM_CLASSES


class SingleDefaultClass:
    """Looks for another default when a class wants to be it."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Refuses a second default."""
        if kind.resource != PRIORITY_CLASSES or not tree.get("globalDefault"):
            return
        present = default_class(reader.documents(PRIORITY_CLASSES))
        name = tree["metadata"].get("name", "")
        if present is not None and (old is None or present.metadata.name != name):
            reason = f"PriorityClass {present.metadata.name} is already marked as default. Only one default can exist"
            raise forbidden(PRIORITY_CLASSES, name, reason)


class SystemClassesStay:
    """Keeps the priority classes that the system's own pods name."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Refuses to delete one of them."""
        name = tree["metadata"].get("name", "")
        if kind.resource == PRIORITY_CLASSES and call.verb.startswith("delete") and name in SYSTEM_CLASSES:
            raise forbidden(PRIORITY_CLASSES, name, "this is a system priority class and cannot be deleted")
