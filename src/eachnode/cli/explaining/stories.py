"""What events tell of a DaemonSet that its objects do not: failed creations, failed pods, what pods wait for."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from eachnode.cli.errands import each
from eachnode.cli.events import Event
from eachnode.client.door import Door
from eachnode.decisions.explanation_views import Word
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.resources import EVENTS
from eachnode.objects.status import Forbidden


@dataclass(slots=True)
class Stories:
    """What the controller told of one DaemonSet."""

    failed_create: str = ""
    failed_create_at: float = 0.0
    failures: dict[str, tuple[float, ...]] = field(default_factory=dict)  # By node: when a failed pod was removed.
    failed_placements: dict[str, str] = field(default_factory=dict)  # By node: what was lacking.


_FAILED_PLACEMENT = re.compile(r'failed to place pod on "([^"]+)": (.*)', re.DOTALL)
_FAILED_POD = re.compile(r"Found failed daemon pod \S+ on node (\S+), will try to kill it")


_PUT_BEFORE = re.compile(r"^(\(combined from similar events\): )?(Error creating: )?")


async def stories_of(door: Door, daemonset: DaemonSet) -> Stories:
    """What the controller's events tell of creations that failed and of pods that did."""
    stories = Stories()
    newest_create: tuple[float, str] = (0.0, "")
    newest_success = 0.0
    fields = f"involvedObject.uid={daemonset.uid}"
    try:
        async for document in each(door, EVENTS, daemonset.metadata.namespace, fields=fields):
            event = document.read(Event)
            if event.reason == "FailedCreate":
                newest_create = max(newest_create, (event.last_seen, _PUT_BEFORE.sub("", event.message)))
            elif event.reason == "SuccessfulCreate":
                newest_success = max(newest_success, event.last_seen)
            elif (match := _FAILED_POD.search(event.message)) is not None:
                stories.failures[match[1]] = (*stories.failures.get(match[1], ()), event.last_seen)
            elif (match := _FAILED_PLACEMENT.search(event.message)) is not None:
                stories.failed_placements[match[1]] = match[2]
    except Forbidden:
        return stories  # Explanations do without events then.
    if newest_create[0] >= newest_success and newest_create[1]:  # Events count in whole seconds.
        stories.failed_create_at, stories.failed_create = newest_create
    return stories


async def last_words(door: Door, namespace: str, uids: Collection[str]) -> dict[str, Word]:
    """The newest event of each of these pods."""
    newest: dict[str, Event] = {}
    try:
        async for document in each(door, EVENTS, namespace, fields="involvedObject.kind=Pod"):
            event = document.read(Event)
            uid = event.involved_object.uid
            if uid in uids and (uid not in newest or event.order >= newest[uid].order):
                newest[uid] = event
    except Forbidden:
        return {}
    return {uid: Word(event.type == "Warning", event.reason, event.message) for uid, event in newest.items()}
