"""Events as kinds of two groups."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.events import EVENT, EVENT_V1, from_events_v1, to_events_v1

from .judging import NOW, cells, created, faults, update_faults

INVOLVED = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "ns"}
WHOLE = {
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "R",
    "type": "Normal",
    "regarding": INVOLVED,
    "note": "n",
}
ELSEWHERE = "does not match event.namespace"


def test_both_groups_show_the_same_event_under_their_own_names() -> None:
    stored = created(
        EVENT,
        involvedObject=INVOLVED,
        reason="R",
        message="m",
        count=2,
        type="Normal",
        source={"component": "c"},
        firstTimestamp="2026-01-01T00:00:00Z",
        lastTimestamp="2026-01-01T00:00:01Z",
    )
    shown = to_events_v1(stored)
    assert shown["apiVersion"] == "events.k8s.io/v1"
    assert shown["regarding"] == INVOLVED
    assert shown["note"] == "m"
    assert shown["deprecatedCount"] == 2
    assert shown["deprecatedSource"] == {"component": "c"}
    assert shown["deprecatedFirstTimestamp"] == "2026-01-01T00:00:00Z"
    assert shown["eventTime"] is None
    assert "reportingController" not in shown
    assert from_events_v1(shown) == stored


def test_an_event_of_the_newer_group_survives_being_stored() -> None:
    shown = created(EVENT_V1, **WHOLE, series={"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000002Z"})
    stored = from_events_v1(shown)
    assert stored["apiVersion"] == "v1"
    assert stored["reportingComponent"] == "example.com/c"
    assert stored["message"] == "n"
    assert to_events_v1(stored) == shown


@pytest.mark.parametrize(
    ("namespace", "involved", "expected"),
    [
        ("ns", "ns", []),
        ("default", "", []),
        ("ns", "other", [("involvedObject.namespace", f'Invalid value: "other": {ELSEWHERE}')]),
        ("ns", "", [("involvedObject.namespace", f'Invalid value: "": {ELSEWHERE}')]),
    ],
)
def test_an_event_lives_where_its_object_does(namespace: str, involved: str, expected: Any) -> None:
    found = faults(EVENT, metadata={"namespace": namespace}, involvedObject={"kind": "Pod", "namespace": involved})
    assert found == expected


def test_a_core_event_with_an_event_time_must_be_complete() -> None:
    found = faults(EVENT, involvedObject=INVOLVED, eventTime=WHOLE["eventTime"], message="m" * 1025)
    assert [(field, message.split(":")[0]) for field, message in found] == [
        ("reportingComponent", "Required value"),
        ("reportingComponent", "Invalid value"),
        ("reportingComponent", "Invalid value"),
        ("reportingInstance", "Required value"),
        ("action", "Required value"),
        ("reason", "Required value"),
        ("message", "Invalid value"),
    ]
    assert found[-1][1] == 'Invalid value: "": can have at most 1024 characters'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"eventTime": None}, [("eventTime", "Required value")]),
        ({"type": "Odd"}, [("type", 'Invalid value: "": has invalid value: Odd')]),
        ({"deprecatedCount": 1}, [("count", 'Invalid value: "": needs to be unset')]),
        (
            {"deprecatedSource": {"component": "c"}, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"},
            [
                ("firstTimestamp", 'Invalid value: "": needs to be unset'),
                ("source", 'Invalid value: "": needs to be unset'),
            ],
        ),
        (
            {"series": {"count": 1}},
            [
                ("series.count", 'Invalid value: "": should be at least 2'),
                ("series.lastObservedTime", "Required value"),
            ],
        ),
        (
            {"reportingController": "a b"},
            [
                (
                    "reportingController",
                    'Invalid value: "a b": name part must consist of alphanumeric characters, '
                    "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
                    "'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                )
            ],
        ),
    ],
)
def test_the_newer_group_is_strict_about_new_events(fields: Tree, expected: Any) -> None:
    assert faults(EVENT_V1, **{**WHOLE, **fields}) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000002Z"}}, []),
        ({"eventTime": "2026-01-01T01:00:00.000001+01:00"}, []),
        ({"note": "other"}, [("message", 'Invalid value: "other": field is immutable')]),
        ({"reportingInstance": "j"}, [("reportingInstance", 'Invalid value: "j": field is immutable')]),
        (
            {"regarding": {"kind": "Pod", "name": "q", "namespace": "ns"}},
            [
                (
                    "involvedObject",
                    'Invalid value: {"Kind":"Pod","Namespace":"ns","Name":"q","UID":"","APIVersion":"",'
                    '"ResourceVersion":"","FieldPath":""}: field is immutable',
                )
            ],
        ),
    ],
)
def test_only_the_series_of_an_event_of_the_newer_group_changes(change: Tree, expected: Any) -> None:
    assert update_faults(EVENT_V1, created(EVENT_V1, **WHOLE), **{**WHOLE, **change}) == expected


def test_core_events_may_change() -> None:
    old = created(EVENT, involvedObject=INVOLVED, message="a")
    assert update_faults(EVENT, old, involvedObject=INVOLVED, message="b") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"firstTimestamp": "2023-11-14T22:03:20Z", "lastTimestamp": "2023-11-14T22:13:00Z", "count": 3},
            {"Last Seen": "20s", "First Seen": "10m", "Count": 3},
        ),
        ({"eventTime": "2023-11-14T22:12:20.500000Z"}, {"Last Seen": "59s", "First Seen": "59s", "Count": 1}),
        (
            {
                "eventTime": "2023-11-14T22:03:20.000000Z",
                "series": {"count": 7, "lastObservedTime": "2023-11-14T22:13:10.000000Z"},
            },
            {"Last Seen": "10s", "First Seen": "10m", "Count": 7},
        ),
        ({}, {"Last Seen": "<unknown>", "First Seen": "<unknown>", "Count": 1}),
    ],
)
def test_a_row_tells_when_and_how_often(fields: Tree, expected: Tree) -> None:
    row = cells(EVENT, created(EVENT, involvedObject=INVOLVED, **fields), now=NOW)
    assert {name: row[name] for name in expected} == expected


def test_a_row_is_the_same_through_both_groups() -> None:
    stored = created(
        EVENT,
        involvedObject={**INVOLVED, "fieldPath": "spec.containers{c}"},
        message=" hello ",
        source={"component": "kubelet", "host": "n1"},
        type="Warning",
        reason="R",
    )
    row = cells(EVENT, stored)
    assert row["Object"] == "pod/p"
    assert row["Subobject"] == "spec.containers{c}"
    assert row["Source"] == "kubelet, n1"
    assert row["Message"] == "hello"
    assert cells(EVENT_V1, to_events_v1(stored)) == row


def test_events_can_be_selected_by_what_they_are_about() -> None:
    stored = created(EVENT, involvedObject=INVOLVED, reason="R", type="Normal", reportingComponent="c")
    chosen = {name: select(stored) for name, select in EVENT.fields.items()}
    assert chosen == {
        "involvedObject.kind": "Pod",
        "involvedObject.namespace": "ns",
        "involvedObject.name": "p",
        "involvedObject.uid": "",
        "involvedObject.apiVersion": "v1",
        "involvedObject.resourceVersion": "",
        "involvedObject.fieldPath": "",
        "reason": "R",
        "reportingComponent": "c",
        "source": "c",
        "type": "Normal",
    }
    shown = {name: select(to_events_v1(stored)) for name, select in EVENT_V1.fields.items()}
    assert shown["regarding.name"] == "p"
    assert shown["reportingController"] == "c"
    assert "source" not in shown


def test_events_are_kept_for_an_hour() -> None:
    assert EVENT.lifetime == EVENT_V1.lifetime == 3600
