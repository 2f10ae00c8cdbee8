"""Objects are created in namespaces that exist and are not being removed."""

from __future__ import annotations

from eachnode.objects.resources import NAMESPACES
from eachnode.objects.status import Cause, Details, NotFound
from eachnode.server.admission.refusals import forbidden, name_before_generation
from eachnode.server.kind import Call, Kind, Reader, Tree


class NamespaceLifecycle:
    """Looks up the namespace of every new object."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Refuses content for a namespace that is missing (404) or terminating (403)."""
        if old is not None or not kind.resource.namespaced:
            return
        name = tree["metadata"].get("namespace", "")
        namespace = reader.get(NAMESPACES, "", name)
        if namespace is None:
            raise NotFound(f'namespaces "{name}" not found', details=Details(name=name, kind=NAMESPACES.plural))
        if namespace.get("status", {}).get("phase") == "Terminating":
            raise forbidden(
                kind.resource,
                name_before_generation(tree),
                f"unable to create new content in namespace {name} because it is being terminated",
                Cause(
                    reason="NamespaceTerminating",
                    message=f"namespace {name} is being terminated",
                    field="metadata.namespace",
                ),
            )
