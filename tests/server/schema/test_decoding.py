"""Bodies are read, or refused with the reference's sentence."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.objects.status import BadRequest
from eachnode.server.kind import Kind
from eachnode.server.schema import decode
from tests.server.schema.calls import CONFIG_MAP, DAEMON_SET, NODE, POD, SECRET, Tree, a_call, custom, read


def handled(kind: Kind) -> str:
    name = kind.resource.kind
    return f'{name} in version "v1" cannot be handled as a {name}: '


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (DAEMON_SET, {"spec": {"minReadySeconds": "x"}}, ("string", "DaemonSetSpec.spec.minReadySeconds", "int32")),
        (
            DAEMON_SET,
            b'{"spec":{"minReadySeconds":1e2}}',
            ("number 1e2", "DaemonSetSpec.spec.minReadySeconds", "int32"),
        ),
        (
            DAEMON_SET,
            {"spec": {"minReadySeconds": 1 << 31}},
            ("number 2147483648", "DaemonSetSpec.spec.minReadySeconds", "int32"),
        ),
        (DAEMON_SET, {"metadata": {"labels": {"a": 1}}}, ("number", "ObjectMeta.metadata.labels", "string")),
        (
            DAEMON_SET,
            {"metadata": {"creationTimestamp": 5}},
            ("number", "ObjectMeta.metadata.creationTimestamp", "string"),
        ),
        (POD, {"spec": {"containers": {}}}, ("object", "PodSpec.spec.containers", "[]v1.Container")),
        (POD, {"spec": {"restartPolicy": []}}, ("array", "PodSpec.spec.restartPolicy", "v1.RestartPolicy")),
        (POD, {"spec": {"hostNetwork": 1}}, ("number", "PodSpec.spec.hostNetwork", "bool")),
        (
            POD,
            {"spec": {"volumes": [{"name": "v", "hostPath": True}]}},
            ("bool", "Volume.spec.volumes.VolumeSource.hostPath", "v1.HostPathVolumeSource"),
        ),
        (
            DAEMON_SET,
            {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1.5}}}},
            ("number 1.5", "RollingUpdateDaemonSet.spec.updateStrategy.rollingUpdate.maxSurge", "int32"),
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_in_gos_words(kind: Kind, body: Any, reason: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest) as refusal:
        read(kind, body)
    assert refusal.value.message == handled(kind) + FIELD.format(*reason)


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (
            POD,
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "lots"}}}]}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (SECRET, {"data": {"k": "not base64!"}}, "illegal base64 data at input byte 3"),
        (SECRET, {"data": {"k": "dg="}}, "illegal base64 data at input byte 3"),
        (
            POD,
            {"metadata": {"deletionTimestamp": "2026-13-01T00:00:00Z"}},
            'parsing time "2026-13-01T00:00:00Z": month out of range',
        ),
        (
            POD,
            {"metadata": {"deletionTimestamp": "2026-01-01 00:00:00"}},
            'parsing time "2026-01-01 00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00" as "T"',
        ),
    ],
)
def test_a_value_that_its_type_refuses_is_refused_with_its_reason(kind: Kind, body: Tree, reason: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read(kind, body)
    assert refusal.value.message == handled(kind) + reason


UNRECOGNIZED = "the object provided is unrecognized (must be of type Pod): "


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", UNRECOGNIZED + "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (
            b"{not json",
            UNRECOGNIZED + "couldn't get version/kind; json parse error: "
            "invalid character 'n' looking for beginning of object key string ({not json)",
        ),
        (b'{"apiVersion":"a/b/c"}', UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
        (
            b'{"apiVersion":false}',
            UNRECOGNIZED + "couldn't get version/kind; json parse error: "
            'json: cannot unmarshal bool into Go struct field .apiVersion of type string ({"apiVersion":false})',
        ),
        (
            b'{"kind":5}',
            UNRECOGNIZED + "couldn't get version/kind; json parse error: "
            'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})',
        ),
        (
            b'{"apiVersion":{}}',
            UNRECOGNIZED + "couldn't get version/kind; json parse error: "
            'json: cannot unmarshal object into Go struct field .apiVersion of type string ({"apiVersion":{}})',
        ),
        (
            b'{"apiVersion":"v1","kind":"List"}',
            'List in version "v1" cannot be handled as a Pod: converting (v1.List) to (core.Pod): unknown conversion',
        ),
        (
            b'{"apiVersion":"v1","kind":"DaemonSet"}',
            'DaemonSet in version "v1" cannot be handled as a Pod: no kind "DaemonSet" is registered for version "v1" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"apiVersion":"apps/v1","kind":"Deployment"}',
            'Deployment in version "v1" cannot be handled as a Pod: '
            "converting (v1.Deployment) to (core.Pod): unknown conversion",
        ),
        (
            b'{"apiVersion":"v1","kind":"List","items":[]}',
            'List in version "v1" cannot be handled as a Pod: converting (v1.List) to (core.Pod): unknown conversion',
        ),
    ],
)
def test_a_body_that_is_no_pod_is_refused(body: bytes, sentence: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read(POD, body)
    assert refusal.value.message == sentence


def test_a_daemonset_of_an_old_version_is_told_the_right_one() -> None:
    with pytest.raises(BadRequest) as refusal:
        read(DAEMON_SET, b'{"apiVersion":"extensions/v1beta1","kind":"DaemonSet"}')
    assert refusal.value.message == (
        "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)"
    )


def test_the_body_may_leave_out_what_the_path_says() -> None:
    assert read(POD, {"metadata": {"name": "p"}}) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {},
        "status": {},
    }


STRANGE: Tree = {
    "metadata": {"name": "d"},
    "spec": {"replicas": 3, "template": {"spec": {"containers": [{"imagee": 1}]}}},
}
STRANGE_FIELDS = ['unknown field "spec.replicas"', 'unknown field "spec.template.spec.containers[0].imagee"']


def test_unknown_fields_are_refused_warned_of_or_ignored() -> None:
    with pytest.raises(BadRequest) as refusal:
        read(DAEMON_SET, STRANGE, a_call(strict="Strict"))
    assert refusal.value.message == handled(DAEMON_SET) + "strict decoding error: " + ", ".join(STRANGE_FIELDS)
    for how, warnings in (("Warn", STRANGE_FIELDS), ("Ignore", [])):
        call = a_call(strict=how)  # type: ignore[arg-type]  # the loop's texts are among the three
        assert "replicas" not in read(DAEMON_SET, STRANGE, call)["spec"]
        assert call.warnings == warnings


def test_names_differ_by_their_case() -> None:
    call = a_call()
    assert read(POD, {"Metadata": {"name": "p"}}, call)["metadata"] == {}
    assert call.warnings == ['unknown field "Metadata"']


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":{"name":"p","name":"q"},"spec":{"containers":[{"name":"c","name":"d"}]}}',
        b'{"metadata" : {"name" : "p", "name" : "q"}, "spec":{"containers":[{"name":"c","name":"d"}]}}',
        b'{"metadata":{"name":"\\":","name":"q"},"spec":{"containers":[{"name":"c","name":"d"}]}}',
    ],
)
def test_repeated_fields_are_found_however_they_are_written(body: bytes) -> None:
    call = a_call()
    tree = read(POD, body, call)
    assert tree["metadata"]["name"] == "q"
    assert call.warnings == ['duplicate field "metadata.name"', 'duplicate field "spec.containers[0].name"']


REPEATS = b'{"metadata":{"name":"a","labels":{"x":"1","x":"2"},"name":"b"},"spec":{"z":1,"hostname":"h","z":2,"y":1,'
REPEATS += b'"hostname":"i","containers":[]}}'


def test_complaints_come_in_the_order_of_the_text() -> None:
    call = a_call()
    read(POD, REPEATS, call)
    assert call.warnings == [
        'duplicate field "metadata.labels.x"',
        'duplicate field "metadata.name"',
        'unknown field "spec.z"',
        'unknown field "spec.y"',
        'duplicate field "spec.hostname"',
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('"nodeSelector":{"a":"b"},"nodeSelector":{"c":"d"}', {"nodeSelector": {"a": "b", "c": "d"}}),
        (
            '"securityContext":{"runAsUser":1},"securityContext":{"runAsGroup":2}',
            {"securityContext": {"runAsUser": 1, "runAsGroup": 2}},
        ),
        ('"securityContext":{"runAsUser":1},"securityContext":null', {}),
        ('"hostname":"h","hostname":null', {"hostname": "h"}),
        (
            '"imagePullSecrets":[{"name":"a"},{"name":"b"}],"imagePullSecrets":[{}]',
            {"imagePullSecrets": [{"name": "a"}]},
        ),
        ('"tolerations":[{"key":"k"}],"tolerations":[]', {}),
    ],
    ids=["map", "object", "null for an object", "null for a text", "list", "empty list"],
)
def test_a_repeated_field_is_read_into_what_is_there(fields: str, expected: Tree) -> None:
    tree = read(POD, f'{{"spec":{{"containers":[{{"name":"c"}}],{fields}}}}}'.encode(), a_call(strict="Ignore"))
    assert {key: value for key, value in tree["spec"].items() if key != "containers"} == expected


@pytest.mark.parametrize("validation", ["Ignore", "Warn", "Strict"])
def test_each_value_of_a_repeated_field_must_be_readable(validation: Any) -> None:
    body = b'{"metadata":{"labels":{"a":1,"a":"b"}},"spec":{"hostname":1,"hostname":"h"}}'
    with pytest.raises(BadRequest) as refused:
        read(POD, body, a_call(strict=validation))
    wrong = "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    assert refused.value.message == f'Pod in version "v1" cannot be handled as a Pod: {wrong}'


def test_colons_in_texts_are_not_keys() -> None:
    call = a_call()
    read(POD, {"metadata": {"name": 'a":b', "annotations": {"x": '{"a":1,"a":2}'}}}, call)
    assert call.warnings == []


def test_yaml_bodies_are_read_alike() -> None:
    call = a_call()
    tree = decode(CONFIG_MAP, b"data: {a: b}\nwhat: 1\ndata: {c: d}\n", call, "yaml")
    assert tree["data"] == {"c": "d"}
    assert call.warnings == ['line 3: key "data" already set in map', 'unknown field "what"']
    call = a_call()
    decode(CONFIG_MAP, b"what: 1\ndata: {a: b}\nelse: 2\n", call, "yaml")
    assert call.warnings == ['unknown field "else"', 'unknown field "what"']
    with pytest.raises(BadRequest, match="illegal base64 data at input byte 0"):
        decode(SECRET, b"data: {a: '!'}\n", call, "yaml")


def test_a_custom_kind_must_be_named_by_its_body() -> None:
    widget = custom({"type": "object"})
    with pytest.raises(BadRequest, match=r"Object 'Kind' is missing in '\{\}'"):
        read(widget, b"{}")
    with pytest.raises(BadRequest, match="does not match the expected API version"):
        read(widget, {"apiVersion": "example.com/v2", "kind": "Widget"})


def test_a_custom_kind_keeps_what_its_schema_declares() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    call = a_call()
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "x": 1},
        "spec": {"size": 1, "y": 2},
    }
    tree = read(custom(schema), body, call)
    assert tree["spec"] == {"size": 1}
    assert tree["metadata"] == {"name": "w"}
    assert call.warnings == ['unknown field "metadata.x"', 'unknown field "spec.y"']


def test_numbers_of_a_node_become_quantities() -> None:
    tree = read(NODE, b'{"status":{"capacity":{"cpu":0.5,"memory":"1024Ki","pods":110}}}')
    assert tree["status"]["capacity"] == {"cpu": "500m", "memory": "1Mi", "pods": "110"}
