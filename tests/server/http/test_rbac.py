from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.objects.document import Document
from eachnode.objects.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    DAEMON_SETS,
    ROLE_BINDINGS,
    ROLES,
    Resource,
)
from eachnode.objects.status import Forbidden
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.rbac import Ask, Rule, allows, compacted, described, uncovered
from eachnode.server.kind import Caller

READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
ALICE, BOB = Caller("alice", ("dev",)), Caller("bob")


class Roles:
    """Roles and bindings, and an authorizer over them."""

    def __init__(self) -> None:
        self.objects: list[tuple[Resource, dict[str, Any]]] = []
        self.authorizer = Authorizer(self._documents, lambda _kind: len(self.objects))

    def add(self, kind: Resource, name: str, namespace: str = "", **fields: Any) -> None:
        labels = fields.pop("labels", {})
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        self.objects.append((kind, {"metadata": metadata, **fields}))

    def bind(self, kind: Resource, role: tuple[str, str], subject: tuple[str, str], namespace: str = "") -> None:
        subjects = [{"kind": subject[0], "name": subject[1]}]
        self.add(kind, role[1], namespace, roleRef={"kind": role[0], "name": role[1]}, subjects=subjects)

    def _documents(self, kind: Resource) -> list[Document]:
        return [Document(msgspec.json.encode(tree)) for known, tree in self.objects if known == kind]


def ask(verb: str, resource: str = "pods", namespace: str = "home", **more: str) -> Ask:
    return Ask(verb, resource=resource, namespace=namespace, **more)


def test_a_binding_counts_within_its_namespace() -> None:
    roles = Roles()
    roles.add(ROLES, "reader", "home", rules=[READ_PODS])
    roles.bind(ROLE_BINDINGS, ("Role", "reader"), ("User", "alice"), "home")
    allowed = roles.authorizer.allowed
    assert allowed(ALICE, ask("list")).allowed
    assert not allowed(ALICE, ask("list", namespace="away")).allowed
    assert not allowed(ALICE, ask("list", namespace="")).allowed
    assert not allowed(ALICE, ask("delete")).allowed
    assert not allowed(BOB, ask("list")).allowed


def test_a_cluster_binding_counts_everywhere_and_groups_count_too() -> None:
    roles = Roles()
    roles.add(CLUSTER_ROLES, "reader", rules=[READ_PODS])
    roles.bind(CLUSTER_ROLE_BINDINGS, ("ClusterRole", "reader"), ("Group", "dev"))
    assert roles.authorizer.allowed(ALICE, ask("get", namespace="anywhere")).allowed
    assert not roles.authorizer.allowed(BOB, ask("get")).allowed


def test_a_service_account_without_a_namespace_is_one_of_the_bindings_own() -> None:
    roles = Roles()
    roles.add(CLUSTER_ROLES, "reader", rules=[READ_PODS])
    roles.bind(ROLE_BINDINGS, ("ClusterRole", "reader"), ("ServiceAccount", "agent"), "home")
    assert roles.authorizer.allowed(Caller("system:serviceaccount:home:agent"), ask("get")).allowed
    assert not roles.authorizer.allowed(Caller("system:serviceaccount:away:agent"), ask("get")).allowed


def test_a_change_of_roles_counts_at_once() -> None:
    roles = Roles()
    assert not roles.authorizer.allowed(BOB, ask("get")).allowed
    roles.add(CLUSTER_ROLES, "reader", rules=[READ_PODS])
    roles.bind(CLUSTER_ROLE_BINDINGS, ("ClusterRole", "reader"), ("User", "bob"))
    assert roles.authorizer.allowed(BOB, ask("get")).allowed


def test_masters_may_do_everything() -> None:
    root = Caller("root", ("system:masters",))
    assert Roles().authorizer.allowed(root, ask("delete", "anything")).allowed
    assert Roles().authorizer.rules_for(root, "")[0].verbs == ("*",)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            ask("list"),
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "home"',
        ),
        (
            ask("get", "daemonsets", "", group=DAEMON_SETS.group, name="d", subresource="status"),
            'daemonsets.apps "d" is forbidden: User "bob" cannot get resource "daemonsets/status" in API group "apps" '
            "at the cluster scope",
        ),
        (Ask("get", path="/metrics"), 'forbidden: User "bob" cannot get path "/metrics"'),
        (Ask("get", path="/<b>&"), 'forbidden: User "bob" cannot get path "/&lt;b&gt;&amp;"'),
    ],
)
def test_a_refusal_says_who_cannot_do_what_and_where(question: Ask, sentence: str) -> None:
    with pytest.raises(Forbidden) as refused:
        Roles().authorizer.require(BOB, question)
    assert refused.value.message == sentence


