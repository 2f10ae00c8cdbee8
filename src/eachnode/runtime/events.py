"""Events about objects, for people: written without holding anybody up, and never so many that they bury one another.

What is recorded passes three stages before it is written, as the reference does it:

    similar     ten different messages of one kind about one object within ten minutes become one combined event
    identical   a repeat counts up the event that exists instead of making another
    spam        25 events about one object at once, then one in five minutes; the rest only counts

Writing is best effort: a refusal loses the event, silence is retried for two minutes.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.objects.clock import Chance, Clock, new_uid, timestamp
from eachnode.objects.resources import EVENTS
from eachnode.objects.status import AlreadyExists, ApiError, NotFound, Unreachable

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

REMEMBERED = 4096  # Entries in each of the three memories.
QUEUED = 1000  # Events that wait for delivery; more are dropped.
COMBINED_FROM = 10  # Different messages about one thing that make the next ones one event.
SIMILAR_WITHIN = 600.0  # Seconds.
BURST, REFILL = 25, 300.0  # Events at once, and the seconds after which one more is allowed.
ATTEMPTS, PAUSE = 12, 10.0  # Of a delivery that gets no answer.
COMBINED = "(combined from similar events): "

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    def tree(self) -> dict[str, str]:
        """As it goes over the wire."""
        named = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.api_version,
            "resourceVersion": self.resource_version,
            "fieldPath": self.field_path,
        }
        return {key: value for key, value in named.items() if value}

    @property
    def identity(self) -> Hashable:
        """What makes two references mean the same object."""
        return (self.kind, self.namespace, self.name, self.uid, self.api_version)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened, as an event tells it."""

    name: str
    subject: ObjectReference
    type: EventType
    reason: str
    message: str
    first: float
    last: float
    count: int = 1
    is_combined: bool = False  # It stands for several different ones.

    @property
    def namespace(self) -> str:
        """Where its event lives."""
        return self.subject.namespace or "default"

    @property
    def identity(self) -> Hashable:
        """What makes two of them a repeat."""
        return (self.subject.identity, self.subject.field_path, self.type, self.reason, self.message)

    def tree(self, component: str) -> dict[str, Any]:
        """The core/v1 Event."""
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "involvedObject": self.subject.tree(),
            "reason": self.reason,
            "message": self.message,
            "source": {"component": component},
            "firstTimestamp": timestamp(self.first),
            "lastTimestamp": timestamp(self.last),
            "count": self.count,
            "type": self.type,
            "reportingComponent": "" if self.is_combined else component,  # As the reference has it.
            "reportingInstance": "",
        }

    def patch(self) -> dict[str, Any]:
        """What a repeat changes of the event that exists."""
        return {"count": self.count, "lastTimestamp": timestamp(self.last), "message": self.message}


class EventRecorder:
    """Writes events about objects in the name of one component."""

    def __init__(self, door: Door, *, clock: Clock, chance: Chance, component: str) -> None:
        self._door, self._clock, self._chance, self._component = door, clock, chance, component
        self._waiting: deque[Occurrence] = deque()
        self._arrived = asyncio.Event()
        self._correlator = Correlator()
        self._last_nanoseconds = 0
        self.dropped = 0
        self._told_of_dropping = False

    def record(self, subject: ObjectReference, type: EventType, reason: str, message: str) -> None:  # noqa: A002 - the field's name in the API
        """Have an event written soon, if it is not one too many."""
        if len(self._waiting) >= QUEUED:
            self.dropped += 1
            if not self._told_of_dropping:  # Once a burst: thousands of the same line would help nobody.
                self._told_of_dropping = True
                log.warning("drops events, because %d wait already; the first is: %s %s", QUEUED, reason, message)
            return
        now = self._clock.now()
        name = self._new_name(subject.name, now)
        self._waiting.append(Occurrence(name, subject, type, reason, message, now, now))
        self._arrived.set()

    async def run(self) -> None:
        """Write what is recorded, one after the other, until cancelled."""
        while True:
            await self._arrived.wait()
            while self._waiting:
                await self._deliver(self._waiting.popleft(), ATTEMPTS)
            self._told_of_dropping = False
            self._arrived.clear()

    async def drain(self) -> None:
        """Write what still waits, each tried once: for a farewell."""
        while self._waiting:
            await self._deliver(self._waiting.popleft(), 1)

    def _new_name(self, about: str, now: float) -> str:
        """A name for an event: its object's, and the moment in nanoseconds, never the same one twice."""
        self._last_nanoseconds = max(int(now * 1e9), self._last_nanoseconds + 1)
        name = f"{about}.{self._last_nanoseconds:x}"
        return name if len(name) <= 253 and _SUBDOMAIN.fullmatch(name) else new_uid(self._chance)

    async def _deliver(self, happened: Occurrence, attempts: int) -> None:
        combined_name = self._new_name(happened.subject.name, happened.last)
        result = self._correlator.correlate(happened, combined_name, self._clock.now())
        if result is None:
            return
        for attempt in range(attempts):
            try:
                await self._write(result)
            except ApiError as error:
                level = logging.DEBUG if _expected(error) else logging.WARNING
                log.log(level, "lost an event, because the server refused it: %s", error)
                return
            except Unreachable as error:
                log.warning("an event waits (attempt %d of %d), because: %s", attempt + 1, attempts, error)
                if attempt + 1 < attempts:
                    # The first pause is random so that many clients do not come back together.
                    await asyncio.sleep(PAUSE * (self._chance.random() if attempt == 0 else 1.0))
            else:
                return
        log.warning("lost an event, because the server did not answer: %s %s", result.reason, result.message)

    async def _write(self, occurrence: Occurrence) -> None:
        if occurrence.count > 1:
            body = msgspec.json.encode(occurrence.patch())
            try:
                await self._door.patch(EVENTS, occurrence.name, body, PatchKind.STRATEGIC, occurrence.namespace)
            except NotFound:
                pass  # It has expired: written anew below.
            else:
                return
        await self._door.create(EVENTS, msgspec.json.encode(occurrence.tree(self._component)), occurrence.namespace)


