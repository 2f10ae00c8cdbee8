"""How long to wait before the next failed pod of a node is replaced.

The reference's rule: the first failure is acted upon at once and opens a window; at the window's end the next one is,
and the window doubles; a node that was quiet for twice the longest window starts anew. A window belongs to one
processed generation of the DaemonSet, so a new spec gets a new chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FIRST_WINDOW = 1.0
LONGEST_WINDOW = 15 * 60.0


class _Window(NamedTuple):
    generation: int
    opened: float
    length: float


@dataclass(frozen=True, slots=True)
class BackoffOptions:
    """The shortest and the longest window, in seconds."""

    first: float = FIRST_WINDOW
    longest: float = LONGEST_WINDOW


class Backoff:
    """The open windows of one DaemonSet, by node."""

    def __init__(self, options: BackoffOptions | None = None) -> None:
        self._options = options or BackoffOptions()
        self._windows: dict[str, _Window] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def until(self, node: str, generation: int, now: float) -> float:
        """When the next failed pod may go; a moment that is not in the future means now."""
        window = self._valid(node, generation, now)
        return window.opened + window.length if window else now

    def next_length(self, node: str, generation: int, now: float) -> float:
        """How long the window will be that the next failed pod opens."""
        last = self._valid(node, generation, now)
        return min(last.length * 2, self._options.longest) if last else self._options.first

    def advance(self, node: str, generation: int, now: float) -> None:
        """A failed pod is about to go: open a window, longer than the last one."""
        self._windows[node] = _Window(generation, now, self.next_length(node, generation, now))

    def forget_idle(self, now: float) -> None:
        """Drop what would start anew anyway."""
        self._windows = {node: window for node, window in self._windows.items() if not self._is_idle(window, now)}

    def forget(self, node: str) -> None:
        """The node is gone."""
        self._windows.pop(node, None)

    def nodes(self) -> tuple[str, ...]:
        """The nodes that have a window."""
        return tuple(self._windows)

    def _valid(self, node: str, generation: int, now: float) -> _Window | None:
        window = self._windows.get(node)
        if window is None or window.generation != generation or self._is_idle(window, now):
            return None
        return window

    def _is_idle(self, window: _Window, now: float) -> bool:
        return now - window.opened > 2 * self._options.longest
