"""What happened to one object, and how that is told to those who watch."""

from __future__ import annotations

from eachnode.objects.document import Document
from eachnode.objects.watching import WatchEvent
from eachnode.server.store.selection import Selection
from eachnode.server.store.stored import Stored, at_version


class Told(WatchEvent):
    """A watch event that all watchers of it share, with its line for the wire, encoded at most once."""

    __slots__ = ("_line",)
    _line: bytes

    @property
    def line(self) -> bytes:
        """The event as one line of a watch over HTTP."""
        try:
            return self._line
        except AttributeError:
            line = b"".join((b'{"type":"', self.type.encode(), b'","object":', self.document.raw, b"}\n"))
            object.__setattr__(self, "_line", line)  # The event itself is frozen.
            return line


class Change:
    """One write: the object before and after it, either of which may be missing."""

    __slots__ = ("_entered", "_left", "_told", "at", "new", "old", "version")

    def __init__(self, version: int, old: Stored | None, new: Stored | None, at: float) -> None:
        self.version = version
        self.old = old
        self.new = new
        self.at = at
        self._told: Told | None = None
        self._entered: Told | None = None
        self._left: Told | None = None

    @property
    def path(self) -> str:
        """The object's place among those of its kind."""
        return self.present.path

    @property
    def present(self) -> Stored:
        """The object as it is now, or as it last was."""
        stored = self.new or self.old
        assert stored is not None
        return stored

    @property
    def told(self) -> Told:
        """The event for those who see the object before and after."""
        if self._told is None:
            if self.new is None:
                self._told = self.left
            else:
                self._told = Told("MODIFIED" if self.old else "ADDED", self.new.document)
        return self._told

    @property
    def entered(self) -> Told:
        """The event for those who see the object only after the change."""
        if self.old is None:
            return self.told
        if self._entered is None:
            assert self.new is not None
            self._entered = Told("ADDED", self.new.document)
        return self._entered

    @property
    def left(self) -> Told:
        """The event for those who see the object only before: what it last was, at the version of this change."""
        if self._left is None:
            assert self.old is not None
            self._left = Told("DELETED", self._last())
        return self._left

    def told_to(self, selection: Selection) -> Told | None:
        """The event as seen through a selection; None when it sees the object neither before nor after."""
        before = self.old is not None and selection.matches(self.old)
        after = self.new is not None and selection.matches(self.new)
        if after:
            return self.told if before else self.entered
        return self.left if before else None

    def _last(self) -> Document:
        assert self.old is not None
        document = at_version(self.old.document, self.version)
        document.forget_views()
        return document
