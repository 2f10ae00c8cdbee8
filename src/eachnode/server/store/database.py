"""Durability: the current objects and the version counter in one SQLite file, changed in transactions.

Only what exists now is kept, so the file is as large as the cluster, not as its past. A row's number is the version its
object was created at: new rows go to the end, and no index is needed. Space that deletions free is given back in steps.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from eachnode.objects.explained import Explained

Synchronous = Literal["NORMAL", "FULL"]
_APPLICATION = 0x6561636E  # "eacn": marks the file as ours.
_FORMAT = 1
_FREE_PAGES_KEPT = 512
_PAGES_GIVEN_BACK = 256  # At a time.
_COMMITS_BETWEEN_LOOKS = 256
# How far the counter leaps when the last commits may have been lost with the machine's power (see `Synchronous`).
_LEAP = 1_000_000


class Row(NamedTuple):
    """One object in the database."""

    born: int
    resource: str
    version: int
    expires: float | None
    body: bytes


class StoreError(Explained):
    """The data directory cannot be used; the sentence says why."""


class CommitFailed(Exception):
    """A transaction did not take place; the sentence says why."""


class Database(Protocol):
    """What keeps the objects when the process is gone."""

    version: int  # The last one handed out before this start.
    oldest: int  # Nothing is known of changes up to this version.

    def load(self) -> dict[str, list[Row]]:
        """Everything, by resource."""
        ...

    def commit(self, rows: Sequence[Row], removed: Iterable[int], version: int) -> None:
        """Writes and removes rows in one transaction; raises CommitFailed when it did not take place."""
        ...

    def close(self) -> None:
        """Lets go of everything."""
        ...

    def abandon(self) -> None:
        """Lets go of everything as a killed process does, without a note that all is written."""
        ...


class Abandoned:
    """What a killed server writes to: nothing arrives."""

    version = oldest = 0

    def load(self) -> dict[str, list[Row]]:
        """Nothing."""
        return {}

    def commit(self, rows: Sequence[Row], removed: Iterable[int], version: int) -> None:  # noqa: ARG002 the protocol's
        """Fails."""
        raise CommitFailed("the server was killed")

    def close(self) -> None:
        """Does nothing."""

    def abandon(self) -> None:
        """Does nothing."""


class NotKept:
    """Keeps nothing: the cluster lives as long as the process."""

    def __init__(self) -> None:
        self.version = 0
        self.oldest = 0

    def load(self) -> dict[str, list[Row]]:
        """Nothing."""
        return {}

    def commit(self, rows: Sequence[Row], removed: Iterable[int], version: int) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def abandon(self) -> None:
        """Does nothing."""


class SqliteFile:
    """One file, locked against a second server.

    `synchronous` NORMAL: what is acknowledged survives the end of the process, however it ends; when the whole machine
    loses power, the last moments may be lost (never the file, and versions still do not repeat). FULL: also that
    survives, at the price of one disk flush for each commit.
    """

    def __init__(self, path: Path, synchronous: Synchronous = "NORMAL") -> None:
        self._path = path
        with ExitStack() as undo:
            self._lock = _lock(path)
            undo.callback(os.close, self._lock)
            try:
                self._connection = undo.enter_context(closing(_connect(path)))
                _tune(self._connection, synchronous)
                self.oldest, clean = self._open()
            except sqlite3.Error as error:
                raise StoreError(f"the database {path} cannot be used: {error}") from error
            undo.pop_all()
        self.version = self.oldest if clean or synchronous == "FULL" else self.oldest + _LEAP
        self._commits = 0

    def load(self) -> dict[str, list[Row]]:
        """Everything, by resource."""
        found: dict[str, list[Row]] = defaultdict(list)
        try:
            for row in self._connection.execute("SELECT born, resource, version, expires, body FROM objects"):
                found[row[1]].append(Row(*row))
        except sqlite3.Error as error:
            raise StoreError(_damaged(self._path, error)) from error
        return found

    def commit(self, rows: Sequence[Row], removed: Iterable[int], version: int) -> None:
        """Writes and removes rows in one transaction; raises CommitFailed when it did not take place."""
        run = self._connection
        try:
            run.execute("BEGIN IMMEDIATE")
            run.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", rows)
            run.executemany("DELETE FROM objects WHERE born = ?", [(born,) for born in removed])
            run.execute("UPDATE counter SET version = ?", (version,))
            run.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise CommitFailed(f"{self._path}: {error}") from error
        self._commits += 1
        if self._commits % _COMMITS_BETWEEN_LOOKS == 0:
            self._give_back()

    def close(self) -> None:
        """Notes that all is written, and lets go of the file."""
        # Without the note the next start merely leaps ahead; the data is safe either way.
        with suppress(sqlite3.Error):
            self._connection.execute("UPDATE counter SET clean = 1")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        os.close(self._lock)

    def abandon(self) -> None:
        """Lets go of the file as the end of the process would."""
        self._connection.close()
        os.close(self._lock)

    def _open(self) -> tuple[int, bool]:
        """Makes or checks the tables; answers with the counter, and whether the last end was a clean one."""
        run = self._connection
        (application,) = run.execute("PRAGMA application_id").fetchone()
        (layout,) = run.execute("PRAGMA user_version").fetchone()
        (tables,) = run.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            _create(run)
        elif application != _APPLICATION:
            raise StoreError("the database belongs to another program")
        elif layout != _FORMAT:
            raise StoreError(f"the database has format {layout}, this eachnode reads format {_FORMAT}")
        for (finding,) in run.execute("PRAGMA quick_check(1)"):
            if finding != "ok":
                raise StoreError(_damaged(self._path, finding))
        version, clean = run.execute("SELECT version, clean FROM counter").fetchone()
        run.execute("UPDATE counter SET clean = 0")
        return version, bool(clean)

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            # After a serious error SQLite has already rolled back by itself.
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _give_back(self) -> None:
        """Returns a few of many free pages to the file system."""
        # Housekeeping: whatever goes wrong here, the next commit meets it too, and says so.
        with suppress(sqlite3.Error):
            (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
            if free > _FREE_PAGES_KEPT:
                self._connection.execute(f"PRAGMA incremental_vacuum({_PAGES_GIVEN_BACK})").fetchall()


def _damaged(path: Path, finding: object) -> str:
    """What a database that cannot be read any more is said to be, in one line, and what can be done."""
    what = " ".join(str(finding).replace("*** in database main ***", "").split())
    return f"the database {path} is damaged: {what}; put a copy of it in its place, or begin with an empty directory"


def _lock(path: Path) -> int:
    """Takes the lock beside the database, which goes with the process, however it ends."""
    beside = path.with_name(path.name + ".lock")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"the data directory {beside.parent} cannot be written: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        who = f"process {owner}" if owner else "another process"
        raise StoreError(f"{path.parent} is in use: {who} already serves from it") from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(path, timeout=0.1, isolation_level=None, check_same_thread=False)


def _tune(connection: sqlite3.Connection, synchronous: Synchronous) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # Counts in a file that is empty; in others it is as it was.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    # Checkpoints come often and are small, so that none makes anybody wait for long.
    connection.execute("PRAGMA wal_autocheckpoint = 512")
    connection.execute(f"PRAGMA journal_size_limit = {8 << 20}")
    connection.execute(f"PRAGMA cache_size = -{4 << 10}")


def _create(run: sqlite3.Connection) -> None:
    run.execute("BEGIN IMMEDIATE")
    run.execute(f"PRAGMA application_id = {_APPLICATION}")
    run.execute(f"PRAGMA user_version = {_FORMAT}")
    run.execute(
        "CREATE TABLE objects (born INTEGER PRIMARY KEY, resource TEXT NOT NULL, version INTEGER NOT NULL,"
        " expires REAL, body BLOB NOT NULL)"
    )
    run.execute("CREATE TABLE counter (version INTEGER NOT NULL, clean INTEGER NOT NULL)")
    run.execute("INSERT INTO counter VALUES (0, 1)")
    run.execute("COMMIT")
