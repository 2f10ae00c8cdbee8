"""Environment variables of a container, one by one or whole objects of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, invalid, not_found, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import containers_with_paths, inner
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.references import (
    validate_field_ref,
    validate_file_key_ref,
    validate_key_ref,
    validate_resource_ref,
)

VARIABLE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)

Errors = Iterator[FieldError]


def validate_environment(container: Tree, path: str) -> Errors:
    """The variables of a container and the objects it takes all variables of."""
    for variable, place in fields.each(container, "env", path):
        if name := variable.get("name"):
            yield from fields.wrong(f"{place}.name", name, formats.environment_name(name))
        else:
            yield required(f"{place}.name")
        source = variable.get("valueFrom")
        if source is not None:
            yield from _validate_source(source, variable.get("value", ""), f"{place}.valueFrom")
    for source, place in fields.each(container, "envFrom", path):
        yield from _validate_object(source, place, f"{path}.envFrom")


def _validate_source(source: Tree, value: str, path: str) -> Errors:
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        yield from _SOURCES[name](source[name], f"{path}.{name}")
    if not given:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {known}")
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _validate_object(source: Tree, path: str, list_path: str) -> Errors:
    if prefix := source.get("prefix"):
        yield from fields.wrong(f"{path}.prefix", prefix, formats.environment_name(prefix))
    given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
    for name in given:
        if owner := source[name].get("name"):
            problems = formats.dns_subdomain(formats.name_prefix(owner))
            yield from fields.wrong(f"{path}.{name}.name", owner, problems)
        else:
            yield required(f"{path}.{name}.name")
    # The reference reports these two at the list, not at the entry.
    if not given:
        yield invalid(list_path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        yield invalid(list_path, "", "may not have more than one field specified at a time")


def validate_variable_files(spec: Tree, path: str) -> Errors:
    """Files with variables must lie in an emptyDir volume of the pod."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for container, container_path in containers_with_paths(spec, path):
        for variable, place in fields.each(container, "env", container_path):
            if (source := inner(variable, "valueFrom", "fileKeyRef")) is None:
                continue
            name, name_path = source.get("volumeName", ""), f"{place}.valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                yield not_found(name_path, name)
            elif volumes[name].get("emptyDir") is None:
                yield invalid(name_path, name, "referenced volume must be of type emptyDir")


def _field(tree: Tree, path: str) -> Errors:
    return validate_field_ref(tree, VARIABLE_FIELDS, path)


def _resource(tree: Tree, path: str) -> Errors:
    return validate_resource_ref(tree, path, in_volume=False)


_SOURCES: dict[str, Callable[[Tree, str], Errors]] = {
    "fieldRef": _field,
    "resourceFieldRef": _resource,
    "configMapKeyRef": validate_key_ref,
    "secretKeyRef": validate_key_ref,
    "fileKeyRef": validate_file_key_ref,
}
