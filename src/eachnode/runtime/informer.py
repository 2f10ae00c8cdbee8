"""An informer: all objects of one resource, kept up to date, and every change of them handed to those who subscribed.

It is a state machine that moves by small steps:

    EMPTY ──watch with initial objects──▶ INITIAL ──the bookmark that ends them──▶ WATCHING
      │                                                                           ▲     │
      └──────────────list, page by page──────────▶ LISTED ──watch from .version───┘     │
      ▲                                              ▲────the watch ended───────────────┤
      └──────────────410 Gone: the version is no longer kept────────────────────────────┘

What is learned on the way from EMPTY is compared with what was known, and only the differences are delivered, so that
subscribers never see an interruption. Subscribers are called synchronously, in order, and see `items` as it is after
the whole batch that the change was part of. Only views are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import msgspec

from eachnode.client.door import Door
from eachnode.objects.clock import Chance, Clock
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import Resource
from eachnode.objects.status import ApiError, BadRequest, Gone, InternalError, Invalid, Unreachable
from eachnode.objects.watching import WatchEvent
from eachnode.runtime.clock import elapsed
from eachnode.runtime.versions import as_new, older

log = logging.getLogger(__name__)

PAGE = 500  # Objects in a page of a list.
SHORTEST_WATCH, LONGEST_WATCH = (
    300.0,
    600.0,
)  # Seconds a watch may last: a dead one is noticed after that at the latest.
FIRST_PAUSE, LONGEST_PAUSE = 0.8, 30.0  # Seconds between attempts while the server fails.
PATIENCE = 30.0  # Seconds of silence within the initial objects, after which the server is taken not to send them.
HASTY = 1.0  # A watch that ends sooner than this and brought nothing counts as a failure.
STALE_ANSWERS = 3  # Lists older than what we know that are refused before we believe that the server went back in time.


class Identity(Protocol):
    """The part of an object's metadata that tells which object and which version of it this is."""

    @property
    def key(self) -> Key: ...

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class HasMetadata(Protocol):
    """What every view has."""

    @property
    def metadata(self) -> Identity: ...


View = TypeVar("View", bound=HasMetadata)


class State(StrEnum):
    """Where an informer stands."""

    EMPTY = "empty"  # Knows nothing it may rely on: begins from the present objects.
    INITIAL = "initial"  # A watch is open that first sends the present objects.
    LISTED = "listed"  # Knows everything up to `.version`; no watch is open.
    WATCHING = "watching"  # Knows everything up to `.version`, and a watch is open from there.


class StaleAnswer(Exception):
    """The server answered from an older state than the one it had shown us."""


