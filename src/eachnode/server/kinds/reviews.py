"""Kinds that are asked and not stored: may I, may they, who am I, whose token is this.

Whoever knows callers and their rights (the HTTP front) stands behind them as an `Authority`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as with_fields
from typing import Any, Protocol

from eachnode.objects.clock import timestamp
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.objects.status import BadRequest
from eachnode.server.field_errors import FieldError, invalid, refusal, required
from eachnode.server.kind import Answer, Asked, Call, Caller, Hands, Kind, Subresource, Tree
from eachnode.server.kinds.labels import validate_label_requirement, validate_operator
from eachnode.server.schema import decode_as, encode

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
SELF_SUBJECT_ACCESS_REVIEWS = Resource(
    AUTHORIZATION, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = Resource(AUTHORIZATION, "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
LOCAL_SUBJECT_ACCESS_REVIEWS = Resource(AUTHORIZATION, "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEWS = Resource(
    AUTHORIZATION, "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False
)
TOKEN_REVIEWS = Resource(AUTHENTICATION, "v1", "tokenreviews", "TokenReview", namespaced=False)
SELF_SUBJECT_REVIEWS = Resource(AUTHENTICATION, "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
_ONE_OF_TWO = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class Permission(Protocol):
    """One rule that applies to somebody."""

    @property
    def verbs(self) -> tuple[str, ...]:
        """What may be done."""
        ...

    @property
    def api_groups(self) -> tuple[str, ...]:
        """In which groups."""
        ...

    @property
    def resources(self) -> tuple[str, ...]:
        """To which resources."""
        ...

    @property
    def resource_names(self) -> tuple[str, ...]:
        """To which objects; empty for all."""
        ...

    @property
    def non_resource_urls(self) -> tuple[str, ...]:
        """With which pages."""
        ...


class Authority(Protocol):
    """Knows callers and what they may do."""

    def allowed(self, caller: Caller, deed: Mapping[str, str]) -> tuple[bool, str]:
        """Whether the caller may do it, and why (not); the deed has verb, group, resource, … or path."""
        ...

    def permissions(self, caller: Caller, namespace: str) -> Iterable[Permission]:
        """All rules that apply to the caller in a namespace."""
        ...

    def bearer(self, token: str, audiences: Sequence[str]) -> tuple[Caller, tuple[str, ...]] | None:
        """Who bears the token and the audiences it is good for, or None."""
        ...


def review_kinds(authority: Authority) -> tuple[Kind, ...]:
    """The six kinds, answered by this authority."""
    return (
        _asked_kind(
            SELF_SUBJECT_ACCESS_REVIEWS,
            "authorization",
            lambda tree, call, _: _self_access(authority, tree, call),
        ),
        _asked_kind(SUBJECT_ACCESS_REVIEWS, "authorization", lambda tree, _call, _: _access(authority, tree)),
        _asked_kind(
            LOCAL_SUBJECT_ACCESS_REVIEWS,
            "authorization",
            lambda tree, _call, asked: _local_access(authority, tree, asked),
        ),
        _asked_kind(SELF_SUBJECT_RULES_REVIEWS, "authorization", lambda tree, call, _: _rules(authority, tree, call)),
        _asked_kind(TOKEN_REVIEWS, "authentication", lambda tree, _call, _: _token(authority, tree)),
        _asked_kind(SELF_SUBJECT_REVIEWS, "authentication", lambda tree, call, _: _whoami(tree, call)),
    )


Responder = Callable[[Tree, Call, Asked], Tree]


def _asked_kind(resource: Resource, package: str, respond: Responder) -> Kind:
    definition = f"io.k8s.api.{package}.v1.{resource.kind}"

    def handle(_hands: Hands, call: Call, asked: Asked) -> Answer:
        tree = decode_as(definition, resource, asked.body, call, asked.media)
        tree["metadata"], tree["spec"] = tree.get("metadata") or {}, tree.get("spec") or {}
        return Answer(Document(encode(respond(tree, call, asked))), 201)

    return Kind(
        resource=resource,
        singular=resource.kind.lower(),
        definition=definition,
        verbs=frozenset(("create",)),
        subresources={"": Subresource(kind=resource.kind, verbs=frozenset(("create",)), handle=handle)},
    )


def _self_access(authority: Authority, tree: Tree, call: Call) -> Tree:
    _require(
        SELF_SUBJECT_ACCESS_REVIEWS,
        [*_wrong_deed(tree["spec"]), *_wrong_selectors(tree["spec"]), *_wrong_metadata(tree)],
    )
    return _judged(authority, tree, call.caller)


def _access(authority: Authority, tree: Tree) -> Tree:
    _require(SUBJECT_ACCESS_REVIEWS, [*_wrong_question(tree["spec"]), *_wrong_metadata(tree)])
    return _judged(authority, tree, _subject(tree["spec"]))


def _local_access(authority: Authority, tree: Tree, asked: Asked) -> Tree:
    spec, about = tree["spec"], tree["metadata"]
    if about.setdefault("namespace", asked.namespace) != asked.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    _require(LOCAL_SUBJECT_ACCESS_REVIEWS, [*_wrong_question(spec), *_elsewhere(tree)])
    return _judged(authority, tree, _subject(spec))


def _elsewhere(tree: Tree) -> Iterator[FieldError]:
    """What a review within one namespace must not ask."""
    spec, about = tree["spec"], tree["metadata"]
    if set(about) - {"namespace", "managedFields"}:
        yield invalid("metadata", about, "must be empty except for namespace")
    deed = spec.get("resourceAttributes")
    if deed is not None and deed.get("namespace", "") != about["namespace"]:
        yield invalid("spec.resourceAttributes.namespace", deed.get("namespace", ""), "must match metadata.namespace")
    if spec.get("nonResourceAttributes") is not None:
        yield invalid("spec.nonResourceAttributes", spec["nonResourceAttributes"], "disallowed on this kind of request")


def _wrong_question(spec: Tree) -> Iterator[FieldError]:
    """What is asked of whom."""
    yield from _wrong_deed(spec)
    yield from _no_subject(spec)
    yield from _wrong_selectors(spec)


def _wrong_deed(spec: Tree) -> Iterator[FieldError]:
    if (spec.get("resourceAttributes") is None) == (spec.get("nonResourceAttributes") is None):
        yield invalid("spec", spec.get("nonResourceAttributes"), _ONE_OF_TWO)


def _wrong_selectors(spec: Tree) -> Iterator[FieldError]:
    """The selectors by which a list may be narrowed down: requirements or their text, and not both."""
    for part in ("fieldSelector", "labelSelector"):
        selector, path = (spec.get("resourceAttributes") or {}).get(part), f"spec.resourceAttributes.{part}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
        if raw and requirements:
            yield invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
        if not raw and not requirements:
            yield required(f"{path}.requirements", f"when {path} is specified, requirements or rawSelector is required")
        for index, requirement in enumerate(requirements):
            yield from _wrong_requirement(requirement, f"{path}.requirements[{index}]", part == "labelSelector")


def _wrong_requirement(requirement: Tree, path: str, is_label: bool) -> Iterator[FieldError]:
    """Clients may know operators that the server does not."""
    if is_label:
        yield from validate_label_requirement(requirement, path, any_operator=True)
        return
    if not requirement.get("key"):
        yield required(f"{path}.key", "must be specified")
    yield from validate_operator(requirement, path, any_operator=True)


def _no_subject(spec: Tree) -> Iterator[FieldError]:
    if not spec.get("user") and not spec.get("groups"):
        yield invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")


def _wrong_metadata(tree: Tree) -> Iterator[FieldError]:
    if set(tree["metadata"]) - {"managedFields"}:
        yield invalid("metadata", tree["metadata"], "must be empty")


def _require(resource: Resource, errors: list[FieldError]) -> None:
    if errors:
        # The reference leaves out which of the reviews it is.
        raise refusal(with_fields(resource, kind=""), "", errors)


def _judged(authority: Authority, tree: Tree, subject: Caller) -> Tree:
    allowed, reason = authority.allowed(subject, _deed(tree["spec"]))
    tree["status"] = {"allowed": allowed} | ({"reason": reason} if reason else {})
    return tree


def _deed(spec: Tree) -> dict[str, str]:
    """What is asked about, as an authority names it."""
    if spec.get("resourceAttributes") is None:
        page = spec["nonResourceAttributes"]
        return {"verb": page.get("verb", ""), "path": page.get("path", "")}
    asked = spec["resourceAttributes"]
    return {
        field: asked.get(field, "")
        for field in ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    }


def _subject(spec: Tree) -> Caller:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return Caller(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _rules(authority: Authority, tree: Tree, call: Call) -> Tree:
    namespace = tree["spec"].get("namespace", "")
    if not namespace:
        raise BadRequest("no namespace on request")
    rules = tuple(authority.permissions(call.caller, namespace))
    tree["spec"] = {}
    tree["status"] = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
            for rule in rules
            if rule.non_resource_urls
        ],
        "incomplete": False,
    }
    return tree


def _resource_rule(rule: Permission) -> dict[str, list[str]]:
    shown = {"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources}
    if rule.resource_names:
        shown["resourceNames"] = rule.resource_names
    return {field: list(values) for field, values in shown.items()}


def _token(authority: Authority, tree: Tree) -> Tree:
    spec = tree["spec"]
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    found = authority.bearer(spec["token"], tuple(spec.get("audiences") or ()))
    if found is None:
        tree["status"] = {"user": {}, "error": "invalid bearer token"}
        return tree
    caller, audiences = found
    tree["status"] = {"authenticated": True, "user": _user_info(caller), "audiences": list(audiences)}
    return tree


def _whoami(tree: Tree, call: Call) -> Tree:
    tree["metadata"] = {"creationTimestamp": timestamp(call.now)}
    tree["status"] = {"userInfo": _user_info(call.caller)}
    del tree["spec"]  # It has none.
    return tree


def _user_info(caller: Caller) -> Tree:
    info: dict[str, Any] = {"username": caller.name}
    if caller.uid:
        info["uid"] = caller.uid
    if caller.groups:
        info["groups"] = list(caller.groups)
    if caller.extra:
        info["extra"] = {key: list(values) for key, values in caller.extra.items()}
    return info
