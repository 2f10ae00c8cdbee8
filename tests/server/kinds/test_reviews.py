"""Kinds that are asked and not stored: reviews, and tokens for service accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import PODS, SERVICE_ACCOUNTS, Resource
from eachnode.objects.status import ApiError
from eachnode.server.kind import Answer, Asked, Call, Caller, Kind, Tree
from eachnode.server.kinds import reviews
from eachnode.server.kinds.reviews import review_kinds
from eachnode.server.kinds.token_requests import Grant, service_account_kind

from .judging import NOW

WHO = Caller("alice", ("devs",), "u-1", {"team": ("a",)})
CREATE_PODS = {"verb": "create", "resource": "pods", "namespace": "ns"}
ONE_OF_TWO = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


@dataclass(frozen=True)
class OneRule:
    """A rule as the front has it."""

    verbs: tuple[str, ...] = ("get",)
    api_groups: tuple[str, ...] = ("",)
    resources: tuple[str, ...] = ("pods",)
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()


class Herself:
    """Lets alice create pods in `ns` and read `/metrics`, and knows her token."""

    def allowed(self, caller: Caller, deed: Mapping[str, str]) -> tuple[bool, str]:
        if caller.name != "alice":
            return False, "nobody knows them"
        fits = deed.get("path") == "/metrics" or (deed.get("resource"), deed.get("namespace")) == ("pods", "ns")
        return fits, ""

    def permissions(self, caller: Caller, namespace: str) -> tuple[OneRule, ...]:
        page = OneRule(api_groups=(), resources=(), non_resource_urls=("/metrics",))
        return (OneRule(resource_names=("p",)), page) if caller.name == "alice" and namespace == "ns" else ()

    def bearer(self, token: str, audiences: Sequence[str]) -> tuple[Caller, tuple[str, ...]] | None:
        return (WHO, tuple(audiences) or ("here",)) if token == "hers" else None


class Things:
    """What handlers may read, and nothing they may do."""

    def __init__(self, *objects: tuple[Resource, Tree]) -> None:
        self._objects = {(resource, tree["metadata"]["name"]): tree for resource, tree in objects}

    def get(self, resource: Resource, _namespace: str, name: str) -> Tree | None:
        return self._objects.get((resource, name))

    def list(self, resource: Resource, _namespace: str = "") -> list[Tree]:
        return [tree for (kind, _), tree in self._objects.items() if kind == resource]

    def documents(self, resource: Resource, namespace: str = "") -> Sequence[Document]:
        return [Document(msgspec.json.encode(tree)) for tree in self.list(resource, namespace)]

    def modify(
        self, call: Call, resource: Resource, namespace: str, name: str, change: Callable[[Tree], None]
    ) -> Answer:
        raise AssertionError("a question changes nothing")

    def remove(
        self, call: Call, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> Answer:
        raise AssertionError("a question changes nothing")


def asked(kind: Kind, subresource: str, tree: Tree, things: Things, *, namespace: str = "", name: str = "") -> Tree:
    handle = kind.subresources[subresource].handle
    assert handle is not None
    body = msgspec.json.encode(tree)
    question = Asked(kind=kind, subresource=subresource, verb="create", body=body, namespace=namespace, name=name)
    answer = handle(things, Call(WHO, NOW), question)
    assert answer.code == 201
    return answer.document.tree()


def review(resource: Resource, spec: Tree | None = None, within: str = "", **metadata: Any) -> Tree:
    kind = next(kind for kind in review_kinds(Herself()) if kind.resource == resource)
    tree: Tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return asked(kind, "", tree | ({"spec": spec} if spec is not None else {}), Things(), namespace=within)


def refused(resource: Resource, spec: Tree, within: str = "", **metadata: Any) -> str:
    with pytest.raises(ApiError) as error:
        review(resource, spec, within, **metadata)
    return error.value.message


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"resourceAttributes": CREATE_PODS}, True),
        ({"resourceAttributes": {**CREATE_PODS, "namespace": "other"}}, False),
        ({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, True),
    ],
)
def test_may_i(spec: Tree, allowed: bool) -> None:
    answer = review(reviews.SELF_SUBJECT_ACCESS_REVIEWS, spec)
    assert answer["kind"] == "SelfSubjectAccessReview"
    assert answer["spec"] == spec
    assert answer["status"] == {"allowed": allowed}


def test_may_they() -> None:
    spec = {"user": "bob", "resourceAttributes": CREATE_PODS}
    answer = review(reviews.SUBJECT_ACCESS_REVIEWS, spec)
    assert answer["status"] == {"allowed": False, "reason": "nobody knows them"}
    assert review(reviews.SUBJECT_ACCESS_REVIEWS, {**spec, "user": "alice"})["status"] == {"allowed": True}


@pytest.mark.parametrize(
    ("part", "selector", "fault"),
    [
        ("fieldSelector", {}, "requirements: Required value: when spec.resourceAttributes.fieldSelector is specified"),
        ("labelSelector", {"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]},
         'rawSelector: Invalid value: "a": may not specified at the same time as requirements'),
        ("fieldSelector", {"requirements": [{"operator": "Unheard"}]},
         "requirements[0].key: Required value: must be specified"),
        ("fieldSelector", {"requirements": [{"key": "a", "operator": "In"}]},
         "requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
        ("labelSelector", {"requirements": [{"key": "a b", "operator": "Unheard"}]},
         'requirements[0].key: Invalid value: "a b": name part must consist of'),
    ],
)  # fmt: skip
def test_selectors_in_a_review_are_judged(part: str, selector: Tree, fault: str) -> None:
    for resource in (reviews.SELF_SUBJECT_ACCESS_REVIEWS, reviews.SUBJECT_ACCESS_REVIEWS):
        spec = {"user": "bob", "resourceAttributes": {**CREATE_PODS, part: selector}}
        assert f"spec.resourceAttributes.{part}.{fault}" in refused(resource, spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, f'.authorization.k8s.io "" is invalid: spec: Invalid value: null: {ONE_OF_TWO}'),
        (
            {"resourceAttributes": CREATE_PODS, "nonResourceAttributes": {"path": "/"}},
            f'.authorization.k8s.io "" is invalid: spec: Invalid value: {{"path":"/"}}: {ONE_OF_TWO}',
        ),
    ],
)
def test_a_review_is_about_one_thing(spec: Tree, message: str) -> None:
    assert refused(reviews.SELF_SUBJECT_ACCESS_REVIEWS, spec) == message


def test_a_review_of_others_names_them() -> None:
    assert refused(reviews.SUBJECT_ACCESS_REVIEWS, {"resourceAttributes": CREATE_PODS}).endswith(
        'spec.user: Invalid value: "": at least one of user or group must be specified'
    )


def test_a_local_review_stays_in_its_namespace() -> None:
    spec = {"user": "alice", "resourceAttributes": CREATE_PODS}
    answer = review(reviews.LOCAL_SUBJECT_ACCESS_REVIEWS, spec, "ns")
    assert answer["status"] == {"allowed": True}
    assert answer["metadata"] == {"namespace": "ns"}
    assert refused(reviews.LOCAL_SUBJECT_ACCESS_REVIEWS, spec, "other").endswith(
        'spec.resourceAttributes.namespace: Invalid value: "ns": must match metadata.namespace'
    )
    sentence = "the namespace of the provided object does not match the namespace sent on the request"
    assert refused(reviews.LOCAL_SUBJECT_ACCESS_REVIEWS, spec, "other", namespace="ns") == sentence


def test_all_that_i_may() -> None:
    answer = review(reviews.SELF_SUBJECT_RULES_REVIEWS, {"namespace": "ns"})
    assert answer["status"] == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
        "incomplete": False,
    }
    assert refused(reviews.SELF_SUBJECT_RULES_REVIEWS, {}) == "no namespace on request"


def test_who_am_i() -> None:
    answer = review(reviews.SELF_SUBJECT_REVIEWS)
    assert answer["status"]["userInfo"] == {
        "username": "alice",
        "uid": "u-1",
        "groups": ["devs"],
        "extra": {"team": ["a"]},
    }
    assert answer["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"


def test_whose_token_is_this() -> None:
    answer = review(reviews.TOKEN_REVIEWS, {"token": "hers"})
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == "alice"
    assert answer["status"]["audiences"] == ["here"]
    unknown = review(reviews.TOKEN_REVIEWS, {"token": "found"})
    assert "authenticated" not in unknown["status"]
    assert refused(reviews.TOKEN_REVIEWS, {"token": ""}) == "token is required for TokenReview in authentication"


ACCOUNT = {"metadata": {"name": "sa", "namespace": "ns", "uid": "u-sa"}}
OWN_POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "u-p"}, "spec": {"serviceAccountName": "sa"}}
OTHER_POD = {"metadata": {"name": "q", "namespace": "ns", "uid": "u-q"}, "spec": {}}


class TestTokens:
    """`serviceaccounts/token`."""

    def ask(self, spec: Tree, name: str = "sa", **metadata: Any) -> tuple[Tree, list[Grant]]:
        granted: list[Grant] = []

        def issue(grant: Grant, now: float) -> str:
            assert now == NOW
            granted.append(grant)
            return "token"

        things = Things((SERVICE_ACCOUNTS, ACCOUNT), (PODS, OWN_POD), (PODS, OTHER_POD))
        tree = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": spec}
        kind = service_account_kind(issue, ("here",))
        return asked(kind, "token", tree, things, namespace="ns", name=name), granted

    def refuse(self, spec: Tree, name: str = "sa", **metadata: Any) -> tuple[int, str]:
        with pytest.raises(ApiError) as error:
            self.ask(spec, name, **metadata)
        return error.value.code, error.value.message

    def test_an_account_gets_a_token_for_an_hour(self) -> None:
        answer, granted = self.ask({})
        assert answer["status"] == {"token": "token", "expirationTimestamp": "2023-11-14T23:13:20Z"}
        assert answer["spec"] == {"audiences": ["here"], "expirationSeconds": 3600, "boundObjectRef": None}
        assert answer["metadata"]["name"] == "sa"
        assert granted == [Grant("ns", "sa", "u-sa", ("here",), 3600)]

    def test_a_token_may_be_for_others_and_bound_to_a_pod(self) -> None:
        pod = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
        _, granted = self.ask({"audiences": ["vault"], "expirationSeconds": 600, "boundObjectRef": pod})
        assert granted == [Grant("ns", "sa", "u-sa", ("vault",), 600, "Pod", "p", "u-p")]

    @pytest.mark.parametrize(
        ("spec", "code", "message"),
        [
            (
                {"expirationSeconds": 10},
                422,
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: '
                "may not specify a duration less than 10 minutes",
            ),
            (
                {"expirationSeconds": 2**33},
                422,
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 8589934592: '
                "may not specify a duration larger than 2^32 seconds",
            ),
            (
                {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "gone"}},
                404,
                'pods "gone" not found',
            ),
            (
                {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "q"}},
                400,
                'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
            ),
            (
                {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d"}},
                400,
                "cannot bind token to object of type apps/v1, Kind=DaemonSet",
            ),
            (
                {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "old"}},
                409,
                'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (old) does not match '
                "the UID in record. The object might have been deleted and then recreated",
            ),
        ],
    )
    def test_what_is_not_granted(self, spec: Tree, code: int, message: str) -> None:
        assert self.refuse(spec) == (code, message)

    def test_the_account_must_be_there_and_be_the_one_that_is_meant(self) -> None:
        assert self.refuse({}, name="gone") == (404, 'serviceaccounts "gone" not found')
        code, message = self.refuse({}, uid="old")
        assert code == 409
        assert message.endswith("(old) does not match the UID of the service account (u-sa)")
        code, message = self.refuse({}, namespace="elsewhere")
        assert code == 422
        assert "must match the service account namespace if specified" in message
