"""The line of pods that wait to be placed.

A pod stands in one of three places:

    ready     its turn comes by priority, then by age
    resting   it was tried a moment ago: its turn comes after a pause, which is longer after an error than after a
              change that may help it, and grows with each attempt
    parked    no node would have it: it waits for a change that may help, and is looked at again after a while anyhow
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from typing import TypeVar

from eachnode.decisions.scheduling.node_affinity import named_nodes
from eachnode.decisions.scheduling.refusals import Change
from eachnode.objects.workload import WorkloadPod

FIRST_BACK_OFF, LONGEST_BACK_OFF = 1.0, 10.0  # Seconds between attempts that end in errors, doubled with each.
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # Seconds between attempts that changes give rise to, doubled with each.
LONGEST_PARKED = 300.0  # Seconds after which a parked pod is tried without any reason known to us.


K = TypeVar("K")
NOTHING: frozenset[Change] = frozenset()


class Place(Enum):
    """Where in the line a pod stands."""

    READY = "ready"
    RESTING = "resting"
    PARKED = "parked"
    AWAY = "being tried"


@dataclass(slots=True)
class Waiting:
    """One pod in the line."""

    pod: WorkloadPod
    number: int
    place: Place = Place.AWAY
    attempts: int = 0
    tried_at: float = 0.0
    due: float = 0.0  # when its rest is over
    parked_at: float = 0.0
    helped_by: frozenset[Change] = NOTHING
    helped_from_afar: frozenset[Change] = NOTHING  # of those, the ones that matter for nodes where they did not happen
    nodes: tuple[str, ...] | None = None  # the only ones it may go to
    said: str = ""  # the last message about why it has no place

    @property
    def uid(self) -> str:
        """Which pod it is."""
        return self.pod.metadata.uid


@dataclass(slots=True)
class Line:
    """Who is next, and who is to be woken by what. Times are seconds of any one clock."""

    _all: dict[str, Waiting] = field(default_factory=dict)
    _ready: list[tuple[int, str, int, str]] = field(default_factory=list)
    _resting: list[tuple[float, int, str]] = field(default_factory=list)
    _parked: dict[str, None] = field(default_factory=dict)  # in the order of parking
    _parked_on: dict[str, dict[str, None]] = field(default_factory=dict)  # of those who may go to few nodes only
    _roaming: dict[Change, dict[str, None]] = field(default_factory=dict)  # those who may go anywhere, by what helps
    _count: int = 0

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, uid: object) -> bool:
        return uid in self._all

    @property
    def has_parked(self) -> bool:
        """Whether anybody waits for a change."""
        return bool(self._parked)

    def get(self, uid: str) -> Waiting | None:
        """The pod's entry."""
        return self._all.get(uid)

    def add(self, pod: WorkloadPod) -> None:
        """Take in a pod, or its newer state; a parked one gets its turn when what it asks for has changed."""
        waiting = self._all.get(pod.metadata.uid)
        if waiting is None:
            self._count += 1
            waiting = self._all[pod.metadata.uid] = Waiting(pod, self._count, nodes=named_nodes(pod))
            self._make_ready(waiting)
            return
        before, waiting.pod = waiting.pod, pod
        if _asks_differently(before, pod):
            parked = waiting.place is Place.PARKED
            if parked:
                self._unpark(waiting)
            waiting.nodes = named_nodes(pod)
            if parked:
                self._make_ready(waiting)

    def remove(self, uid: str) -> Waiting | None:
        """Forget a pod: it has a place, or is gone."""
        waiting = self._all.get(uid)
        if waiting is not None:
            if waiting.place is Place.PARKED:
                self._unpark(waiting)
            del self._all[uid]
            waiting.place = Place.AWAY
        return waiting

    def pop(self, now: float) -> Waiting | None:
        """Whose turn it is; it must be parked, rested or removed afterwards."""
        self._end_rests(now)
        self._release_long_parked(now)
        while self._ready:
            *_, number, uid = heappop(self._ready)
            waiting = self._all.get(uid)
            if waiting is not None and waiting.place is Place.READY and waiting.number == number:
                waiting.place = Place.AWAY
                waiting.attempts += 1
                waiting.tried_at = now
                return waiting
        return None

    def next_due(self) -> float | None:
        """When somebody's turn comes by time alone; None when only a change helps."""
        due = [self._resting[0][0]] if self._resting else []
        if self._parked:
            due.append(self._all[next(iter(self._parked))].parked_at + LONGEST_PARKED)
        return min(due, default=None)

    def rest(self, waiting: Waiting) -> None:
        """Let one that is being tried, or is parked, be tried again after its back-off, come what may."""
        if waiting.place is Place.PARKED:
            self._unpark(waiting)
        if waiting.place is Place.AWAY and self._all.get(waiting.uid) is waiting:
            self._rest_until(waiting, waiting.tried_at + _grown(FIRST_BACK_OFF, LONGEST_BACK_OFF, waiting.attempts))

    def park(
        self, waiting: Waiting, helped_by: frozenset[Change], now: float, from_afar: frozenset[Change] = NOTHING
    ) -> None:
        """Let it wait until one of these changes."""
        if self._all.get(waiting.uid) is not waiting:
            return
        waiting.place, waiting.parked_at = Place.PARKED, now
        waiting.helped_by, waiting.helped_from_afar = helped_by, from_afar
        self._parked[waiting.uid] = None
        if waiting.nodes is None:
            for change in helped_by:
                self._roaming.setdefault(change, {})[waiting.uid] = None
        for node in waiting.nodes or ():
            self._parked_on.setdefault(node, {})[waiting.uid] = None

    def wake(self, waiting: Waiting, now: float) -> None:
        """Let a parked one be tried again, now or in a moment if it has just been tried."""
        if waiting.place is not Place.PARKED:
            return
        self._unpark(waiting)
        due = waiting.tried_at + _grown(FIRST_PAUSE, LONGEST_PAUSE, waiting.attempts)
        if due <= now:
            self._make_ready(waiting)
        else:
            self._rest_until(waiting, due)

    def parked_on(self, node: str, changes: Iterable[Change]) -> list[Waiting]:
        """Those who wait for one of these changes of a node that they name."""
        return [
            waiting
            for uid in self._parked_on.get(node, ())
            if not (waiting := self._all[uid]).helped_by.isdisjoint(changes)
        ]

    def roaming(self, changes: Iterable[Change]) -> list[Waiting]:
        """Those who wait for one of these changes anywhere, in the order of their turns."""
        found = {uid for change in changes for uid in self._roaming.get(change, ())}
        return sorted((self._all[uid] for uid in found), key=_turn)

    def _make_ready(self, waiting: Waiting) -> None:
        waiting.place = Place.READY
        heappush(self._ready, (*_turn(waiting), waiting.uid))

    def _rest_until(self, waiting: Waiting, due: float) -> None:
        waiting.place, waiting.due = Place.RESTING, due
        heappush(self._resting, (due, waiting.number, waiting.uid))

    def _end_rests(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            due, number, uid = heappop(self._resting)
            waiting = self._all.get(uid)
            if (
                waiting is not None
                and waiting.place is Place.RESTING
                and (waiting.due, waiting.number) == (due, number)
            ):
                self._make_ready(waiting)

    def _unpark(self, waiting: Waiting) -> None:
        waiting.place = Place.AWAY
        del self._parked[waiting.uid]
        if waiting.nodes is None:
            for change in waiting.helped_by:
                _strike(self._roaming, change, waiting.uid)
        for node in waiting.nodes or ():
            _strike(self._parked_on, node, waiting.uid)

    def _release_long_parked(self, now: float) -> None:
        while self._parked:
            oldest = self._all[next(iter(self._parked))]
            if oldest.parked_at + LONGEST_PARKED > now:
                return
            self._unpark(oldest)
            self._make_ready(oldest)


def _strike(index: dict[K, dict[str, None]], key: K, uid: str) -> None:
    uids = index[key]
    del uids[uid]
    if not uids:
        del index[key]


def _grown(first: float, longest: float, attempts: int) -> float:
    """A pause that doubles with each attempt."""
    return min(first * 2.0 ** min(attempts - 1, 30), longest)


def _turn(waiting: Waiting) -> tuple[int, str, int]:
    """The smaller, the sooner: higher priority first, then the older."""
    return (-waiting.pod.priority, waiting.pod.metadata.creation_timestamp or "", waiting.number)


def _asks_differently(before: WorkloadPod, after: WorkloadPod) -> bool:
    """Whether the rules might judge the two differently."""
    return before.spec != after.spec or before.metadata.labels != after.metadata.labels
