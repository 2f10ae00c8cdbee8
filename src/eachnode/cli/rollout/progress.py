"""How far a rollout has come, at what pace, and whether it still moves; pure, so that boards and lines agree.

Whether it is done is what the DaemonSet's own status says, as kubectl reads it. Everything else is read off the nodes,
by the controller's own bookkeeping, which is ahead of the status by a moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from eachnode.cli.board.picture import Picture
from eachnode.decisions.explanation_words import SEVERITY, Answer, Kind, and_others
from eachnode.decisions.slots import State
from eachnode.objects.daemonset import DaemonSet

WINDOW = 60.0  # Seconds over which the pace is measured.
OVERDUE = 3  # So many times the usual pause between two nodes mean that the pace is lost.
IN_THE_WAY = (
    State.FAILED,
    State.BROKEN,
    State.CROWDED,
    State.SURGING,
    State.STARTING,
    State.VACANT,
    State.LEAVING,
)


@dataclass(frozen=True, slots=True)
class Progress:
    """One DaemonSet's rollout at a moment."""

    picture: Picture
    observed: bool  # The controller has seen the newest template.
    done: bool
    states: Mapping[State, int]
    hindrances: tuple[Answer, ...] = ()  # The worst of the nodes in the way.
    more_hindrances: int = 0
    trouble: str = ""  # Why we do not hear of changes at the moment.

    @property
    def name(self) -> str:
        """The DaemonSet's name."""
        return self.picture.name.rpartition("/")[2]

    @property
    def serving(self) -> int:
        """How many nodes are where they should be."""
        return self.states.get(State.SERVING, 0)

    @property
    def sentence(self) -> str:
        """Where it stands, in kubectl's words."""
        picture = self.picture
        if not self.observed:
            return "Waiting for daemon set spec update to be observed..."
        if self.done:
            return f'daemon set "{self.name}" successfully rolled out'
        waiting = f'Waiting for daemon set "{self.name}" rollout to finish:'
        if picture.updated < picture.desired:
            return f"{waiting} {picture.updated} out of {picture.desired} new pods have been updated..."
        if picture.available >= picture.desired:
            return f"{waiting} all {picture.desired} updated pods are available, the status is yet to say so..."
        return f"{waiting} {picture.available} of {picture.desired} updated pods are available..."

    @property
    def news(self) -> tuple[object, ...]:
        """What makes it worth a line of its own: counts, and serious trouble; not each step of each pod."""
        serious = frozenset((answer.node, answer.summary) for answer in self.hindrances if is_serious(answer))
        return self.sentence, serious, self.trouble

    @property
    def line(self) -> str:
        """The sentence, and who is in the way; what is done is in nobody's way, even if we heard so a moment late."""
        if self.done:
            return self.sentence
        if self.trouble:
            return f"{self.sentence} (no news: {self.trouble})"
        groups: dict[str, list[str]] = {}
        for answer in self.hindrances:
            groups.setdefault(answer.summary, []).append(answer.node)
        told = "; ".join(f"{and_others(nodes, 3)}: {summary}" for summary, nodes in groups.items())
        more = f"; and {self.more_hindrances} more" if self.more_hindrances else ""
        return f"{self.sentence} ({told}{more})" if told else self.sentence


def is_serious(answer: Answer) -> bool:
    """Whether a node is in worse trouble than being on its way."""
    return SEVERITY[answer.kind] < SEVERITY[Kind.OUTDATED]


def is_done(daemonset: DaemonSet) -> bool:
    """Whether the rollout is finished by what the status says."""
    status = daemonset.status
    wanted = status.desired_number_scheduled
    return is_observed(daemonset) and min(status.updated_number_scheduled, status.number_available) >= wanted


def is_observed(daemonset: DaemonSet) -> bool:
    """Whether the controller has acted upon the newest spec."""
    return daemonset.metadata.generation <= daemonset.status.observed_generation


@dataclass(slots=True)
class Tempo:
    """How fast it goes, and when it last moved."""

    began: float
    moved: float  # When it last came further than ever before.
    _best: tuple[int, int] = (-1, -1)
    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def saw(self, progress: Progress, now: float) -> None:
        """It stands here at this moment."""
        best = (max(self._best[0], progress.picture.updated), max(self._best[1], progress.serving))
        if best != self._best:
            self._best, self.moved = best, now
        self._samples.append((now, progress.serving))
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW:
            self._samples.popleft()

    @property
    def per_minute(self) -> float:
        """Nodes that came to serve in a minute, of late."""
        (first, before), (last, after) = self._samples[0], self._samples[-1]
        return max(0.0, after - before) * 60 / (last - first) if last > first else 0.0

    def left(self, progress: Progress, now: float) -> float | None:
        """Seconds until the end at this pace; None when there is none yet, or no longer."""
        pace = self.per_minute
        if not pace or now - self.moved > OVERDUE * 60 / pace:
            return None
        return (progress.picture.desired - progress.serving) * 60 / pace
