"""The work queue between what happens and what is done about it, and the workers that empty it.

A key that is added many times before a worker takes it is worked on once; one key is never worked on twice at the same
time; a key that is added while it is worked on comes back when that pass is done. So a pass must read the state as it
is then, never the event that woke it. Order is first come, first served.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from eachnode.objects.clock import Clock
from eachnode.objects.status import AlreadyExists, ApiError, Conflict, NotFound, Unreachable

log = logging.getLogger(__name__)

K = TypeVar("K")


class Closed(Exception):
    """The queue hands out no more keys."""


class _Alarm(NamedTuple):
    """A key that comes back by itself: when, on the loop's clock, and the timer to cancel if it comes sooner."""

    when: float
    timer: asyncio.TimerHandle


class WorkQueue(Generic[K]):
    """Keys to look at: each once, some later, failing ones after growing pauses."""

    def __init__(self, clock: Clock, *, first_delay: float = 0.005, longest_delay: float = 1000.0) -> None:
        self._clock = clock
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._ready: deque[K] = deque()
        self._wanted: dict[K, float] = {}  # Since when: in the queue, or asked for while it is worked on.
        self._working: set[K] = set()
        self._alarms: dict[K, _Alarm] = {}
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.added = 0
        self.retried = 0
        self.on_taken: Callable[[float], None] | None = None  # Told how long each key waited, in seconds.

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return len(self._ready)

    @property
    def working(self) -> int:
        """How many keys are being worked on."""
        return len(self._working)

    @property
    def closed(self) -> bool:
        """Whether it hands out no more keys."""
        return self._closed

    def add(self, key: K) -> None:
        """Have the key looked at as soon as a worker is free."""
        if self._closed or key in self._wanted:
            return
        self._wanted[key] = self._clock.now()
        self.added += 1
        if key not in self._working:
            self._ready.append(key)
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Have the key looked at after a while, or sooner if it is already to be looked at sooner."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        pending = self._alarms.get(key)
        if pending is not None:
            if pending.when <= when:
                return
            pending.timer.cancel()
        self._alarms[key] = _Alarm(when, loop.call_at(when, self._ring, key))

    def retry(self, key: K) -> None:
        """Have a failed key looked at again after a pause that doubles with each failure."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried += 1
        self.add_after(key, min(self._first_delay * 2.0 ** min(failures, 60), self._longest_delay))

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure pauses shortly again."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next key, which is the caller's until `done`; raises Closed."""
        while not self._ready or self._closed:
            if self._closed:
                raise Closed
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake_one()  # It was our turn: pass it on.
                raise
        key = self._ready.popleft()
        waited = self._clock.now() - self._wanted.pop(key)
        self._working.add(key)
        if self.on_taken is not None:
            self.on_taken(waited)
        return key

    def done(self, key: K) -> None:
        """The pass over the key is over; it may be handed out again."""
        self._working.discard(key)
        if key in self._wanted and not self._closed:
            self._ready.append(key)
            self._wake_one()

    def close(self) -> None:
        """Hand out no more keys; what is being worked on may finish."""
        self._closed = True
        for alarm in self._alarms.values():
            alarm.timer.cancel()
        self._alarms.clear()
        while self._getters:
            self._wake_one()

    def _ring(self, key: K) -> None:
        del self._alarms[key]
        self.add(key)

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return


Reconcile = Callable[[K], Awaitable[float | None]]
Outcome = Callable[[float, str], None]


async def work(
    queue: WorkQueue[K], reconcile: Reconcile[K], workers: int = 1, *, on_pass: Outcome | None = None
) -> None:
    """Reconcile keys until the queue is closed and what was in flight is done.

    A pass that returns seconds is looked at again after them; one that raises is retried after a growing pause.
    `on_pass` is told each pass's seconds and its outcome: `done`, `again` or `error`.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work_alone(queue, reconcile, on_pass))


async def _work_alone(queue: WorkQueue[K], reconcile: Reconcile[K], on_pass: Outcome | None) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            key = await queue.get()
        except Closed:
            return
        began = loop.time()
        try:
            outcome = await _pass(queue, reconcile, key)
        finally:
            queue.done(key)
        if on_pass is not None:
            on_pass(loop.time() - began, outcome)


async def _pass(queue: WorkQueue[K], reconcile: Reconcile[K], key: K) -> str:
    try:
        again = await reconcile(key)
    except Exception as error:
        _report(key, error, queue.failures(key))
        queue.retry(key)
        return "error"
    queue.forget(key)
    if again is None:
        return "done"
    queue.add_after(key, again)
    return "again"


def _report(key: object, error: Exception, failures: int) -> None:
    """Say why a pass is to be repeated, as loudly as it is surprising."""
    if isinstance(error, ApiError) and error.has_cause("NamespaceTerminating"):
        log.info("%s: again, because its namespace is being removed, and it will be too: %s", key, error)
    elif isinstance(error, Conflict | AlreadyExists | NotFound):
        log.info("%s: again, because it changed meanwhile: %s", key, error)
    elif isinstance(error, ApiError | Unreachable):
        log.warning("%s: again (failure %d), because the API said: %s", key, failures + 1, error)
    else:
        log.error(
            "%s: again (failure %d), because of an unexpected error: %r", key, failures + 1, error, exc_info=error
        )
