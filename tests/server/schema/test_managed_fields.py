"""Who manages which field, and what server-side apply makes of it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.objects.status import ApiError, BadRequest, Conflict, Invalid
from eachnode.server.kind import Kind
from eachnode.server.schema import applied, field_sets, track
from eachnode.server.schema.ownership import ANCIENT, keep_times
from tests.server.schema.calls import DAEMON_SET, POD, Tree, a_call, custom, read


def container(name: str, **fields: Any) -> Tree:
    return {"name": name, "image": f"{name}:1", **fields}


def created(kind: Kind, body: Tree, manager: str = "creator", now: float = 0) -> Tree:
    tree = read(kind, copy.deepcopy(body))
    track(kind, tree, None, a_call(manager, now=now))
    tree["metadata"]["uid"] = "u"
    return tree


def written(kind: Kind, old: Tree, manager: str, now: float = 0, subresource: str = "", **changes: Any) -> Tree:
    """The object after somebody replaced some of its top-level fields."""
    new = {**copy.deepcopy(old), **copy.deepcopy(changes)}
    track(kind, new, old, a_call(manager, now=now), subresource)
    return new


def test_entries_that_their_keys_do_not_tell_apart_have_one_owner_together() -> None:
    twice: Tree = {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]}
    old = created(POD, {"metadata": {"name": "p"}, "spec": twice})
    env = "f:spec", "f:containers", 'k:{"name":"c"}', "f:env"
    assert inside(entry(old, "creator"), *env) == {".": {}, 'k:{"name":"A"}': {}}
    once = {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}
    new = written(POD, old, "editor", now=1, spec=read(POD, {"spec": once})["spec"])
    assert inside(entry(new, "editor"), *env) == {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}}
    other = copy.deepcopy(twice)
    other["containers"][0]["env"][1]["value"] = "3"
    new = written(POD, old, "editor", now=1, spec=other)
    assert inside(entry(new, "editor"), *env) == {'k:{"name":"A"}': {}}


def test_a_reference_without_a_name_is_owned_like_any_other() -> None:
    old = created(POD, {"metadata": {"name": "p"}, "spec": {"imagePullSecrets": [{}, {"name": "s"}]}})
    assert inside(entry(old, "creator"), "f:spec", "f:imagePullSecrets") == {
        ".": {},
        'k:{"name":""}': {},
        'k:{"name":"s"}': {},
    }


def inside(managed: Tree, *steps: str) -> Any:
    """The node of a manager's fields at these steps."""
    node = managed["fieldsV1"]
    for step in steps:
        node = node[step]
    return node


def entry(tree: Tree, manager: str) -> Tree:
    (found,) = [one for one in tree["metadata"]["managedFields"] if one["manager"] == manager]
    return dict(found)


POD_BODY: Tree = {
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "spec": {"containers": [container("c", ports=[{"containerPort": 80}], env=[{"name": "E", "value": "1"}])]},
}


def test_a_creator_manages_all_it_wrote() -> None:
    assert entry(created(POD, POD_BODY), "creator") == {
        "manager": "creator",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "1970-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:env": {".": {}, 'k:{"name":"E"}': {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                        },
                        "f:resources": {},
                    }
                }
            },
        },
    }


