"""The paths of a kind and what can be done there, in the two dialects of OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eachnode.server.http.openapi.schemas import DELETE_OPTIONS, STATUS, Definitions, Dialect, gvk
from eachnode.server.kind import Kind, Tree, Verb

JSON_AND_YAML = ("application/json", "application/yaml")
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_LIST = (
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
)
_WRITE = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_DELETE = (
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)


@dataclass(frozen=True, slots=True)
class _Act:
    """One thing that can be done at a path."""

    verb: Verb
    method: str
    action: str
    parameters: Sequence[tuple[str, str]] = ()
    code: str = "200"


_ACTS = {
    "create": _Act("create", "post", "post", _WRITE, "201"),
    "delete": _Act("delete", "delete", "delete", _DELETE),
    "deletecollection": _Act("deletecollection", "delete", "deletecollection", (*_DELETE, *_LIST)),
    "get": _Act("get", "get", "get"),
    "list": _Act("list", "get", "list", _LIST),
    "patch": _Act("patch", "patch", "patch", (*_WRITE, ("force", "boolean"))),
    "update": _Act("update", "put", "put", _WRITE),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """A path, what stands in it, and what is found there."""

    kind: Kind
    in_path: Sequence[str]
    gvk: Tree
    verbs: frozenset[Verb]
    schema: str = ""  # Of a subresource that is not the object itself.
    subresource: str = ""

    def reference(self, definitions: Definitions) -> Tree:
        """The schema of what is sent and answered here."""
        return definitions.reference(self.schema) if self.schema else definitions.of_kind(self.kind)


def paths_of(kind: Kind, definitions: Definitions) -> Iterator[tuple[str, Tree]]:
    """Every path of a kind with its operations."""
    resource = kind.resource
    inside = resource.path("{namespace}")
    names = ("namespace",) if resource.namespaced else ()
    if resource.namespaced and "list" in kind.verbs:
        yield resource.path(), _item(_Place(kind, (), gvk(kind), kind.verbs), definitions, ["list"])
    everywhere = _Place(kind, names, gvk(kind), kind.verbs)
    yield inside, _item(everywhere, definitions, ["list", "create", "deletecollection"])
    if kind.verbs & {"get", "update", "patch", "delete"}:
        one = _Place(kind, (*names, "name"), gvk(kind), kind.verbs)
        yield f"{inside}/{{name}}", _item(one, definitions, ["get", "update", "patch", "delete"])
    for place in _subresources(kind, (*names, "name")):
        yield f"{inside}/{{name}}/{place.subresource}", _item(place, definitions, sorted(place.verbs))


def _subresources(kind: Kind, in_path: Sequence[str]) -> Iterator[_Place]:
    if kind.has_status:
        yield _Place(kind, in_path, gvk(kind), frozenset(("get", "update", "patch")), subresource="status")
    for name, sub in sorted(kind.subresources.items()):
        if not name:
            continue  # The kind itself, which is asked and not stored.
        group, version = sub.group or kind.resource.group, sub.version or kind.resource.version
        about = {"group": group, "kind": sub.kind, "version": version}
        own = sub.kind == kind.resource.kind
        schema = "" if own else f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{sub.kind}"
        yield _Place(kind, in_path, about, sub.verbs, schema, name)


def _item(place: _Place, definitions: Definitions, verbs: Sequence[str]) -> Tree:
    """The operations at one path."""
    acts = [act for act in (_ACTS[verb] for verb in verbs) if act.verb in place.verbs]
    item: Tree = {act.method: _operation(place, act, definitions) for act in acts}
    item["parameters"] = [_parameter(name, "string", "path", definitions.dialect) for name in place.in_path]
    item["parameters"].append(_parameter("pretty", "string", "query", definitions.dialect))
    return item


def _operation(place: _Place, act: _Act, definitions: Definitions) -> Tree:
    dialect = definitions.dialect
    parameters = [_parameter(name, type_, "query", dialect) for name, type_ in act.parameters]
    body, answer = _body(place, act, definitions), _answer(place, act, definitions)
    consumed = _consumed(place.kind, act)
    tree: Tree = {
        "operationId": _operation_id(place, act),
        "x-kubernetes-action": act.action,
        "x-kubernetes-group-version-kind": place.gvk,
    }
    if dialect == 2:
        tree |= {"produces": list(JSON_AND_YAML), "consumes": list(consumed) if body else ["*/*"]}
        if body:
            parameters.insert(0, {"name": "body", "in": "body", "required": act.verb != "delete", "schema": body})
        tree["responses"] = {act.code: {"description": "OK", "schema": answer}}
    else:
        content = {media: {"schema": answer} for media in JSON_AND_YAML}
        tree["responses"] = {act.code: {"description": "OK", "content": content}}
        if body:
            tree["requestBody"] = {"content": {media: {"schema": body} for media in consumed}}
    return {**tree, "parameters": parameters}


def _answer(place: _Place, act: _Act, definitions: Definitions) -> Tree:
    match act.verb:
        case "list":
            return definitions.list_of(place.kind)
        case "delete" | "deletecollection":
            return definitions.reference(STATUS)
        case _:
            return place.reference(definitions)


def _body(place: _Place, act: _Act, definitions: Definitions) -> Tree | None:
    match act.verb:
        case "create" | "update":
            return place.reference(definitions)
        case "patch":
            return {"type": "object"}
        case "delete" | "deletecollection":
            return definitions.reference(DELETE_OPTIONS)
        case _:
            return None


def _consumed(kind: Kind, act: _Act) -> Sequence[str]:
    if act.verb != "patch":
        return JSON_AND_YAML
    return _PATCHES if kind.definition else _PATCHES[:-1]


def _operation_id(place: _Place, act: _Act) -> str:
    """A name of its own for each operation: `patchAppsV1NamespacedDaemonSetStatus`."""
    resource = place.kind.resource
    group = "".join(word.capitalize() for word in resource.group.split(".")) or "Core"
    inside = "Namespaced" if "namespace" in place.in_path else "ForAllNamespaces" if resource.namespaced else ""
    return f"{act.verb}{group}{resource.version.capitalize()}{inside}{resource.kind}{place.subresource.capitalize()}"


def _parameter(name: str, type_: str, where: str, dialect: Dialect) -> Tree:
    tree: Tree = {"name": name, "in": where}
    if where == "path":
        tree["required"] = True
    if dialect == 2:
        return {**tree, "type": type_, "uniqueItems": True}
    return {**tree, "schema": {"type": type_, "uniqueItems": True}}
