"""The kinds that a definition brings: one for each served version, all of the same objects.

Objects are kept under the version that was the first to be stored. Where there are several versions, each shows them
under its own apiVersion and by its own schema, for there is no other conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from eachnode.objects.api_versions import version_rank
from eachnode.objects.clock import seconds
from eachnode.objects.durations import human_duration
from eachnode.objects.formats import qualified_name
from eachnode.objects.go_text import go_json
from eachnode.objects.resources import Resource
from eachnode.objects.status import Details, Forbidden
from eachnode.server.field_errors import FieldError, invalid
from eachnode.server.kind import Alias, Call, Column, Kind, Tree
from eachnode.server.kinds import json_paths
from eachnode.server.kinds.name_rules import dns_subdomain, domainless_finalizer
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of
from eachnode.server.schema.structural import Schema, Structure, fill_in, prune

Errors = Iterator[FieldError]
Row = Callable[[Tree, float], list[Any]]


def served_kinds(definition: Tree) -> list[Kind]:
    """The kinds that a definition says are served."""
    spec = definition["spec"]
    stored = _stored(definition)
    is_ending = "deletionTimestamp" in definition["metadata"]
    return [_kind(spec, version, stored, is_ending) for version in spec["versions"] if version.get("served")]


def resources(definition: Tree) -> list[Resource]:
    """The names under which a definition's kinds may be served."""
    return [_resource(definition["spec"], version["name"]) for version in definition["spec"]["versions"]]


def _resource(spec: Tree, version: str) -> Resource:
    names = spec["names"]
    return Resource(spec["group"], version, names["plural"], names["kind"], namespaced=spec["scope"] == "Namespaced")


@dataclass(frozen=True, slots=True)
class _Stored:
    """How objects are found in the store: under which version, and by which schema they are read."""

    resource: Resource
    schema: Schema


def _stored(definition: Tree) -> _Stored | None:
    """None when objects are shown just as they were stored: one version, and its schema has always been this."""
    spec = definition["spec"]
    if len(spec["versions"]) == 1 and definition["metadata"].get("generation", 1) == 1:
        return None
    schema = next(version["schema"]["openAPIV3Schema"] for version in spec["versions"] if version.get("storage"))
    return _Stored(_resource(spec, definition["status"]["storedVersions"][0]), schema)


def _kind(spec: Tree, version: Tree, stored: _Stored | None, is_ending: bool) -> Kind:
    names = spec["names"]
    resource = _resource(spec, version["name"])
    structure = Structure(version["schema"]["openAPIV3Schema"])
    has_status = "status" in (version.get("subresources") or {})
    rules = _Rules(resource, structure, has_status, is_ending)
    return Kind(
        resource=resource,
        singular=names["singular"],
        definition="",
        structure=structure,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status=has_status,
        default=structure.default,
        prepare_create=rules.prepare_create,
        prepare_update=rules.prepare_update,
        prepare_status=rules.prepare_status,
        validate=rules.validate,
        any_finalizers=True,
        validate_status=rules.validate_status,
        validate_name=dns_subdomain,
        warn=rules.warn,
        unconditional_update=False,
        deprecation=_deprecation(spec, version),
        alias=_alias(structure.schema, resource, stored) if stored is not None else None,
        columns=_columns(version),
        row=_row(version),
        fields=_fields(version),
    )