def test_a_refusal_names_roles_that_do_not_exist() -> None:
    roles = Roles()
    roles.bind(CLUSTER_ROLE_BINDINGS, ("ClusterRole", "gone"), ("User", "bob"))
    decision = roles.authorizer.allowed(BOB, ask("get"))
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'


def rule(verbs: str = "get", groups: str = "", resources: str = "pods", names: str = "", paths: str = "") -> Rule:
    return Rule(
        tuple(verbs.split()),
        (*groups.split(),) or ("",),
        tuple(resources.split()),
        tuple(names.split()),
        tuple(paths.split()),
    )


@pytest.mark.parametrize(
    ("given_rule", "question", "answer"),
    [
        (rule(resources="*"), ask("get", "pods", subresource="log"), True),
        (rule(resources="pods"), ask("get", "pods", subresource="log"), False),
        (rule(resources="pods/log"), ask("get", "pods", subresource="log"), True),
        (rule(resources="*/log"), ask("get", "pods", subresource="log"), True),
        (rule(names="a b"), ask("get", name="b"), True),
        (rule(names="a b"), ask("get", name="c"), False),
        (rule(names="a"), ask("get"), False),
        (rule("*", "*", "*"), ask("escalate", group="apps"), True),
        (rule(resources="", paths="/healthz*"), Ask("get", path="/healthz/ping"), True),
        (rule(resources="", paths="/healthz"), Ask("get", path="/healthz/ping"), False),
        (rule("*", "*", "*"), Ask("get", path="/healthz"), False),
    ],
)
def test_a_rule_allows_what_it_names(given_rule: Rule, question: Ask, answer: bool) -> None:
    assert allows(given_rule, question) is answer


def test_what_is_lacking_is_named_one_by_one() -> None:
    owned = [rule("get", resources="pods")]
    lacking = uncovered(owned, [rule("get list", resources="pods secrets")])
    assert [described(piece) for piece in lacking] == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["list"]}',
    ]


WORDS = st.sampled_from(["get", "list", "*"])
RULES = st.builds(
    Rule,
    st.lists(WORDS, min_size=1, max_size=2).map(tuple),
    st.just(("",)),
    st.lists(st.sampled_from(["pods", "pods/log", "*/log", "*"]), min_size=1, max_size=2).map(tuple),
    st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
)
ASKS = st.builds(
    lambda verb, sub, name: Ask(verb, resource="pods", subresource=sub, name=name),
    st.sampled_from(["get", "list", "watch"]),
    st.sampled_from(["", "log", "status"]),
    st.sampled_from(["", "a", "b", "c"]),
)


@given(owned=st.lists(RULES, max_size=3), wanted=st.lists(RULES, min_size=1, max_size=2), question=ASKS)
def test_whoever_lacks_nothing_may_do_all_that_the_rules_allow(
    owned: list[Rule], wanted: list[Rule], question: Ask
) -> None:
    if not uncovered(owned, wanted) and any(allows(one, question) for one in wanted):
        assert any(allows(one, question) for one in owned)


def test_a_permission_says_which_binding_it_comes_from() -> None:
    roles = Roles()
    roles.add(ROLES, "reader", "home", rules=[READ_PODS])
    roles.bind(ROLE_BINDINGS, ("Role", "reader"), ("User", "alice"), "home")
    reason = roles.authorizer.allowed(ALICE, ask("list")).reason
    assert reason == 'RBAC: allowed by RoleBinding "reader/home" of Role "reader" to User "alice"'
    roles.add(CLUSTER_ROLES, "reader", rules=[READ_PODS])
    roles.bind(CLUSTER_ROLE_BINDINGS, ("ClusterRole", "reader"), ("Group", "dev"))
    reason = roles.authorizer.allowed(ALICE, ask("list")).reason
    assert reason == 'RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to Group "dev"'


def test_what_is_lacking_is_told_thing_by_thing() -> None:
    wanted = Rule(("get", "list"), ("",), ("pods", "nodes"), ("a",))
    urls = Rule(("get", "put"), non_resource_urls=("/x",))
    assert [described(rule) for rule in compacted(uncovered([Rule(("get",), ("",), ("pods",))], [wanted, urls]))] == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["nodes"], ResourceNames:["a"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/x"], Verbs:["get" "put"]}',
    ]
