"""The one source of truth: all objects in memory, every write committed to the database before anybody hears of it.

A write is checked against the newest state and stands there at once; the commit follows in the same turn of the event
loop, one for all writes that wait by then. Until it is done the writer is not answered, watchers are not told, and
readers see what was before. When the commit fails, the writes are undone and their writers told so. Everything happens
in the loop's own thread, so that a whole cluster can run on virtual time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import msgspec

from eachnode.objects.clock import Clock
from eachnode.objects.resources import Resource
from eachnode.objects.status import Unavailable
from eachnode.server.store.changes import Change
from eachnode.server.store.database import (
    Abandoned,
    CommitFailed,
    Database,
    NotKept,
    Row,
    SqliteFile,
    StoreError,
    Synchronous,
)
from eachnode.server.store.history import HistoryLimits, Lane
from eachnode.server.store.shelf import Shelf
from eachnode.server.store.stored import FieldReader, FieldReaders, Place, Stored, stored_from_row

IN_MEMORY = ":memory:"
_EXPIRED_AT_ONCE = 200
_SHORTEST_NAP = 10.0  # Seconds between looks for what has expired.


class Store:
    """All objects, the version counter, and the commit that writers share."""

    def __init__(self, database: Database, *, clock: Clock, limits: HistoryLimits | None = None) -> None:
        self._database = database
        self._clock = clock
        self._limits = limits or HistoryLimits()
        self._rows = database.load()
        self._shelves: dict[str, Shelf] = {}
        self._discarded: dict[str, int] = {}
        self._start = max(database.oldest, 1)  # What happened up to here nobody can tell.
        self._version = max(database.version, 1)  # A list of nothing has a version too, and it is not 0.
        self._pending: list[tuple[Shelf, Change]] = []
        self._waiters: list[asyncio.Future[str | None]] = []
        self._expiring: deque[tuple[Shelf, Stored]] = deque()
        self._nap: asyncio.TimerHandle | None = None
        self.committed = self._version
        self.trouble: str | None = None  # Why the last commit failed; None when it did not.

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        clock: Clock,
        synchronous: Synchronous = "NORMAL",
        limits: HistoryLimits | None = None,
    ) -> Store:
        """The store in this file, or one that keeps nothing (`:memory:`); raises StoreError when it cannot be used."""
        if str(path) == IN_MEMORY:
            return cls(NotKept(), clock=clock, limits=limits)
        database = SqliteFile(Path(path), synchronous)
        try:
            return cls(database, clock=clock, limits=limits)
        except StoreError:
            database.close()
            raise

    def close(self) -> None:
        """Commits what waits, and lets go of the file."""
        self.flush()
        if self._nap is not None:
            self._nap.cancel()
        self._database.close()

    def abandon(self) -> None:
        """Ends as a killed process does: what waits for its commit is lost, nobody hears of it, every watch breaks."""
        self._pending, waiters, self._waiters = [], self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result("the server was killed")
        if self._nap is not None:
            self._nap.cancel()
        for shelf in self._shelves.values():
            shelf.history.close()
        self._database.abandon()
        self._database = Abandoned()

    # Shelves ----------------------------------------------------------------------------------------------------------

    def shelf(
        self, resource: Resource, fields: Mapping[str, FieldReader] | None = None, lifetime: float | None = None
    ) -> Shelf:
        """The objects of one kind: those stored before, when it is opened for the first time."""
        known = self._shelves.get(resource.qualified)
        if known is None:
            readers = FieldReaders(fields or {})
            objects = [self._restored(row, readers) for row in self._rows.pop(resource.qualified, ())]
            start = self._discarded.get(resource.qualified, self._start)
            known = Shelf(resource, readers, objects, start=start, limits=self._limits, lifetime=lifetime)
            self._shelves[resource.qualified] = known
            self._expiring.extend(sorted(((known, stored) for stored in objects if stored.expires), key=_due))
            self._schedule_expiry()
        return known

    def discard(self, resource: Resource) -> None:
        """Forgets the shelf of a kind that is no longer served, and ends its watches; its objects must be gone."""
        shelf = self._shelves.get(resource.qualified)
        if shelf is not None and len(shelf):
            raise ValueError(f"{resource.qualified} still has {len(shelf)} objects")
        if shelf is not None:
            del self._shelves[resource.qualified]
            shelf.history.close()
            self._discarded[resource.qualified] = self._version

    def _restored(self, row: Row, readers: FieldReaders) -> Stored:
        try:
            return stored_from_row(row.body, readers, Place(row.version, row.born, row.expires))
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"the database is damaged: object {row.born} of {row.resource}: {error}") from error

    # Writing ----------------------------------------------------------------------------------------------------------

    def next_version(self) -> int:
        """The version of the write that follows at once; never handed out twice."""
        self._version += 1
        return self._version

    def record(self, shelf: Shelf, old: Stored | None, new: Stored | None, version: int) -> None:
        """Makes one write: creates (no `old`), replaces, or deletes (no `new`)."""
        change = Change(version, old, new, self._clock.now())
        shelf.apply(change)
        if not self._pending:
            asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append((shelf, change))
        if new is not None and new.expires is not None:
            self._expiring.append((shelf, new))

    def place(self, shelf: Shelf, old: Stored | None) -> Place:
        """The place of the version that is written next, in place of an old one or as a new object."""
        version = self.next_version()
        expires = None if shelf.lifetime is None else self._clock.now() + shelf.lifetime
        return Place(version, version if old is None else old.born, expires)

    async def settled(self) -> None:
        """Returns when all writes so far are committed; raises Unavailable when they could not be."""
        if not self._pending:
            return
        waiter: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        failure = await waiter
        if failure is not None:
            raise Unavailable(f"the change was not stored, nothing is changed: {failure}")

    # Committing -------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Commits all writes that wait; undoes them when that fails."""
        batch, self._pending = self._pending, []
        waiters, self._waiters = self._waiters, []
        if not batch:
            return
        failure = self._commit(batch)
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(failure)
        self._schedule_expiry()

    def _commit(self, batch: list[tuple[Shelf, Change]]) -> str | None:
        """Writes a batch to the database; answers with what went wrong."""
        rows: dict[int, Row | None] = {}
        for shelf, change in batch:
            rows[change.present.born] = None if change.new is None else _row(shelf, change.new)
        version = batch[-1][1].version
        try:
            kept = [row for row in rows.values() if row is not None]
            self._database.commit(kept, [born for born, row in rows.items() if row is None], version)
        except CommitFailed as error:
            for shelf in dict.fromkeys(shelf for shelf, _ in batch):
                shelf.revert()
            self.trouble = str(error)
            return self.trouble
        self.trouble = None
        self.committed = version
        self._publish(batch)
        return None

    def _publish(self, batch: list[tuple[Shelf, Change]]) -> None:
        """Writes history, and wakes those who follow it."""
        touched: dict[Lane, None] = {}  # A dict keeps the order, so that a simulation repeats itself.
        for shelf, change in batch:
            touched.update(dict.fromkeys(shelf.publish(change)))
        now = self._clock.now()
        for shelf in dict.fromkeys(shelf for shelf, _ in batch):
            shelf.confirm()
            shelf.history.forget(now)
        for lane in touched:
            lane.wake()

    # Expiry -----------------------------------------------------------------------------------------------------------

    def _schedule_expiry(self) -> None:
        if self._nap is not None or not self._expiring:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # Opened before the loop runs: the first commit schedules it.
        self._nap = loop.call_later(max(_due(self._expiring[0]) - self._clock.now(), _SHORTEST_NAP), self._expire)

    def _expire(self) -> None:
        """Deletes a few of the objects whose time is over."""
        self._nap = None
        now = self._clock.now()
        for _ in range(_EXPIRED_AT_ONCE):
            if not self._expiring or _due(self._expiring[0]) > now:
                break
            shelf, stored = self._expiring.popleft()
            if shelf.is_current(stored):
                self.record(shelf, stored, None, self.next_version())
        self._schedule_expiry()


def _due(entry: tuple[Shelf, Stored]) -> float:
    return entry[1].expires or 0.0


def _row(shelf: Shelf, stored: Stored) -> Row:
    return Row(stored.born, shelf.resource.qualified, stored.version, stored.expires, bytes(stored.document.raw))
