"""Events: what happened to an object, kept for an hour.

The same events are served twice: in core/v1, where they are stored, and in events.k8s.io/v1, where several fields have
other names and creation is stricter.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from eachnode.objects.formats import qualified_name
from eachnode.objects.resources import EVENTS, EVENTS_V1
from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Alias, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import NAME, at, name_of, since

LIFETIME = 3600.0
_TIMES = ("eventTime", "firstTimestamp", "lastTimestamp")
_LIMITS = MappingProxyType({"reportingInstance": 128, "action": 128, "reason": 128})
_NOTE_LIMIT = 1024
_RENAMED = MappingProxyType(
    {
        "involvedObject": "regarding",
        "message": "note",
        "source": "deprecatedSource",
        "firstTimestamp": "deprecatedFirstTimestamp",
        "lastTimestamp": "deprecatedLastTimestamp",
        "count": "deprecatedCount",
        "reportingComponent": "reportingController",
    }
)
_ORIGINAL = MappingProxyType({new: old for old, new in _RENAMED.items()})
# Fields that Go writes even when they are empty, and with what.
_ALWAYS_CORE = MappingProxyType(
    {
        "eventTime": None,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
)
_ALWAYS_NEW = MappingProxyType({"eventTime": None, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None})


def to_events_v1(stored: Tree) -> Tree:
    """A core/v1 event as events.k8s.io/v1 shows it."""
    tree = {_RENAMED.get(field, field): value for field, value in stored.items()}
    for field in ("reportingController", "reportingInstance"):
        if not tree.get(field):
            tree.pop(field, None)
    return {**_ALWAYS_NEW, "regarding": {}, "deprecatedSource": {}, **tree, "apiVersion": EVENTS_V1.api_version}


def from_events_v1(shown: Tree) -> Tree:
    """The core/v1 event that an events.k8s.io/v1 event means."""
    tree = {_ORIGINAL.get(field, field): value for field, value in shown.items()}
    return {**_ALWAYS_CORE, "involvedObject": {}, "source": {}, **tree, "apiVersion": EVENTS.api_version}


def _validate_core(tree: Tree) -> Iterator[FieldError]:
    return _validate_any(tree, "reportingComponent")


def _validate_new(shown: Tree) -> Iterator[FieldError]:
    tree = from_events_v1(shown)
    yield from _validate_any(tree, "reportingController")
    yield from _validate_series(tree)
    if not tree["eventTime"]:
        yield required("eventTime")
    if tree.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {tree.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if tree.get(field):
            yield invalid(field, "", "needs to be unset")


def _update_new(new_shown: Tree, old_shown: Tree) -> Iterator[FieldError]:
    new, old = from_events_v1(new_shown), from_events_v1(old_shown)
    yield from _validate_any(new, "reportingController")
    if new.get("series") != old.get("series"):
        yield from _validate_series(new)
    sealed = (
        "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
        "eventTime", "action", "related", "reportingComponent", "reportingInstance",
    )  # fmt: skip
    for field in sealed:
        if new.get(field) != old.get(field):
            name = "reportingController" if field == "reportingComponent" else field
            yield invalid(name, _as_internal(field, new.get(field)), "field is immutable")


_REFERENCE = MappingProxyType(
    {
        "Kind": "kind",
        "Namespace": "namespace",
        "Name": "name",
        "UID": "uid",
        "APIVersion": "apiVersion",
        "ResourceVersion": "resourceVersion",
        "FieldPath": "fieldPath",
    }
)
_SOURCE = MappingProxyType({"Component": "component", "Host": "host"})


def _as_internal(field: str, value: Any) -> Any:
    """A changed field as the reference's internal type prints it."""
    if field == "source" or (field in ("involvedObject", "related") and value is not None):
        names = _SOURCE if field == "source" else _REFERENCE
        return {internal: (value or {}).get(name, "") for internal, name in names.items()}
    if value is None:
        return {"count": 0}.get(field, None if field in ("related", *_TIMES) else "")
    return value