def test_a_writer_takes_what_it_changes() -> None:
    pod = created(POD, POD_BODY)
    spec = {"containers": [container("c", image="c:2")]}
    new = written(POD, pod, "editor", now=5, spec=spec)
    assert entry(new, "editor")["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}}}
    assert entry(new, "editor")["time"] == "1970-01-01T00:00:05Z"
    rest = entry(new, "creator")["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert set(rest) == {".", "f:name", "f:resources"}
    assert entry(new, "creator")["time"] == "1970-01-01T00:00:00Z"


def test_a_write_that_changes_nothing_leaves_all_entries() -> None:
    pod = created(POD, POD_BODY)
    assert written(POD, pod, "editor", now=9) == pod
    assert written(POD, pod, "creator", now=9) == pod


def test_the_status_is_managed_through_its_subresource_only() -> None:
    pod = created(POD, {**POD_BODY, "status": {"phase": "Running"}})
    assert "f:status" not in entry(pod, "creator")["fieldsV1"]
    pod["status"] = {}
    new = written(POD, pod, "kubelet", subresource="status", status={"phase": "Running"}, spec={"containers": []})
    assert entry(new, "kubelet")["subresource"] == "status"
    assert entry(new, "kubelet")["fieldsV1"] == {"f:status": {"f:phase": {}}}


def test_subresources_have_entries_of_their_own() -> None:
    pod = created(POD, POD_BODY, "agent")
    new = written(POD, pod, "agent", subresource="status", status={"phase": "Running"})
    assert [one.get("subresource") for one in new["metadata"]["managedFields"]] == [None, "status"]


@pytest.mark.parametrize("cleared", [[], [{}]])
def test_a_client_can_clear_the_entries_and_nothing_is_tracked_then(cleared: list[Tree]) -> None:
    pod = created(POD, POD_BODY)
    new = copy.deepcopy(pod)
    new["metadata"]["managedFields"] = cleared
    track(POD, new, pod, a_call("clearer"))
    assert "managedFields" not in new["metadata"]
    assert "managedFields" not in written(POD, new, "editor", spec={"containers": []})["metadata"]


@pytest.mark.parametrize(
    "broken", [{"operation": "Shuffle"}, {"apiVersion": ""}, {"fieldsType": "V2"}, {"fieldsV1": {"x:y": {}}}]
)
def test_entries_that_are_not_well_formed_are_not_taken(broken: Tree) -> None:
    pod = created(POD, POD_BODY)
    new = copy.deepcopy(pod)
    new["metadata"]["managedFields"][0] |= broken
    track(POD, new, pod, a_call("editor"))
    assert new == pod


def test_the_oldest_updaters_are_merged_when_there_are_too_many() -> None:
    pod = created(POD, POD_BODY)
    for number in range(12):
        labels = {**pod["metadata"].get("labels", {}), f"l{number}": "x"}
        pod = written(POD, pod, f"m{number:02}", now=number, metadata={**pod["metadata"], "labels": labels})
    managers = [one["manager"] for one in pod["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert managers[0] == ANCIENT
    assert "m11" in managers
    assert {f"f:l{number}" for number in range(3)} <= set(entry(pod, ANCIENT)["fieldsV1"]["f:metadata"]["f:labels"])


def test_times_alone_are_no_change() -> None:
    pod = created(POD, POD_BODY)
    new = copy.deepcopy(pod)
    new["metadata"]["managedFields"][0]["time"] = "2030-01-01T00:00:00Z"
    keep_times(new, pod)
    assert new == pod


# Apply ----------------------------------------------------------------------------------------------------------------


def config(spec: Tree, **metadata: Any) -> Tree:
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", **metadata}, "spec": spec}


def template(*containers: Tree, **spec: Any) -> Tree:
    return {"template": {"spec": {"containers": list(containers), **spec}}}


def apply(
    live: Tree | None, body: Tree, manager: str, *, force: bool = False, now: float = 0, subresource: str = ""
) -> Tree:
    raw = json.dumps(body).encode()
    return applied(DAEMON_SET, copy.deepcopy(live), raw, a_call(manager, force=force, now=now), subresource)


def containers_of(tree: Tree) -> dict[str, Tree]:
    return {one["name"]: one for one in tree["spec"]["template"]["spec"].get("containers", [])}


def test_applying_creates_and_owns_what_was_named() -> None:
    tree = apply(None, config({"minReadySeconds": 3, **template(container("c"))}, labels={"x": "1"}), "alice")
    assert entry(tree, "alice")["operation"] == "Apply"
    assert entry(tree, "alice")["fieldsV1"] == {
        "f:metadata": {"f:labels": {"f:x": {}}},
        "f:spec": {
            "f:minReadySeconds": {},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}}},
        },
    }


def test_changing_what_another_owns_is_a_conflict() -> None:
    live = apply(None, config({"minReadySeconds": 3}), "alice")
    with pytest.raises(Conflict) as refusal:
        apply(live, config({"minReadySeconds": 9}), "bob")
    assert refusal.value.message == 'Apply failed with 1 conflict: conflict with "alice": .spec.minReadySeconds'
    assert refusal.value.details is not None
    (cause,) = refusal.value.details.causes
    assert (cause.reason, cause.field) == ("FieldManagerConflict", ".spec.minReadySeconds")
    assert apply(live, config({"minReadySeconds": 3}), "bob")["spec"]["minReadySeconds"] == 3


def test_several_conflicts_are_listed_by_their_owners() -> None:
    live = apply(None, config({"minReadySeconds": 3}), "alice")
    live = written(DAEMON_SET, live, "carol", spec={**live["spec"], "revisionHistoryLimit": 1})
    live["metadata"]["uid"] = "u"
    with pytest.raises(Conflict) as refusal:
        apply(live, config({"minReadySeconds": 9, "revisionHistoryLimit": 2}), "bob")
    assert refusal.value.message == (
        'Apply failed with 2 conflicts: conflicts with "alice":\n- .spec.minReadySeconds\n'
        'conflicts with "carol" using apps/v1:\n- .spec.revisionHistoryLimit'
    )


def test_who_joins_the_owners_of_what_is_there_already_has_no_time() -> None:
    live = apply(None, config({"minReadySeconds": 3}), "alice")
    live = apply(live, config({"minReadySeconds": 3}), "bob")
    assert "time" not in entry(live, "bob")
    assert "time" in entry(live, "alice")
    assert "time" in entry(apply(live, config({"minReadySeconds": 3, "revisionHistoryLimit": 1}), "bob"), "bob")


def test_force_takes_fields_over() -> None:
    live = apply(None, config({"minReadySeconds": 3, "revisionHistoryLimit": 1}), "alice")
    live = apply(live, config({"minReadySeconds": 9}), "bob", force=True)
    assert live["spec"]["minReadySeconds"] == 9
    assert entry(live, "alice")["fieldsV1"] == {"f:spec": {"f:revisionHistoryLimit": {}}}


def test_what_is_no_longer_applied_goes_unless_another_owns_it() -> None:
    live = apply(None, config(template(container("c", env=[{"name": "A", "value": "1"}]))), "alice")
    live = apply(live, config(template({"name": "c", "env": [{"name": "B", "value": "2"}]}, container("d"))), "bob")
    assert set(containers_of(live)) == {"c", "d"}
    live = apply(live, config({"minReadySeconds": 1}), "bob")
    assert containers_of(live)["c"]["env"] == [{"name": "A", "value": "1"}]
    assert "d" not in containers_of(live)
    live = apply(live, config({}), "alice")
    assert not containers_of(live)


def test_what_others_updated_stays_when_an_applier_lets_go() -> None:
    live = apply(None, config({"minReadySeconds": 3}), "alice")
    live["metadata"]["uid"] = "u"
    live = written(DAEMON_SET, live, "editor", spec={**live["spec"], "minReadySeconds": 7})
    live["metadata"]["uid"] = "u"
    assert apply(live, config({}), "alice")["spec"]["minReadySeconds"] == 7


def test_objects_from_before_are_owned_by_those_before() -> None:
    live = read(DAEMON_SET, config({"minReadySeconds": 3}))
    with pytest.raises(Conflict, match='conflict with "before-first-apply" using apps/v1'):
        apply(live, config({"minReadySeconds": 4}), "alice")


def test_kubectl_may_change_what_it_applied_by_annotation() -> None:
    body = config({"minReadySeconds": 3})
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(body)}
    live = created(
        DAEMON_SET,
        config({"minReadySeconds": 3, "revisionHistoryLimit": 5}, annotations=last),
        "kubectl-client-side-apply",
    )
    live = apply(live, config({"minReadySeconds": 4}), "kubectl")
    assert live["spec"]["minReadySeconds"] == 4
    annotation = live["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(annotation)["spec"] == {"minReadySeconds": 4}
    with pytest.raises(Conflict, match="revisionHistoryLimit"):
        apply(live, config({"revisionHistoryLimit": 6}), "kubectl")


@pytest.mark.parametrize(
    ("body", "wanted", "sentence"),
    [
        (config({}, managedFields=[]), BadRequest, "metadata.managedFields must be nil"),
        ({**config({}), "apiVersion": "v1"}, BadRequest, "invalid object type: /v1, Kind=DaemonSet"),
        ({**config({}), "kind": "Pod"}, BadRequest, "invalid object type: apps/v1, Kind=Pod"),
        ({**config({}), "apiVersion": 1, "kind": None}, BadRequest, "invalid object type: /, Kind="),
        (
            config({"replicas": 1}),
            ApiError,
            "failed to create typed patch object (/d; apps/v1, Kind=DaemonSet): "
            ".spec.replicas: field not declared in schema",
        ),
        (
            config(template(container("c"), container("c"))),
            ApiError,
            "failed to create typed patch object (/d; apps/v1, Kind=DaemonSet): "
            '.spec.template.spec.containers: duplicate entries for key [name="c"]',
        ),
        (
            config({"minReadySeconds": "x"}),
            ApiError,
            "failed to create typed patch object (/d; apps/v1, Kind=DaemonSet): "
            ".spec.minReadySeconds: expected numeric (int or float), got string",
        ),
    ],
)
def test_a_configuration_that_cannot_be_applied_is_refused(body: Tree, wanted: type[ApiError], sentence: str) -> None:
    with pytest.raises(wanted) as refusal:
        apply(None, body, "alice")
    assert refusal.value.message == sentence


def test_an_object_in_which_nothing_was_written_had_no_owners_before() -> None:
    bare = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}}
    assert "managedFields" not in apply(bare, bare, "alice")["metadata"]