def _expected(error: ApiError) -> bool:
    return isinstance(error, AlreadyExists) or error.has_cause("NamespaceTerminating")


class Correlator:
    """Decides what becomes of each occurrence: an event of its own, a count on one that exists, or nothing."""

    def __init__(self) -> None:
        self._similar: Memory[_Similar] = Memory(REMEMBERED)
        self._written: Memory[_Written] = Memory(REMEMBERED)
        self._allowance: Memory[_Allowance] = Memory(REMEMBERED)

    def correlate(self, happened: Occurrence, combined_name: str, now: float) -> Occurrence | None:
        """What to write; a count above one means that the event exists."""
        occurrence, identity = self._combine(happened, combined_name, now)
        occurrence = self._count(occurrence, identity)
        return occurrence if self._allow(occurrence, now) else None

    def _combine(self, happened: Occurrence, combined_name: str, now: float) -> tuple[Occurrence, Hashable]:
        group = (happened.subject.identity, happened.type, happened.reason)
        similar = self._similar.get(group)
        if similar is None or now - similar.last > SIMILAR_WITHIN:
            similar = _Similar()
        similar.messages[happened.message] = None
        similar.last = now
        self._similar.put(group, similar)
        if len(similar.messages) < COMBINED_FROM:
            return happened, happened.identity
        similar.messages.popitem(last=False)
        message = COMBINED + happened.message
        return replace(happened, name=combined_name, message=message, first=now, last=now, is_combined=True), group

    def _count(self, occurrence: Occurrence, identity: Hashable) -> Occurrence:
        written = self._written.get(identity)
        if written is not None:
            occurrence = replace(occurrence, name=written.name, first=written.first, count=written.count + 1)
        self._written.put(identity, _Written(occurrence.name, occurrence.first, occurrence.count))
        return occurrence

    def _allow(self, occurrence: Occurrence, now: float) -> bool:
        source = (occurrence.subject.identity, occurrence.type)
        allowance = self._allowance.get(source) or _Allowance(float(BURST), now)
        left = min(float(BURST), allowance.left + (now - allowance.at) / REFILL)
        allowed = left >= 1.0
        self._allowance.put(source, _Allowance(left - 1.0 if allowed else left, now))
        return allowed


@dataclass(slots=True)
class _Similar:
    """The different messages about one thing, oldest first, and when the last one came."""

    messages: OrderedDict[str, None] = field(default_factory=OrderedDict)
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class _Written:
    """The event that stands for an occurrence."""

    name: str
    first: float
    count: int


@dataclass(frozen=True, slots=True)
class _Allowance:
    """How many events one object may still get, as of a moment."""

    left: float
    at: float


Entry = TypeVar("Entry")


class Memory(Generic[Entry]):
    """Holds the entries used last, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Entry | None:
        """The entry, which is then the newest."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Hashable, entry: Entry) -> None:
        """Remember the entry as the newest; the oldest makes room."""
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
