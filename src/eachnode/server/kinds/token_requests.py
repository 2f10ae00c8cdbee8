"""`serviceaccounts/token`: a token that says that its bearer is the service account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eachnode.objects.clock import timestamp
from eachnode.objects.document import Document
from eachnode.objects.resources import NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from eachnode.objects.status import BadRequest, Conflict, Details, NotFound
from eachnode.server.field_errors import FieldError, invalid, refusal
from eachnode.server.kind import Answer, Asked, Call, Hands, Kind, Reader, Subresource, Tree
from eachnode.server.kinds.rows import at
from eachnode.server.kinds.service_accounts import SERVICE_ACCOUNT
from eachnode.server.schema import decode_as, encode

TOKEN_REQUESTS = Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")
_DEFINITION = "io.k8s.api.authentication.v1.TokenRequest"
_HOUR, _SHORTEST, _LONGEST = 3600, 600, 2**32
_BINDABLE = {"Pod": PODS, "Secret": SECRETS, "Node": NODES}


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token is to say."""

    namespace: str
    name: str
    uid: str
    audiences: tuple[str, ...]
    seconds: int
    bound_kind: str = ""
    bound_name: str = ""
    bound_uid: str = ""


def service_account_kind(issue: Callable[[Grant, float], str], audiences: Sequence[str]) -> Kind:
    """Service accounts with tokens that `issue` makes; a request that names no audiences is meant for these."""

    def handle(hands: Hands, call: Call, asked: Asked) -> Answer:
        tree = decode_as(_DEFINITION, TOKEN_REQUESTS, asked.body, call, asked.media)
        account = _existing(hands, SERVICE_ACCOUNTS, asked.namespace, asked.name)
        _complete(tree, account, asked, call, audiences)
        grant = _grant(hands, tree, account)
        expires = timestamp(call.now + grant.seconds)
        tree["status"] = {"token": issue(grant, call.now), "expirationTimestamp": expires}
        return Answer(Document(encode(tree)), 201)

    token = Subresource(
        kind="TokenRequest",
        group=TOKEN_REQUESTS.group,
        version=TOKEN_REQUESTS.version,
        verbs=frozenset(("create",)),
        handle=handle,
    )
    return replace(SERVICE_ACCOUNT, subresources={"token": token})


def _complete(tree: Tree, account: Tree, asked: Asked, call: Call, audiences: Sequence[str]) -> None:
    """Fills in what the request leaves out; refuses what contradicts the account."""
    spec, about = tree.setdefault("spec", {}), tree.get("metadata") or {}
    for field, own in (("name", asked.name), ("namespace", asked.namespace)):
        if about.get(field) not in (None, "", own):
            error = invalid(f"metadata.{field}", about[field], f"must match the service account {field} if specified")
            raise refusal(TOKEN_REQUESTS, asked.name, [error])
    uid = account["metadata"].get("uid", "")
    if about.get("uid") not in (None, "", uid):
        given = about["uid"]
        reason = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        raise _conflict("TokenRequest.authentication.k8s.io", asked.name, reason)
    tree["metadata"] = {**about, "name": asked.name, "namespace": asked.namespace, "uid": uid}
    tree["metadata"]["creationTimestamp"] = timestamp(call.now)
    spec["audiences"] = spec.get("audiences") or list(audiences)
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _HOUR
    spec.setdefault("boundObjectRef", None)
    if errors := list(_wrong_lifetime(spec["expirationSeconds"])):
        raise refusal(TOKEN_REQUESTS, "", errors)


def _wrong_lifetime(seconds: int) -> Iterator[FieldError]:
    if seconds < _SHORTEST:
        yield invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST:
        yield invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")


def _grant(reader: Reader, tree: Tree, account: Tree) -> Grant:
    spec, about = tree["spec"], account["metadata"]
    bound = _bound(reader, spec["boundObjectRef"], about) if spec["boundObjectRef"] else {}
    return Grant(
        about["namespace"], about["name"], about["uid"], tuple(spec["audiences"]), spec["expirationSeconds"], **bound
    )


def _bound(reader: Reader, reference: Tree, account: Tree) -> dict[str, Any]:
    """The object whose end ends the token; it must be there, and be the one that was meant."""
    kind, name = reference.get("kind", ""), reference.get("name", "")
    resource = _BINDABLE.get(kind)
    if resource is None or reference.get("apiVersion") != "v1":
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    found = _existing(reader, resource, account["namespace"] if resource.namespaced else "", name)
    if kind == "Pod" and at(found, "spec", "serviceAccountName", missing="") != account["name"]:
        wrong = "to pod running with different serviceaccount name."
        raise BadRequest(f'cannot bind token for serviceaccount "{account["name"]}" {wrong}')
    uid = found["metadata"]["uid"]
    if reference.get("uid") not in (None, "", uid):
        reason = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise _conflict(kind, name, reason)
    return {"bound_kind": kind, "bound_name": name, "bound_uid": uid}


def _existing(reader: Reader, resource: Resource, namespace: str, name: str) -> Tree:
    found = reader.get(resource, namespace, name)
    if found is None:
        details = Details(name=name, group=resource.group, kind=resource.plural)
        raise NotFound(f'{resource.qualified} "{name}" not found', details=details)
    return found


def _conflict(kind: str, name: str, reason: str) -> Conflict:
    plain, _, group = kind.partition(".")
    details = Details(name=name, group=group, kind=plain)
    return Conflict(f'Operation cannot be fulfilled on {kind} "{name}": {reason}', details=details)
