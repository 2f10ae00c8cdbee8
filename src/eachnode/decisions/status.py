"""What a DaemonSet's status says, and when it is worth a write.

The counters are read off the fleet's tally. While many pods change, a write for each would cost more than the pods
themselves: writes are gathered then. Once the fleet is settled, or quiet, what is written is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.decisions.fleet import Fleet
from eachnode.decisions.slots import State
from eachnode.objects.daemonset import Counts, DaemonSet, DaemonSetStatus
from eachnode.objects.resources import DAEMON_SETS

QUIET = 0.15  # Seconds without a change after which the status is written.
LONGEST_LAG = 1.0  # Seconds after which it is written although changes keep coming.

_RESTLESS = (State.VACANT, State.STARTING, State.SURGING, State.LEAVING, State.UNWANTED, State.CROWDED, State.FAILED)


def counts(fleet: Fleet) -> Counts:
    """The counters that this fleet implies."""
    tally = fleet.tally
    return Counts(
        current_number_scheduled=tally.scheduled,
        number_misscheduled=tally.misscheduled,
        desired_number_scheduled=tally.desired,
        number_ready=tally.ready,
        updated_number_scheduled=tally.updated,
        number_available=tally.available,
        number_unavailable=tally.desired - tally.available,
    )


def is_settled(fleet: Fleet) -> bool:
    """Whether nothing is on its way: every wanted pod serves, and it is a current one where those are followed."""
    states = fleet.tally.states
    if any(states[state] for state in _RESTLESS):
        return False
    return not (fleet.aim.follows and (states[State.OUTDATED] or states[State.BROKEN]))


def needs_write(reported: DaemonSetStatus, truth: Counts, processed: int) -> bool:
    """Whether the reported status is not the truth; `processed` is the generation acted upon, or zero."""
    return reported.counts != truth or reported.observed_generation < processed


@dataclass(slots=True)
class Pacing:
    """When the status of one DaemonSet is to be written."""

    changed_first: float | None = None  # When the truth left what is reported.
    changed_last: float = 0.0
    seen: Counts | None = None

    def due(self, truth: Counts, now: float, *, at_once: bool) -> float:
        """The moment from which on the write is due; it is due now when that is not in the future."""
        if self.changed_first is None:
            self.changed_first = now
        if truth != self.seen:
            self.seen, self.changed_last = truth, now
        if at_once:
            return now
        return min(self.changed_last + QUIET, self.changed_first + LONGEST_LAG)

    def written(self) -> None:
        """What is reported is the truth."""
        self.changed_first = None
        self.seen = None


def status_body(daemonset: DaemonSet, truth: Counts, observed_generation: int) -> bytes:
    """The DaemonSet as it is sent to its status subresource; conditions and collisionCount are carried over."""
    status = _tree(daemonset.status_text)
    status |= msgspec.to_builtins(truth)
    if observed_generation:
        status["observedGeneration"] = observed_generation
    return whole_body(daemonset, status)


def collision_body(daemonset: DaemonSet) -> bytes:
    """The DaemonSet with one more collision on record."""
    status = _tree(daemonset.status_text)
    status["collisionCount"] = (daemonset.status.collision_count or 0) + 1
    return whole_body(daemonset, status)


def whole_body(daemonset: DaemonSet, status: dict[str, Any]) -> bytes:
    """All of a DaemonSet that a PUT of its status must carry."""
    return msgspec.json.encode(
        {
            "apiVersion": DAEMON_SETS.api_version,
            "kind": DAEMON_SETS.kind,
            "metadata": daemonset.metadata.tree(),
            "spec": daemonset.spec_text,
            "status": status,
        }
    )


def _tree(text: msgspec.Raw) -> dict[str, Any]:
    return msgspec.json.decode(text, type=dict[str, Any])
