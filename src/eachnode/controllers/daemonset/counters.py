"""What the controller counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Numbers that only grow."""

    pods_created: int = 0
    pods_deleted: int = 0
    creates_failed: int = 0
    deletes_failed: int = 0
    status_writes: int = 0
    revision_writes: int = 0
    stale_skips: int = 0  # Passes put off because a cache had not seen our last write.
    malformed: int = 0  # Times that a DaemonSet could not be processed.
