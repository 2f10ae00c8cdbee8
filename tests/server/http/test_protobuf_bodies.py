"""The protobuf that kubectl and kube-scheduler send without being told to, and only that."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.objects.status import UnsupportedMediaType
from eachnode.server.http.protobuf_bodies import PROTOBUF, json_from_protobuf
from tests.server.http.sites import running


def text(number: int, value: str | bytes) -> bytes:
    """A field of text, or a message."""
    data = value.encode() if isinstance(value, str) else value
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def number(place: int, value: int) -> bytes:
    """A small number."""
    return bytes([place << 3, value])


def envelope(api_version: str, kind: str, *fields: bytes) -> bytes:
    """An object as clients send it."""
    about = text(1, api_version) + text(2, kind)
    return b"k8s\0" + text(1, about) + text(2, b"".join(fields)) + text(3, "") + text(4, "")


NAMED = text(1, text(1, "it") + text(2, "") + text(8, b""))


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (envelope("v1", "Namespace", NAMED, text(2, b""), text(3, b"\x0a\x00")), {"spec": {}}),
        (envelope("v1", "ConfigMap", NAMED, text(2, text(1, "k") + text(2, "v"))), {"data": {"k": "v"}}),
        (envelope("v1", "Secret", NAMED, text(2, text(1, "k") + text(2, "v"))), {"data": {"k": "dg=="}}),
        (envelope("v1", "ConfigMap", NAMED, number(4, 1)), {"immutable": True}),
        (
            envelope("policy/v1", "PodDisruptionBudget", NAMED, text(2, text(1, number(1, 1) + text(3, "50%")))),
            {"spec": {"minAvailable": "50%"}},
        ),
        (
            envelope("policy/v1", "PodDisruptionBudget", NAMED, text(2, text(3, number(1, 0) + number(2, 3)))),
            {"spec": {"maxUnavailable": 3}},
        ),
        (
            envelope("v1", "ResourceQuota", NAMED, text(2, text(1, text(1, "cpu") + text(2, text(1, "500m"))))),
            {"spec": {"hard": {"cpu": "500m"}}},
        ),
        (
            envelope(
                "rbac.authorization.k8s.io/v1", "Role", NAMED, text(2, text(1, "get") + text(1, "list") + text(2, ""))
            ),
            {"rules": [{"verbs": ["get", "list"], "apiGroups": [""]}]},
        ),
        (
            envelope(
                "policy/v1", "Eviction", NAMED, text(2, number(1, 5) + text(2, text(1, "u-1")) + text(4, "Orphan"))
            ),
            {
                "deleteOptions": {
                    "gracePeriodSeconds": 5,
                    "preconditions": {"uid": "u-1"},
                    "propagationPolicy": "Orphan",
                }
            },
        ),
        (
            envelope("v1", "Binding", NAMED, text(2, text(1, "Node") + text(3, "node-1"))),
            {"target": {"kind": "Node", "name": "node-1"}},
        ),
        (
            envelope(
                "coordination.k8s.io/v1",
                "Lease",
                NAMED,
                text(2, text(1, "me") + number(2, 15) + text(4, number(1, 60) + number(2, 0)) + number(5, 0)),
            ),
            {
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "renewTime": "1970-01-01T00:01:00.000000Z",
                    "leaseTransitions": 0,
                }
            },
        ),
        (
            envelope(
                "events.k8s.io/v1",
                "Event",
                NAMED,
                text(4, "default-scheduler"),
                text(8, text(1, "Pod") + text(3, "p")),
                text(10, "said"),
            ),
            {
                "reportingController": "default-scheduler",
                "regarding": {"kind": "Pod", "name": "p"},
                "note": "said",
            },
        ),
        (
            envelope("v1", "Event", NAMED, text(2, text(1, "Pod")), text(5, text(1, "kubelet")), number(8, 2)),
            {"involvedObject": {"kind": "Pod"}, "source": {"component": "kubelet"}, "count": 2},
        ),
        (
            envelope("scheduling.k8s.io/v1", "PriorityClass", NAMED, b"\x10" + b"\xff" * 9 + b"\x01"),
            {"value": -1},
        ),
    ],
)
def test_what_kubectls_own_commands_and_the_scheduler_send_is_read(sent: bytes, meant: dict[str, object]) -> None:
    tree = json.loads(json_from_protobuf(sent))
    assert tree.pop("metadata") == {"name": "it", "generateName": ""}
    assert tree.pop("kind")
    assert tree.pop("apiVersion")
    assert tree == meant


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{}",
        b"k8s\0",
        envelope("v1", "Pod", NAMED),
        envelope("v1", "Node", NAMED),
        envelope("apps/v1", "DaemonSet", NAMED),
        envelope("example.com/v1", "ConfigMap", NAMED),
        envelope("v1", "ConfigMap", NAMED, text(99 % 16, "unknown field")),
        envelope("v1", "ConfigMap", NAMED)[:-9],
    ],
)
def test_all_other_protobuf_is_refused_in_favour_of_json(sent: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="send application/json"):
        json_from_protobuf(sent)


@given(st.binary(max_size=60), st.sampled_from(["ConfigMap", "Service", "Namespace", "Secret"]))
def test_no_bytes_do_more_than_be_refused(noise: bytes, kind: str) -> None:
    try:
        json_from_protobuf(envelope("v1", kind, noise))
    except UnsupportedMediaType:
        return


@pytest.mark.sockets
async def test_a_review_in_protobuf_is_answered_in_json() -> None:
    deed = text(1, "home") + text(2, "list") + text(5, "pods")
    review = envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", text(1, b""), text(2, text(1, deed)))
    async with running() as site:
        answer = await site.call(
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, Content_Type=PROTOBUF
        )
        assert (answer.status, answer.body["status"]["allowed"]) == (201, True)
