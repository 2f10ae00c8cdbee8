"""The field tables are what their script makes, and say what Go's structs say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from eachnode.server.schema.shapes import Presence, Sort, empty, known_kinds, shape

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_field_tables.py"
CORE = "io.k8s.api.core.v1"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_field_tables", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_what_the_script_makes(script: ModuleType) -> None:
    assert script.TARGET.read_text() == script.tables()


def test_what_nobody_said_is_still_written_where_go_writes_it() -> None:
    status = empty(shape(f"{CORE}.NodeStatus"))
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert status["nodeInfo"]["kubeletVersion"] == ""
    assert empty(shape(f"{CORE}.PodCondition")) == {
        "type": "",
        "status": "",
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }
    assert empty(shape(f"{CORE}.ResourceFieldSelector")) == {"resource": "", "divisor": "0"}


def test_lists_know_how_their_entries_are_told_apart() -> None:
    ports = shape(f"{CORE}.Container").fields["ports"].shape
    assert (ports.relation, ports.keys, ports.merge_key) == ("map", ("containerPort", "protocol"), "containerPort")
    assert ports.item is not None
    assert ports.item.key_defaults["protocol"] == "TCP"
    finalizers = shape("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").fields["finalizers"].shape
    assert (finalizers.relation, finalizers.merges, finalizers.merge_key) == ("set", True, "")
    tolerations = shape(f"{CORE}.PodSpec").fields["tolerations"].shape
    assert not tolerations.merges
    assert shape(f"{CORE}.PodSpec").fields["volumes"].shape.retains_keys


def test_pointers_may_be_empty_and_values_may_not() -> None:
    fields = shape(f"{CORE}.PodSpec").fields
    assert fields["enableServiceLinks"].presence is Presence.GIVEN
    assert fields["hostNetwork"].presence is Presence.NOT_EMPTY
    assert fields["containers"].presence is Presence.DEMANDED


def test_a_schema_may_hold_schemas() -> None:
    schema = shape("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    properties = schema.fields["properties"].shape
    assert properties.sort is Sort.MAP
    assert properties.item is schema


def test_kinds_that_are_not_served_are_known_by_name() -> None:
    assert "Deployment" in known_kinds("apps/v1")
    assert not known_kinds("example.com/v1")
