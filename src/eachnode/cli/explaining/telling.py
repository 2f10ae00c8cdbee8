"""How answers are told: nodes grouped by what is so on them, worst first; one node in full; or values for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from eachnode.cli.printing import table
from eachnode.decisions.explanation import Scene
from eachnode.decisions.explanation_words import SEVERITY, Answer, Kind, Reason, and_others
from eachnode.decisions.scheduling import Holder

DETAILED = 3  # Nodes of a group that are told one by one, when each has its own story.
NAMED = 12  # Nodes of a group that are named, when they share one.
HOLDERS = 3  # Pods that are named of those that hold what is missing.

_GREEN = (Kind.RUNNING,)
_QUIET = (Kind.REFUSED,)
_YELLOW = (Kind.OUTDATED, Kind.VACANT, Kind.PULLING, Kind.STARTING, Kind.LEAVING, Kind.LINGERING, Kind.NODE_GONE)


def worst_first(answers: Iterable[Answer]) -> list[Answer]:
    """The answers in order: the worst first, then the same ones together, then by node."""
    return sorted(answers, key=lambda each: (SEVERITY[each.kind], each.summary, each.node))


def grouped(answers: Iterable[Answer]) -> list[list[Answer]]:
    """The answers that say the same, together; worst first, and of the equally bad the largest group first."""
    groups: dict[tuple[Kind, str], list[Answer]] = {}
    for answer in answers:
        groups.setdefault((answer.kind, answer.summary), []).append(answer)
    return sorted(groups.values(), key=lambda group: (SEVERITY[group[0].kind], -len(group), group[0].summary))


# For people


def headline(scene: Scene) -> str:
    """The DaemonSet in one line."""
    tally = scene.fleet.tally
    number = scene.history.current.revision if scene.history.current else None
    at = f", revision {number}" if number else ", its newest template not recorded yet"
    refused = sum(1 for slot in scene.fleet.slots.values() if not slot.wanted)
    beside = f"; {refused} {_nodes(refused)} not to run one" if refused else ""
    going = "; it is being deleted" if scene.daemonset.is_going else ""
    return (
        f"daemonset {scene.daemonset.metadata.key}{at}: {tally.available} of {tally.desired} pods available, "
        f"{tally.updated} of the newest template{beside}{going}"
    )


def _nodes(count: int) -> str:
    return "node is" if count == 1 else "nodes are"


def tell_groups(scene: Scene, answers: Sequence[Answer], *, colour: bool = False) -> Iterator[str]:
    """Every group with its count, its nodes, and what would help."""
    yield headline(scene)
    groups = grouped(answers)
    if not groups:
        yield "there are no nodes"
    width = max((len(str(len(group))) for group in groups), default=1)
    for group in groups:
        yield ""
        yield f"{_painted(str(len(group)).rjust(width), group[0].kind, colour)}  {_title(group[0], colour)}"
        margin = " " * (width + 2)
        yield from (f"{margin}{line}" for line in _members(group))
        yield from (f"{margin}→ {remedy}" for remedy in _remedies_of(group))


def _title(answer: Answer, colour: bool) -> str:
    said = "" if answer.summary == answer.kind else f": {answer.summary}"
    return f"{_painted(answer.kind, answer.kind, colour)}{said}"


def _members(group: Sequence[Answer]) -> Iterator[str]:
    alike: dict[str, list[Answer]] = {}
    for answer in group:
        alike.setdefault(answer.because, []).append(answer)
    if len(alike) == 1:
        yield and_others([answer.node for answer in group], NAMED)
        yield from _in_full(group)
        return
    for because, answers in list(alike.items())[:DETAILED]:
        yield f"{and_others([answer.node for answer in answers], NAMED)}: {because}"
        yield from (f"  {line}" for line in _held_in(answers))
    others = [answer.node for answers in list(alike.values())[DETAILED:] for answer in answers]
    if others:
        yield f"likewise {and_others(others, NAMED)} (--node NODE tells of one of them, -o wide of each)"


def _in_full(group: Sequence[Answer]) -> Iterator[str]:
    for place, reason in enumerate(group[0].reasons):
        if reason.because not in group[0].summary:
            yield reason.because
        yield from (f"  {line}" for line in _held_in(group, place))


def _held_in(group: Sequence[Answer], place: int | None = None) -> Iterator[str]:
    """Who holds what is missing on the first of these nodes; `place`: for one of its reasons, else for all."""
    first = group[0]
    where = f"on {first.node} " if len(group) > 1 else ""
    for reason in first.reasons if place is None else first.reasons[place : place + 1]:
        yield from (f"{where}{line}" for line in _held(reason.holders))


def _held(holders: Sequence[Holder]) -> Iterator[str]:
    for holder in holders[:HOLDERS]:
        yield f"held by {holder.namespace}/{holder.name} (priority {holder.priority}): {holder.holds}"
    if len(holders) > HOLDERS:
        yield f"and by {len(holders) - HOLDERS} more"


def _remedies(reasons: Iterable[Reason]) -> list[str]:
    return list(dict.fromkeys(reason.remedy for reason in reasons if reason.remedy))


def _remedies_of(group: Sequence[Answer]) -> Iterator[str]:
    """What would help; where that is another thing on each node, what would help on the first."""
    common = set.intersection(*(set(_remedies(answer.reasons)) for answer in group))
    for remedy in _remedies(group[0].reasons):
        yield remedy if remedy in common else f"on {group[0].node}: {remedy}"


def tell_node(scene: Scene, answer: Answer, *, colour: bool = False) -> Iterator[str]:
    """One node with everything that is known of it."""
    pod = f" (pod {answer.pod})" if answer.pod else ""
    yield f"node {answer.node}, daemonset {scene.daemonset.metadata.key}: {_title(answer, colour)}{pod}"
    for reason in answer.reasons:
        if reason.because not in answer.summary:
            yield f"  {reason.because}"
        yield from (f"    {line}" for line in _held(reason.holders))
        if reason.remedy:
            yield f"  → {reason.remedy}"


def _painted(text: str, kind: Kind, colour: bool) -> str:
    if not colour:
        return text
    if kind in _QUIET:
        return click.style(text, dim=True)
    return click.style(text, fg="green" if kind in _GREEN else "yellow" if kind in _YELLOW else "red", bold=True)


def tell_wide(answers: Iterable[Answer]) -> list[str]:
    """A line for each node."""
    rows = [(each.node, str(each.kind), each.pod or "<none>", each.because) for each in worst_first(answers)]
    return table(("NODE", "ANSWER", "POD", "BECAUSE"), rows)


# For programs


def values(scene: Scene, answers: Sequence[Answer]) -> dict[str, Any]:
    """All of it as plain values."""
    tally, metadata = scene.fleet.tally, scene.daemonset.metadata
    return {
        "daemonSet": metadata.name,
        "namespace": metadata.namespace,
        "generation": metadata.generation,
        "revision": scene.history.current.revision if scene.history.current else None,
        "counts": {
            "desired": tally.desired,
            "scheduled": tally.scheduled,
            "updated": tally.updated,
            "ready": tally.ready,
            "available": tally.available,
            "misscheduled": tally.misscheduled,
        },
        "answers": [
            {"answer": str(group[0].kind), "summary": group[0].summary, "nodes": len(group)}
            for group in grouped(answers)
        ],
        "nodes": [_value(answer) for answer in worst_first(answers)],
    }


def _value(answer: Answer) -> dict[str, Any]:
    return {
        "node": answer.node,
        "answer": str(answer.kind),
        "summary": answer.summary,
        "pod": answer.pod,
        "reasons": [
            {
                "because": reason.because,
                "remedy": reason.remedy,
                "holders": [
                    {"namespace": each.namespace, "name": each.name, "priority": each.priority, "holds": each.holds}
                    for each in reason.holders
                ],
            }
            for reason in answer.reasons
        ],
    }