def _validate_series(tree: Tree) -> Iterator[FieldError]:
    series = tree.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _validate_any(tree: Tree, reporter_field: str) -> Iterator[FieldError]:
    """What both versions ask; events with an eventTime are of the new kind and must be complete."""
    home = tree["metadata"].get("namespace", "")
    subject = at(tree, "involvedObject", "namespace", missing="")
    stray = invalid("involvedObject.namespace", subject, "does not match event.namespace")
    if not tree.get("eventTime"):
        if (subject and subject != home) or (not subject and home not in ("", "default")):
            yield stray
        return
    if not subject and home not in ("default", "kube-system"):
        yield stray
    reporter = tree.get("reportingComponent", "")
    if not reporter:
        yield required(reporter_field)
    for problem in qualified_name(reporter):
        yield invalid(reporter_field, reporter, problem)
    for field, limit in _LIMITS.items():
        if not tree.get(field):
            yield required(field)
        elif len(tree[field].encode()) > limit:
            yield invalid(field, "", f"can have at most {limit} characters")
    if len(tree.get("message", "").encode()) > _NOTE_LIMIT:
        yield invalid("message", "", f"can have at most {_NOTE_LIMIT} characters")


def _row(tree: Tree, now: float) -> list[Any]:
    first = since(tree.get("firstTimestamp") or tree.get("eventTime"), now)
    last = since(tree["lastTimestamp"], now) if tree.get("lastTimestamp") else first
    count = tree.get("count") or 1
    if series := tree.get("series"):
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    involved = tree.get("involvedObject", {})
    kind, name = involved.get("kind", "").lower(), involved.get("name", "")
    return [
        last,
        tree.get("type", ""),
        tree.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        _source(tree),
        tree.get("message", "").strip(),
        first,
        count,
        name_of(tree),
    ]


def _source(tree: Tree) -> str:
    source = tree.get("source", {})
    component = source.get("component") or tree.get("reportingComponent", "")
    instance = source.get("host") or tree.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def _row_new(shown: Tree, now: float) -> list[Any]:
    return _row(from_events_v1(shown), now)


def _involved(field: str, part: str = "involvedObject") -> Any:
    return lambda tree: str(at(tree, part, field, missing=""))


_PARTS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_COLUMNS = (
    Column("Last Seen", description="When it was last seen."),
    Column("Type", description="Normal or Warning."),
    Column("Reason", description="One word for why it happened."),
    Column("Object", description="The object it is about."),
    Column("Subobject", priority=1, description="The part of the object."),
    Column("Source", priority=1, description="Who reports it."),
    Column("Message", description="What happened."),
    Column("First Seen", priority=1, description="When it was first seen."),
    Column("Count", priority=1, description="How often it was seen."),
    Column(NAME.name, format=NAME.format, priority=1, description=NAME.description),
)

EVENT = Kind(
    any_finalizers=True,
    resource=EVENTS,
    singular="event",
    definition="io.k8s.api.core.v1.Event",
    short_names=("ev",),
    validate=_validate_core,
    validate_name=name_rules.path_segment,
    create_on_update=True,
    lifetime=LIFETIME,
    columns=_COLUMNS,
    row=_row,
    fields={
        **{f"involvedObject.{part}": _involved(part) for part in _PARTS},
        "reason": lambda tree: str(tree.get("reason", "")),
        "reportingComponent": lambda tree: str(tree.get("reportingComponent", "")),
        "source": lambda tree: str(at(tree, "source", "component") or tree.get("reportingComponent", "")),
        "type": lambda tree: str(tree.get("type", "")),
    },
)

EVENT_V1 = Kind(
    resource=EVENTS_V1,
    singular="event",
    definition="io.k8s.api.events.v1.Event",
    short_names=("ev",),
    validate=_validate_new,
    validate_update=_update_new,
    whole_update=True,
    validate_name=name_rules.dns_subdomain,
    create_on_update=True,
    lifetime=LIFETIME,
    alias=Alias(of=EVENTS, shown=to_events_v1, stored=from_events_v1),
    columns=_COLUMNS,
    row=_row_new,
    fields={
        **{f"regarding.{part}": _involved(part, "regarding") for part in _PARTS},
        "reason": lambda tree: str(tree.get("reason", "")),
        "reportingController": lambda tree: str(tree.get("reportingController", "")),
        "type": lambda tree: str(tree.get("type", "")),
    },
)
