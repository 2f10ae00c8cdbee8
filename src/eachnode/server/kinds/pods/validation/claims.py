"""The volume claims that pods carry with them: ephemeral volumes are claims made from a template."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects import formats
from eachnode.objects.quantities import canonical, nano
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.labels import validate_annotations, validate_label_selector, validate_labels
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import must_have

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_METADATA_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)

Errors = Iterator[FieldError]


def validate_claim_template(template: Tree, path: str) -> Errors:
    """The template of a claim: labels and annotations only, and a claim's spec."""
    metadata = template.get("metadata") or {}
    yield from validate_annotations(metadata.get("annotations"), f"{path}.metadata.annotations")
    yield from validate_labels(metadata.get("labels"), f"{path}.metadata.labels")
    for name in _METADATA_FIELDS:
        if metadata.get(name) not in (None, ""):
            shown = {"uid": "uID"}.get(name, name)
            yield forbidden(f"{path}.metadata.{shown}", "cannot be set")
    yield from _validate_claim(template.get("spec") or {}, f"{path}.spec")


def _validate_claim(spec: Tree, path: str) -> Errors:
    if not spec.get("accessModes"):
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_label_selector(spec.get("selector"), f"{path}.selector")
    yield from _access_modes(spec.get("accessModes") or (), f"{path}.accessModes")
    yield from _storage(spec, f"{path}.resources[storage]")
    if name := spec.get("storageClassName"):
        yield from fields.dns_subdomain(f"{path}.storageClassName", name)
    yield from fields.one_of(f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    yield from _data_sources(spec, path)
    if name := spec.get("volumeAttributesClassName"):
        yield from fields.dns_subdomain(f"{path}.volumeAttributesClassName", name)


def _access_modes(modes: list[str] | tuple[str, ...], path: str) -> Errors:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(path, mode, ACCESS_MODES)
    alone = "ReadWriteOncePod"
    if alone in modes and any(mode != alone and mode in ACCESS_MODES for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _storage(spec: Tree, path: str) -> Errors:
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if amount is None:
        yield required(path)
    elif nano(amount) <= 0:
        yield invalid(path, canonical(amount), "must be greater than zero")


def _data_sources(spec: Tree, path: str) -> Errors:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _data_source(source, f"{path}.dataSource")
    if reference is not None:
        yield from _data_source(reference, f"{path}.dataSourceRef")
        if namespace := reference.get("namespace"):
            yield from fields.wrong(f"{path}.dataSourceRef.namespace", namespace, formats.dns_label(namespace))
    if source is None or reference is None:
        return
    # The reference shows a path object here, which prints as an empty one.
    if reference.get("namespace"):
        yield invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid(path, {}, "must match dataSourceRef")


def _data_source(source: Tree, path: str) -> Errors:
    yield from must_have(source, path, "name", "kind")
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        sentence = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, source.get("kind", ""), sentence)
    if group:
        yield from fields.dns_subdomain(f"{path}.apiGroup", group)
