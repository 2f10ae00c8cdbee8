"""What a command is about, written as kubectl writes it: `ds/name`, `daemonset/name`, `daemonset.apps/name`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eachnode.cli.failures import FAILED, Failure
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS, Resource

_SHORT = {
    DAEMON_SETS: ("ds",),
    PODS: ("po",),
    NODES: ("no",),
    EVENTS: ("ev",),
    CONTROLLER_REVISIONS: ("revisions", "revision"),
}


def _names(resource: Resource) -> set[str]:
    plain = {resource.plural, resource.kind.lower()}
    dotted = {
        f"{name}.{suffix}" for name in plain for suffix in (resource.group, f"{resource.version}.{resource.group}")
    }
    return {*plain, *_SHORT[resource], *(dotted if resource.group else ())}


ENOUGH_OF_A_NAME = 3  # Letters of a name by which the whole of it is guessed.

KINDS: dict[str, Resource] = {name: resource for resource in _SHORT for name in sorted(_names(resource))}


@dataclass(frozen=True, slots=True)
class Target:
    """One object by kind and name."""

    resource: Resource
    name: str


def parse_kind(text: str) -> Resource:
    """The kind that people call by this name, singular or plural, short or qualified."""
    resource = KINDS.get(text.lower())
    if resource is None:
        near = nearest(text.lower(), KINDS)
        hint = f"; did you mean {near!r}?" if near else f"; known are {', '.join(each.plural for each in _SHORT)}"
        raise Failure(f"there is no kind {text!r} here{hint}")
    return resource


def parse_target(text: str, expected: Resource = DAEMON_SETS) -> Target:
    """`kind/name`, or a bare name of the expected kind."""
    kind, slash, name = text.rpartition("/")
    if not name or (slash and not kind):
        raise Failure(f"{text!r} names nothing; write {_example(expected)}")
    return Target(parse_kind(kind) if slash else expected, name)


def parse_targets(words: Sequence[str], expected: Resource = DAEMON_SETS) -> list[Target]:
    """What several words name: `ds/x ds/y`, or `ds x y`, or bare names of the expected kind."""
    if len(words) > 1 and "/" not in words[0] and words[0].lower() in KINDS:
        kind = parse_kind(words[0])
        if any("/" in word for word in words[1:]):
            raise Failure(f"either {words[0]} NAME… or {words[0]}/NAME…, not both")
        return [Target(kind, name) for name in words[1:]]
    return [parse_target(word, expected) for word in words]


def parse_daemonsets(words: Sequence[str]) -> list[str]:
    """The names of the DaemonSets that are meant."""
    targets = parse_targets(words)
    for target in targets:
        if target.resource is not DAEMON_SETS:
            raise Failure(f"{target.resource.kind} {target.name} is no DaemonSet; write {_example(DAEMON_SETS)}")
    return [target.name for target in targets]


def parse_daemonset(text: str) -> str:
    """The name of the DaemonSet that is meant."""
    target = parse_target(text)
    if target.resource is not DAEMON_SETS:
        raise Failure(f"{text!r} is no DaemonSet; write {_example(DAEMON_SETS)}")
    return target.name


def nearest(name: str, known: Iterable[str]) -> str:
    """Of the known names the one that was probably meant: spelled alike, or longer; empty when none is near."""
    import difflib

    names = sorted(known, key=len)
    longer = (each for each in names if len(name) >= ENOUGH_OF_A_NAME and name in each)
    return next(iter([*difflib.get_close_matches(name, names, n=1), *longer]), "")


def unknown(what: str, name: str, known: Iterable[str], where: str = "") -> Failure:
    """There is no such thing, and what was probably meant."""
    near = nearest(name, known)
    hint = f"; did you mean {near!r}?" if near else ""
    return Failure(f"there is no {what} {name!r}{where}{hint}", FAILED)


def _example(resource: Resource) -> str:
    return f"{(*_SHORT[resource], resource.plural)[0]}/NAME"