def test_applying_needs_a_manager() -> None:
    with pytest.raises(Invalid, match="fieldManager: Required value: is required for apply patch"):
        apply(None, config({}), "")


def test_configurations_may_be_yaml() -> None:
    body = b"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec: {minReadySeconds: 3}\n"
    assert applied(DAEMON_SET, None, body, a_call("alice"))["spec"]["minReadySeconds"] == 3
    with pytest.raises(BadRequest, match='key "kind" already set in map'):
        applied(DAEMON_SET, None, body + b"kind: DaemonSet\n", a_call("alice", strict="Strict"))
    call = a_call("alice")
    applied(DAEMON_SET, None, body + b"kind: DaemonSet\n", call)
    assert call.warnings == ['line 5: key "kind" already set in map']


def test_custom_kinds_merge_lists_by_their_schema() -> None:
    entries = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}},
    }
    widget = custom({"type": "object", "properties": {"spec": {"type": "object", "properties": {"all": entries}}}})

    def body(*listed: Tree) -> bytes:
        tree = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"all": listed}}
        return json.dumps(tree).encode()

    live = applied(widget, None, body({"id": "a", "n": 1}), a_call("alice"))
    live = applied(widget, live, body({"id": "b", "n": 2}), a_call("bob"))
    assert [one["id"] for one in live["spec"]["all"]] == ["a", "b"]
    live = applied(widget, live, body(), a_call("alice"))
    assert [one["id"] for one in live["spec"]["all"]] == ["b"]


CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "minReadySeconds": st.integers(1, 2),
        "template": st.fixed_dictionaries(
            {},
            optional={
                "metadata": st.dictionaries(st.just("labels"), st.dictionaries(st.sampled_from("ab"), st.just("x"))),
                "spec": st.fixed_dictionaries(
                    {},
                    optional={
                        "containers": st.lists(
                            st.fixed_dictionaries(
                                {"name": st.sampled_from("cd")}, optional={"image": st.sampled_from(["i", "j"])}
                            ),
                            min_size=1,
                            unique_by=lambda one: one["name"],
                        )
                    },
                ),
            },
        ),
    },
)


@given(CONFIGS, CONFIGS)
def test_applying_the_same_again_changes_nothing(first: Tree, second: Tree) -> None:
    live = apply(None, config(first), "alice", now=1)
    live = apply(live, config(second), "bob", force=True, now=2)
    again = apply(live, config(second), "bob", now=3)
    keep_times(again, live)
    assert again == live


@given(CONFIGS)
def test_letting_go_of_everything_leaves_nothing_behind(spec: Tree) -> None:
    before = apply(None, config({"revisionHistoryLimit": 4}), "alice", now=1)
    live = apply(before, config(spec), "bob", now=2)
    nothing = {key: value for key, value in config({}).items() if key != "spec"}
    after = apply(live, nothing, "bob", now=3)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]


# Sets of fields -------------------------------------------------------------------------------------------------------

SETS = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(st.sampled_from([".", "f:a", "f:b", 'v:"x"']), inner, min_size=1, max_size=3).map(
        lambda node: {step: {} if step == "." else below for step, below in node.items()}
    ),
    max_leaves=10,
).map(lambda node: {step: below for step, below in node.items() if step != "."})


def members(fields: Tree) -> set[str]:
    return set(field_sets.paths(fields))


@given(SETS, SETS)
def test_sets_of_fields_are_sets(left: Tree, right: Tree) -> None:
    assert members(field_sets.union(left, right)) == members(left) | members(right)
    assert members(field_sets.difference(left, right)) == members(left) - members(right)
    assert members(field_sets.intersection(left, right)) == members(left) & members(right)
    assert field_sets.covers(left, right) == (members(right) <= members(left))


def test_places_are_spelled_as_messages_spell_them() -> None:
    fields: Tree = {"f:spec": {'k:{"name":"c","port":80}': {"f:x": {}}, 'v:"y"': {}, "i:3": {}}}
    assert sorted(field_sets.paths(fields)) == [".spec[3]", '.spec[="y"]', '.spec[name="c",port=80].x']
