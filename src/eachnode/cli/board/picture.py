"""What a board shows, as plain values: of each DaemonSet its counts and a cell for each node; and events."""

from __future__ import annotations

from dataclasses import dataclass

from eachnode.cli.live import Look
from eachnode.decisions.slots import State


@dataclass(frozen=True, slots=True)
class Cell:
    """One node as the board shows it."""

    node: str
    state: State
    revision: int = 0  # The number of the template that its pod is of, as far as that is known.
    ready: bool = True  # Whether the node itself is.


@dataclass(frozen=True, slots=True)
class Picture:
    """One DaemonSet as the board shows it."""

    name: str
    desired: int
    updated: int
    available: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One event as the board shows it."""

    age: str
    warning: bool
    subject: str
    message: str


def picture_of(look: Look) -> Picture:
    """One DaemonSet as the board shows it."""
    tally = look.fleet.tally
    numbers = {revision.revision_hash or "": revision.revision for revision in look.revisions}
    cells = []
    for name, slot in sorted(look.fleet.slots.items()):
        if slot.reading is None:
            continue
        hashed = slot.present[0].revision_hash if slot.present else ""
        cells.append(Cell(name, slot.reading.state, numbers.get(hashed, 0)))
    return Picture(str(look.daemonset.metadata.key), tally.desired, tally.updated, tally.available, tuple(cells))