class _Rules:
    """What a custom kind's objects obey besides their schema."""

    def __init__(self, resource: Resource, structure: Structure, has_status: bool, is_ending: bool) -> None:
        self.resource = resource
        self.structure = structure
        self.has_status = has_status
        self.is_ending = is_ending

    def prepare_create(self, tree: Tree, _call: Call) -> None:
        """The status is not the creator's; and nothing new comes when the definition is being deleted."""
        if self.is_ending:
            name = name_of(tree)
            sentence = "create not allowed while custom resource definition is terminating"
            details = Details(name=name, group=self.resource.group, kind=self.resource.plural)
            raise Forbidden(f'{self.resource.qualified} "{name}" is forbidden: {sentence}', details=details)
        if self.has_status:
            tree.pop("status", None)
        tree["metadata"]["generation"] = 1

    def prepare_update(self, new: Tree, old: Tree, _call: Call) -> None:
        """Neither is it the updater's; what changes outside the metadata counts as a new generation."""
        if self.has_status:
            _keep(new, old, "status")
        if _content(new) != _content(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, new: Tree, old: Tree, _call: Call) -> None:
        """Nothing but the status changes here."""
        status, managed = new.get("status"), new["metadata"].get("managedFields")
        metadata = dict(old["metadata"])
        metadata.pop("managedFields", None)
        if managed:
            metadata["managedFields"] = managed
        metadata["resourceVersion"] = new["metadata"].get("resourceVersion", metadata.get("resourceVersion"))
        kept = {key: value for key, value in old.items() if key not in ("status", "metadata")}
        new.clear()
        new.update({**kept, "metadata": metadata})
        if status is not None:
            new["status"] = status

    def validate(self, tree: Tree) -> Errors:
        """The type's name, then the schema."""
        wrong = list(self._wrong_names(tree))
        yield from wrong
        if not wrong:
            yield from self.structure.validate(tree)

    def validate_status(self, new: Tree, _old: Tree) -> Errors:
        """The status by its part of the schema."""
        yield from self.structure.validate_status(new)

    def _wrong_names(self, tree: Tree) -> Errors:
        for key, wanted in (("kind", self.resource.kind), ("apiVersion", self.resource.api_version)):
            if tree.get(key) != wanted:
                yield invalid(key, tree.get(key, ""), f"must be {wanted}")

    def warn(self, new: Tree, old: Tree | None) -> Iterable[str]:
        """Finalizers that are new and badly named."""
        known = (old or {}).get("metadata", {}).get("finalizers") or ()
        for finalizer in sorted(set(new["metadata"].get("finalizers") or ()) - set(known)):
            for problem in qualified_name(finalizer):
                yield f'metadata.finalizers: "{finalizer}": {problem}'
            if domainless_finalizer(finalizer):
                how = " including a path (/)" if "." in finalizer else ""
                yield (
                    f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name{how} '
                    "to avoid accidental conflicts with other finalizer writers"
                )


def _deprecation(spec: Tree, version: Tree) -> str:
    """What everybody is told who uses a version that its author discourages."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, rank = spec["group"], spec["names"]["kind"], version_rank(version["name"])
    served = (other["name"] for other in spec["versions"] if other.get("served") and not other.get("deprecated"))
    better = sorted((name for name in served if version_rank(name) < rank), key=version_rank)
    hint = f"; use {group}/{better[0]} {kind}" if better else ""
    return f"{group}/{version['name']} {kind} is deprecated{hint}"


def _keep(new: Tree, old: Tree, part: str) -> None:
    new.pop(part, None)
    if part in old:
        new[part] = old[part]


def _content(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if key != "metadata"}


def _alias(schema: Schema, here: Resource, stored: _Stored) -> Alias:
    """A version's view of the objects: with its apiVersion, and without what its schema does not know.

    They are stored without what the schema they are stored by does not know. What it has a default for is filled in
    when they are read: it may have come later.
    """

    def shown(tree: Tree) -> Tree:
        made = {**tree, "apiVersion": here.api_version}
        fill_in(stored.schema, made)
        prune(schema, made, [], is_root=True)
        return made

    def kept(tree: Tree) -> Tree:
        made = {**tree, "apiVersion": stored.resource.api_version}
        prune(stored.schema, made, [], is_root=True)
        return made

    return Alias(of=stored.resource, shown=shown, stored=kept)


def _columns(version: Tree) -> tuple[Column, ...]:
    listed = version.get("additionalPrinterColumns") or []
    if not listed:
        return (NAME, AGE)
    return (
        NAME,
        *(
            Column(
                column["name"],
                column["type"],
                column.get("description")
                or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
                column.get("format", ""),
                column.get("priority", 0),
            )
            for column in listed
        ),
    )


def _row(version: Tree) -> Row:
    listed = version.get("additionalPrinterColumns") or []
    if not listed:
        return lambda tree, now: [name_of(tree), age_of(tree, now)]
    return lambda tree, now: [name_of(tree), *(_cell(column, tree, now) for column in listed)]


def _cell(column: Tree, tree: Tree, now: float) -> Any:
    found = json_paths.find(column["jsonPath"], tree)
    if not found:
        return None
    value, kind = found[0], column["type"]
    if kind == "string":
        return "" if value is None else value if isinstance(value, str) else go_json(value).decode()
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date":
        return _age(value, now) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if kind == "integer" else float(value)


def _age(moment: str, now: float) -> str:
    try:
        return human_duration(now - seconds(moment))
    except ValueError:
        return "<invalid>"


def _fields(version: Tree) -> dict[str, Callable[[Tree], str]]:
    """The fields by which objects can be selected, besides their names."""

    def reader(path: str) -> Callable[[Tree], str]:
        return lambda tree: _text(json_paths.find(path, tree))

    paths = [field["jsonPath"] for field in version.get("selectableFields") or ()]
    return {path.removeprefix("."): reader(path) for path in paths}


def _text(found: list[Any]) -> str:
    if not found or found[0] is None:
        return ""
    return found[0] if isinstance(found[0], str) else go_json(found[0]).decode()
