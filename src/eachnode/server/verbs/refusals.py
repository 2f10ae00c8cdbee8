"""What the verbs refuse, in the API's own sentences."""

from __future__ import annotations

from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from eachnode.objects.status import AlreadyExists, BadRequest, Conflict, Details, MethodNotAllowed, NotFound
from eachnode.server.kind import Kind, Tree

_OLD_NAMES = {"nodes": "minions", "services": "services/specs", "endpoints": "services/endpoints"}
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def not_found(resource: Resource, name: str) -> NotFound:
    """There is no such object."""
    return NotFound(f'{resource.qualified} "{name}" not found', details=_details(resource, name))


def no_such_resource() -> NotFound:
    """The path names nothing that is served."""
    return NotFound("the server could not find the requested resource", details=Details())


def not_allowed(resource: Resource, verb: str) -> MethodNotAllowed:
    """The kind does not know this verb."""
    return MethodNotAllowed(
        f'{verb} is not supported on resources of kind "{resource.qualified}"',
        details=Details(group=resource.group, kind=resource.plural),
    )


def already_exists(resource: Resource, name: str, *, generated: bool = False, leaving: bool = False) -> AlreadyExists:
    """The name is taken; `leaving` by an object that is being deleted, `generated` when the server was to choose it."""
    sentence = f'{resource.qualified} "{name}" already exists'
    if generated:
        sentence += ", the server was not able to generate a unique name for the object"
    if leaving:
        sentence = f"object is being deleted: {sentence}"
    details = Details(name=name, group=resource.group, kind=resource.plural, retry_after_seconds=1 if generated else 0)
    return AlreadyExists(sentence, details=details)


def conflict(resource: Resource, name: str, reason: str, *, kind: str = "") -> Conflict:
    """The object is not as the writer believed; the reference names most by the resource, some by the kind."""
    called = kind or resource.plural
    qualified = f"{called}.{resource.group}" if resource.group else called
    return Conflict(
        f'Operation cannot be fulfilled on {qualified} "{name}": {reason}',
        details=Details(name=name, group=resource.group, kind=called),
    )


def store_key(kind: Kind, path: str) -> str:
    """Where the reference's store keeps an object, which some of its messages tell: some kinds under old names."""
    resource = kind.resource
    if not kind.definition or resource == CUSTOM_RESOURCE_DEFINITIONS:
        return f"/{resource.group}/{resource.plural}/{path}"
    return f"/{_OLD_NAMES.get(resource.qualified, resource.plural)}/{path}"


def wrong_namespace() -> BadRequest:
    """Body and path name different namespaces."""
    return BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def refuse_other_subject(tree: Tree, kind: str, namespace: str, name: str) -> None:
    """Raises what a body gets that is about another object than the path."""
    metadata = tree.get("metadata") or {}
    if metadata.get("namespace", namespace) != namespace:
        raise wrong_namespace()
    if metadata.get("name", "") != name:
        raise BadRequest(f"name in URL does not match name in {kind} object")


def _details(resource: Resource, name: str) -> Details:
    return Details(name=name, group=resource.group, kind=resource.plural)
