"""The versions of a custom kind: their names, and what each says of its objects.

What all versions say alike, the reference keeps once, beside them: so faults in it are told at `spec.validation`,
`spec.subresources` and so on; in a definition of one version that is everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Tree
from eachnode.server.kinds import json_paths
from eachnode.server.kinds.custom_schema_rules import validate_schema
from eachnode.server.kinds.custom_selectable_fields import validate_selectable_fields

Errors = Iterator[FieldError]

_SHARED = {"schema": "validation", "subresources": "subresources"}  # Where the reference keeps what all say alike.
_SHARED |= {"additionalPrinterColumns": "additionalPrinterColumns", "selectableFields": "selectableFields"}
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def validate_versions(spec: Tree) -> Errors:
    """Names and number of the versions, and what only some of them say."""
    versions, shared = spec.get("versions") or [], _shared(spec)
    for index, version in enumerate(versions):
        if _schema_of(version) is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        if problems := formats.dns_1035_label(name):
            yield invalid(f"{path}.name", name, ",".join(problems))
        yield from _validate_warning(version, path)
        places = {part: f"{path}.{part}" for part in _SHARED if part not in shared}
        yield from _validate_parts(version, places)
    listed = [version.get("name", "") for version in versions]
    if len(set(listed)) < len(listed):
        yield invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", versions, "must have exactly one version marked as storage version")
    first = versions[0].get("name", "") if versions else ""
    if first and (problems := formats.dns_1035_label(first)):
        yield invalid("spec.version", first, ",".join(problems))  # Where the reference has it a second time.


def validate_shared_parts(spec: Tree) -> Errors:
    """What all versions say alike."""
    places = {part: f"spec.{_SHARED[part]}" for part in _shared(spec)}
    return _validate_parts((spec.get("versions") or [{}])[0], places)


def _shared(spec: Tree) -> list[str]:
    """The parts that are the same in all versions; an empty one is as good as none."""
    versions = spec.get("versions") or [{}]
    return [part for part in _SHARED if all(_same(version.get(part), versions[0].get(part)) for version in versions)]


def _same(left: Any, right: Any) -> bool:
    return bool(left == right or (left in ([], None) and right in ([], None)))


def _schema_of(version: Tree) -> Tree | None:
    schema: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _validate_warning(version: Tree, path: str) -> Errors:
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        yield invalid(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
    elif warning is not None and not 0 < len(warning) <= 256:
        sentence = "must be <= 256 characters long" if warning else "must not be an empty string"
        yield invalid(f"{path}.deprecationWarning", warning, sentence)


def _validate_parts(version: Tree, places: dict[str, str]) -> Errors:
    """The parts of a version that have a place here."""
    schema = _schema_of(version)
    if schema is not None and "schema" in places:
        yield from validate_schema(schema, f"{places['schema']}.openAPIV3Schema")
    if "subresources" in places:
        yield from _validate_scale((version.get("subresources") or {}).get("scale"), f"{places['subresources']}.scale")
    if path := places.get("additionalPrinterColumns"):
        for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
            yield from _validate_column(column, f"{path}[{index}]")
    if schema is not None and version.get("selectableFields") and "selectableFields" in places:
        yield from validate_selectable_fields(version["selectableFields"], schema, places["selectableFields"])


def _validate_scale(scale: Tree | None, path: str) -> Errors:
    if scale is None:
        return
    for field, root in (
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value = scale.get(field, "")
        if not value and field != "labelSelectorPath":
            yield required(f"{path}.{field}")
        elif value and not value.startswith("."):
            yield invalid(f"{path}.{field}", value, "must be a simple json path starting with .")
        elif value and not value.startswith(root):
            roots = root if isinstance(root, str) else " or ".join(root)
            yield invalid(
                f"{path}.{field}", value, f"should be a json path under {roots.replace('. ', ' ').rstrip('.')}"
            )


def _validate_column(column: Tree, path: str) -> Errors:
    if not column.get("name"):
        yield required(f"{path}.name")
    known, kind = ",".join(_COLUMN_TYPES), column.get("type", "")
    if not kind:
        yield required(f"{path}.type", f"must be one of {known}")
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, f"must be one of {known}")
    format_name = column.get("format", "")
    if format_name and format_name not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", format_name, f"must be one of {','.join(_COLUMN_FORMATS)}")
    json_path = column.get("jsonPath", "")
    if not json_path:
        yield required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        yield invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")
    elif json_paths.parsed(json_path) is None:
        yield invalid(f"{path}.JSONPath", json_path, "is an invalid JSONPath")