class Informer(Generic[View]):
    """All objects of one resource as views, up to date as far as `.version`."""

    def __init__(
        self,
        door: Door,
        resource: Resource,
        view: type[View],
        *,
        clock: Clock,
        chance: Chance,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        keep: Callable[[View], bool] | None = None,
        on_malformed: Callable[[Document, Exception], None] | None = None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.version = ""
        self.state = State.EMPTY
        self.trouble = ""  # Why it does not get on at the moment, for people.
        self.heard_at = 0.0  # When the server last told us something.
        self.watches = self.relists = self.malformed = 0
        self._items: dict[Key, View] = {}
        self._door, self._view, self._clock, self._chance = door, view, clock, chance
        self._namespace, self._labels, self._fields = namespace, labels, fields
        self._keep, self._on_malformed = keep, on_malformed
        self._subscribers: list[Callable[[View | None, View | None], None]] = []
        self._stream: AsyncIterator[Sequence[WatchEvent]] | None = None
        self._fresh: dict[Key, View] = {}  # The present objects, while they are still coming in.
        self._streams_initial = True  # Until the server says that it does not.
        self._pages = PAGE
        self._failures = self._stale_answers = self._gone_in_a_row = 0
        self._opened_at = 0.0
        self._watch_was_useful = False

    @property
    def items(self) -> Mapping[Key, View]:
        """What is there, by key; only the informer writes to it."""
        return self._items

    def subscribe(self, react: Callable[[View | None, View | None], None]) -> None:
        """Be told each change as (old, new); None is not there. What is present is told at once as (None, new)."""
        self._subscribers.append(react)
        for item in self._items.values():
            _guarded(react, None, item)

    async def run(self) -> None:
        """Keep `items` up to date until cancelled."""
        try:
            while True:
                try:
                    await self._step()
                except (ApiError, Unreachable, StaleAnswer) as error:
                    await self._recover(error)
        finally:
            await self._restart_from(self._resting_state)

    @property
    def _resting_state(self) -> State:
        """Where to go on when no stream is open."""
        return State.LISTED if self.state in (State.WATCHING, State.LISTED) else State.EMPTY

    async def _step(self) -> None:
        """One transition of the state machine."""
        match self.state:
            case State.EMPTY if self._streams_initial:
                self._fresh = {}
                self.state = State.INITIAL
            case State.EMPTY:
                await self._list()
                self.state = State.LISTED
            case State.INITIAL:
                await self._take_initial()
            case State.LISTED:
                self._open_stream(initial=False)
                self.state = State.WATCHING
            case State.WATCHING:
                await self._take_changes()

    # From EMPTY: the present objects

    async def _list(self) -> None:
        fresh: dict[Key, View] = {}
        after = ""
        while True:
            try:
                page = await self._door.list(
                    self.resource,
                    self._namespace,
                    labels=self._labels,
                    fields=self._fields,
                    limit=self._pages,
                    after=after,
                )
            except Gone:
                if not after:
                    raise
                # The snapshot expired while we turned its pages: once more, in one piece.
                self._pages, after, fresh = 0, "", {}
                continue
            for document in page.documents:
                self._take_fresh(fresh, document)
            after = page.continues
            if not after:
                break
        self._replace(fresh, page.version)
        self._pages = PAGE

    async def _take_initial(self) -> None:
        try:
            stream = self._stream or self._open_stream(initial=True)
            async with asyncio.timeout(PATIENCE):
                batch = await anext(stream, None)
        except (TimeoutError, Invalid, BadRequest, InternalError) as error:  # The last: its storage cannot do it.
            why = str(error) or "silence"
            log.info(
                "%s: lists from now on, because a watch with initial objects got: %s", self.resource.qualified, why
            )
            self._streams_initial = False
            await self._restart_from(State.EMPTY)
            return
        if batch is None:
            raise Unreachable("the watch ended amid the present objects")
        for place, event in enumerate(batch):
            if event.type == "BOOKMARK":
                if event.initial_end:
                    self._replace(self._fresh, event.document.read(MetadataOnly).metadata.resource_version)
                    self._fresh = {}
                    self.state = State.WATCHING
                    self._take_batch(batch[place + 1 :])
                    return
            elif event.type == "DELETED":
                self._fresh.pop(event.document.read(MetadataOnly).metadata.key, None)
            else:
                self._take_fresh(self._fresh, event.document)

    def _take_fresh(self, fresh: dict[Key, View], document: Document) -> None:
        item = self._read(document)
        if item is not None and (self._keep is None or self._keep(item)):
            fresh[item.metadata.key] = item

    def _replace(self, fresh: dict[Key, View], version: str) -> None:
        """Everything is now exactly this: deliver what differs."""
        if older(version, self.version) and self._stale_answers < STALE_ANSWERS:
            self._stale_answers += 1
            raise StaleAnswer(f"the server answered as of version {version}, but we have seen {self.version}")
        self._stale_answers = 0
        if self.synced.is_set():
            self.relists += 1
        changes: list[Change[View]] = [(old, None) for key, old in self._items.items() if key not in fresh]
        for key, new in fresh.items():
            changes += _difference(self._items.get(key), new)
        self._items.clear()
        self._items.update(fresh)
        self.version = version
        self._progressed()
        self._deliver(changes)
        self.synced.set()

    # WATCHING: changes

    async def _take_changes(self) -> None:
        assert self._stream is not None
        batch = await anext(self._stream, None)
        if batch is None:
            await self._restart_from(State.LISTED)
            if not self._watch_was_useful and elapsed() - self._opened_at < HASTY:
                raise Unreachable("the watch ended as soon as it began")
            return
        self._progressed()
        self._watch_was_useful = True
        self._gone_in_a_row = 0
        self._take_batch(batch)

    def _take_batch(self, batch: Sequence[WatchEvent]) -> None:
        changes: list[Change[View]] = []
        for event in batch:
            if event.type == "BOOKMARK":
                self._move_to(event.document.read(MetadataOnly).metadata.resource_version)
            elif event.type == "DELETED":
                self._take_deletion(event.document, changes)
            else:
                self._take_change(event.document, changes)
        self._deliver(changes)

    def _take_change(self, document: Document, changes: list[Change[View]]) -> None:
        item = self._read(document)
        if item is None:
            return
        key, version = item.metadata.key, item.metadata.resource_version
        old = self._items.get(key)
        known = self.version if old is None else old.metadata.resource_version
        repeated = as_new(known, version)
        self._move_to(version)
        if repeated:
            return
        if self._keep is None or self._keep(item):
            self._items[key] = item
            changes += _difference(old, item)
        elif old is not None:
            del self._items[key]
            changes.append((old, None))

    def _take_deletion(self, document: Document, changes: list[Change[View]]) -> None:
        try:
            metadata = document.read(MetadataOnly).metadata
        except msgspec.MsgspecError as error:
            self._report_malformed(document, error)
            return
        self._move_to(metadata.resource_version)
        old = self._items.get(metadata.key)
        if old is not None and not older(metadata.resource_version, old.metadata.resource_version):
            del self._items[metadata.key]
            changes.append((old, None))

    def _move_to(self, version: str) -> None:
        if version and not older(version, self.version):
            self.version = version

    def _deliver(self, changes: Sequence[Change[View]]) -> None:
        if changes:
            for react in self._subscribers:
                for old, new in changes:
                    _guarded(react, old, new)

    # Reading

    def _read(self, document: Document) -> View | None:
        try:
            return document.read(self._view)
        except msgspec.MsgspecError as error:
            self._report_malformed(document, error)
            return None

    def _report_malformed(self, document: Document, error: Exception) -> None:
        """Skip an object that does not fit the view; what was known of it before stays."""
        self.malformed += 1
        try:
            metadata = document.read(MetadataOnly).metadata
        except msgspec.MsgspecError:
            name = "an object"
        else:
            name = str(metadata.key)
            self._move_to(metadata.resource_version)
        log.warning("%s: skipped %s, because it cannot be read: %s", self.resource.qualified, name, error)
        if self._on_malformed is not None:
            _guarded(self._on_malformed, document, error)

    # Streams and trouble

    def _open_stream(self, *, initial: bool) -> AsyncIterator[Sequence[WatchEvent]]:
        timeout = SHORTEST_WATCH + (LONGEST_WATCH - SHORTEST_WATCH) * self._chance.random()
        self.watches += 1
        self._opened_at = elapsed()
        self._watch_was_useful = False
        self._stream = self._door.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            version="" if initial else self.version,
            initial=initial,
            timeout=timeout,
        )
        return self._stream

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()

    async def _restart_from(self, state: State) -> None:
        await self._close_stream()
        self.state = state

    def _progressed(self) -> None:
        self._failures = 0
        self.trouble = ""
        self.heard_at = self._clock.now()

    async def _recover(self, error: Exception) -> None:
        """Say what went wrong, choose where to go on, and pause."""
        too_old = isinstance(error, Gone)
        await self._restart_from(State.EMPTY if too_old else self._resting_state)
        self._gone_in_a_row += too_old
        if too_old and self._gone_in_a_row == 1:
            log.info("%s: begins anew, because version %s is no longer kept", self.resource.qualified, self.version)
            return
        self._failures = 0 if too_old else self._failures + 1  # Who says that a version is too old does answer.
        self.trouble = f"{self.resource.qualified}: {error}"
        pause = self._pause(error)
        log.warning("%s: tries again in %.1f s, because: %s", self.resource.qualified, pause, error)
        await asyncio.sleep(pause)

    def _pause(self, error: Exception) -> float:
        failures = max(self._failures, self._gone_in_a_row - 1)
        grown = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 60), LONGEST_PAUSE)
        asked = (error.retry_after if isinstance(error, ApiError) else None) or 0.0
        return max(asked, grown * (0.5 + self._chance.random() / 2))


Change = tuple[View | None, View | None]


def _difference(old: View | None, new: View) -> Iterable[Change[View]]:
    """What to tell when `new` stands where `old` stood: nothing, a change, or an end and a beginning."""
    if old is None:
        return ((None, new),)
    if old.metadata.uid != new.metadata.uid:
        return ((old, None), (None, new))
    if old.metadata.resource_version == new.metadata.resource_version and new.metadata.resource_version:
        return ()
    return ((old, new),)


def _guarded(react: Callable[..., None], *arguments: object) -> None:
    """Call a subscriber; its failure is its own and stops neither the others nor the informer."""
    try:
        react(*arguments)
    except Exception:
        log.exception("a subscriber failed")
