"""Trees are brought into the form Go would write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.server.schema import canonical
from eachnode.server.schema.shapes import Shape, Sort, shape
from tests.server.schema.calls import Tree

CORE = "io.k8s.api.core.v1"


@pytest.mark.parametrize(
    ("definition", "given_tree", "wanted"),
    [
        (f"{CORE}.Container", {"name": "c", "image": "", "args": [], "tty": False}, {"name": "c", "resources": {}}),
        (
            f"{CORE}.Container",
            {"name": "c", "securityContext": {}},
            {"name": "c", "securityContext": {}, "resources": {}},
        ),
        (
            f"{CORE}.SecurityContext",
            {"privileged": False, "runAsUser": 0, "capabilities": None},
            {"privileged": False, "runAsUser": 0},
        ),
        (f"{CORE}.PodTemplateSpec", {}, {"metadata": {}, "spec": {}}),
        (
            "io.k8s.api.apps.v1.DaemonSetStatus",
            {"numberAvailable": 0, "conditions": [None]},
            {
                "conditions": [{"type": "", "status": "", "lastTransitionTime": None}],
                "currentNumberScheduled": 0,
                "numberMisscheduled": 0,
                "desiredNumberScheduled": 0,
                "numberReady": 0,
            },
        ),
        (
            f"{CORE}.ResourceRequirements",
            {"limits": {"cpu": None, "memory": 1}},
            {"limits": {"cpu": "0", "memory": "1"}},
        ),
        ("io.k8s.api.rbac.v1.ClusterRole", {}, {"metadata": {}, "rules": None}),
        ("io.k8s.api.rbac.v1.ClusterRole", {"rules": []}, {"metadata": {}, "rules": None}),
        (f"{CORE}.ServiceStatus", {}, {"loadBalancer": {}}),
        (f"{CORE}.EmptyDirVolumeSource", {"sizeLimit": "1024Ki"}, {"sizeLimit": "1Mi"}),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            {"creationTimestamp": "2026-01-01T01:00:00.5+01:00", "deletionTimestamp": None, "labels": {"a": None}},
            {"creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": ""}},
        ),
        (
            "io.k8s.api.coordination.v1.LeaseSpec",
            {"renewTime": "2026-01-01T01:00:00.000001+01:00", "holderIdentity": ""},
            {"renewTime": "2026-01-01T00:00:00.000001Z", "holderIdentity": ""},
        ),
    ],
)
def test_a_tree_is_written_as_go_writes_it(definition: str, given_tree: Tree, wanted: Tree) -> None:
    assert canonical(definition, given_tree) == wanted


def values(wanted: Shape, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a shape, empty and absent ones among them."""
    plain: dict[Sort, st.SearchStrategy[Any]] = {
        Sort.STRING: st.sampled_from(["", "a", "<&>"]),
        Sort.INTEGER: st.sampled_from([0, 1, -5]),
        Sort.BOOLEAN: st.booleans(),
        Sort.NUMBER: st.sampled_from([0, 1.5]),
        Sort.QUANTITY: st.sampled_from(["0", "0.5", "1024Ki", 3, None]),
        Sort.INTEGER_OR_STRING: st.sampled_from([0, "0", "5%"]),
        Sort.TIME: st.sampled_from(["2026-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z"]),
        Sort.MICRO_TIME: st.just("2026-01-01T00:00:00.000000Z"),
        Sort.BYTES: st.sampled_from(["", "dg=="]),
    }
    if wanted.sort in plain:
        return plain[wanted.sort]
    if depth > 3:
        return st.none()
    if wanted.sort is Sort.STRUCT:
        chosen = st.sampled_from(sorted(wanted.fields)) if wanted.fields else st.nothing()
        return st.lists(chosen, max_size=4, unique=True).flatmap(
            lambda names: st.fixed_dictionaries(
                {name: st.none() | values(wanted.fields[name].shape, depth + 1) for name in names}
            )
        )
    if wanted.item is not None:
        entries = st.none() | values(wanted.item, depth + 1)
        if wanted.sort is Sort.LIST:
            return st.lists(entries, max_size=3)
        return st.dictionaries(st.sampled_from(["a", "b"]), entries, max_size=2)
    return st.sampled_from([{}, {"x": [1, None]}])


@pytest.mark.parametrize("definition", [f"{CORE}.PodSpec", f"{CORE}.NodeStatus", "io.k8s.api.apps.v1.DaemonSet"])
@given(data=st.data())
def test_the_form_is_idempotent(definition: str, data: st.DataObject) -> None:
    once = canonical(definition, data.draw(values(shape(definition))))
    assert canonical(definition, copy.deepcopy(once)) == once
