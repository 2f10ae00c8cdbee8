"""Stages: what may happen to a simulated pod next, as data.

A stage is a line of YAML: in which state and for which pods and nodes (`when`), after which `delay`, what comes `next`,
and its `weight` against the others that fit. Stages come in layers (a user's chaos file lies over the built-in timing):
the topmost layer in which a stage fits decides. `share: 2%` makes a stage fit that share of the nodes (or of the pods),
always the same ones.

    - name: nginx crashes on 2 % of the nodes
      when: {state: ready, images: ["nginx:*"], share: 2%, of: nodes}
      delay: 20s..60s
      next: {state: crashed, exitCode: 1, reason: Error}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal
from zlib import crc32

import msgspec

from eachnode.decisions.pod_stages.states import PodState, restarts
from eachnode.decisions.pod_stages.view import Probe, SimulatedNode, SimulatedPod
from eachnode.objects.explained import Explained

Special = Literal["", "readiness", "termination", "restart-back-off", "pull-back-off"]

_BACK_OFF_FIRST, _BACK_OFF_LONGEST = 10.0, 300.0  # Seconds, for pulls and restarts alike, as a kubelet's.


class InvalidStages(Explained, ValueError):
    """A stage file that cannot be understood; the sentence says where and what to write instead."""


@dataclass(frozen=True, slots=True)
class Delay:
    """How long a stage waits: between two numbers of seconds, and what the pod itself says about it."""

    least: float = 0.0
    most: float = 0.0
    special: Special = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state that a stage leads to, with its particulars."""

    state: PodState
    exit_code: int = 1
    reason: str = "Error"
    message: str = ""
    phase: Literal["Failed", "Succeeded"] = "Failed"
    node_conditions: Mapping[str, str] = field(default_factory=dict)  # What its node says from then on.


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods, on which nodes, in which state."""

    state: PodState
    images: tuple[str, ...] = ()  # One of the pod's images fits one of these.
    not_images: tuple[str, ...] = ()  # None of them fits any of these.
    nodes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    node_labels: Mapping[str, str] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    share: float = 1.0
    of: Literal["nodes", "pods"] = "nodes"


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that may happen to a pod."""

    name: str
    when: Selection
    next: Outcome
    delay: Delay = Delay()
    weight: int = 1


Layer = tuple[Stage, ...]


def choose(
    layers: Sequence[Layer], pod: SimulatedPod, state: PodState, node: SimulatedNode, roll: float
) -> Stage | None:
    """The stage that happens next, `roll` (0 to 1) deciding between those of equal right; None: nothing happens."""
    for layer in layers:
        fitting = [stage for stage in layer if stage.when.state is state and _fits(stage, pod, node)]
        total = sum(stage.weight for stage in fitting)
        if total > 0:
            rest = roll * total
            for stage in fitting:
                rest -= stage.weight
                if rest < 0:
                    return stage
            return fitting[-1]
    return None


def _fits(stage: Stage, pod: SimulatedPod, node: SimulatedNode) -> bool:
    when = stage.when
    containers = (*pod.spec.containers, *(pod.spec.init_containers or ()))
    if when.images and not any(matches_any(each.image, when.images) for each in containers):
        return False
    if when.not_images and any(matches_any(each.image, when.not_images) for each in containers):
        return False
    if when.nodes and not matches_any(node.name, when.nodes):
        return False
    if when.namespaces and not matches_any(pod.metadata.namespace, when.namespaces):
        return False
    if not when.labels.items() <= (pod.metadata.labels or {}).items():
        return False
    if not when.node_labels.items() <= node.labels.items():
        return False
    if when.share >= 1.0:
        return True
    who = node.name if when.of == "nodes" else pod.metadata.uid
    return crc32(f"{stage.name}\0{who}".encode()) / 2**32 < when.share


def matches_any(text: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns (`*` for anything) fits."""
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def seconds_until(stage: Stage, pod: SimulatedPod, failures: int, roll: float, pace: float = 1.0) -> float:
    """How long the stage waits for this pod; `failures` counts failed pulls, `pace` stretches delays of the file."""
    delay = stage.delay
    drawn = (delay.least + (delay.most - delay.least) * roll) * pace
    match delay.special:
        case "readiness":
            return drawn + _readiness(pod, roll)
        case "termination":
            grace = pod.spec.termination_grace_period_seconds
            return min(_pre_stop(pod) + drawn, float(30 if grace is None else grace))
        case "restart-back-off":
            return back_off(restarts(pod) + 1)
        case "pull-back-off":
            return back_off(failures)
    return drawn


def _readiness(pod: SimulatedPod, roll: float) -> float:
    """From the start until the probes have succeeded; without one a container is ready at once."""

    def takes(probe: Probe | None) -> float:
        if probe is None:
            return 0.0
        more_rounds = max(0, probe.success_threshold - 1) * probe.period_seconds
        # The first probe falls anywhere within the first period after the initial delay, as a kubelet's does.
        return probe.initial_delay_seconds + roll * min(probe.period_seconds, 1.0) + more_rounds

    return max((takes(each.startup_probe) + takes(each.readiness_probe) for each in pod.spec.containers), default=0.0)


def _pre_stop(pod: SimulatedPod) -> float:
    hooks = [each.lifecycle.pre_stop for each in pod.spec.containers if each.lifecycle and each.lifecycle.pre_stop]
    return max((hook.seconds for hook in hooks), default=0.0)


def back_off(times: int) -> float:
    """The pause before something that failed so many times in a row is tried again."""
    return float(min(_BACK_OFF_FIRST * 2.0 ** max(0, min(times - 1, 60)), _BACK_OFF_LONGEST))


# Reading stages from YAML trees


class _When(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    state: PodState
    images: tuple[str, ...] = ()
    not_images: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    node_labels: dict[str, str] = {}
    namespaces: tuple[str, ...] = ()
    share: str = "100%"
    of: Literal["nodes", "pods"] = "nodes"


class _Next(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    state: PodState
    exit_code: int = 1
    reason: str = "Error"
    message: str = ""
    phase: Literal["Failed", "Succeeded"] = "Failed"
    node_conditions: dict[str, Literal["True", "False"]] = {}


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    when: _When
    next: PodState | _Next
    delay: str | int | float = 0
    weight: int = 1


def read_stages(tree: Any, bad_images: Sequence[str] = ()) -> Layer:
    """The stages of a parsed YAML file (`stages: [...]`); `$badImages` stands for the given patterns."""
    lines = tree.get("stages", [] if "nodes" in tree else None) if isinstance(tree, dict) else None
    if not isinstance(lines, list):
        raise InvalidStages("a stage file holds a list named 'stages'")
    return tuple(_read_stage(line, number, bad_images) for number, line in enumerate(lines, 1))


def _read_stage(line: Any, number: int, bad_images: Sequence[str]) -> Stage:
    try:
        read = msgspec.convert(line, _Line)
        when, outcome = read.when, read.next
        if not isinstance(outcome, _Next):
            outcome = _Next(outcome)
        selection = Selection(
            state=when.state,
            images=_patterns(when.images, bad_images),
            not_images=_patterns(when.not_images, bad_images),
            nodes=when.nodes,
            labels=when.labels,
            node_labels=when.node_labels,
            namespaces=when.namespaces,
            share=read_share(when.share),
            of=when.of,
        )
        result = Outcome(
            outcome.state,
            outcome.exit_code,
            outcome.reason,
            outcome.message,
            outcome.phase,
            outcome.node_conditions,
        )
        return Stage(read.name, selection, result, read_delay(read.delay), read.weight)
    except (msgspec.ValidationError, InvalidStages) as error:
        raise InvalidStages(f"stage {number}: {error}") from error


def _patterns(written: Sequence[str], bad_images: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern for each in written for pattern in (bad_images if each == "$badImages" else (each,)))


def read_share(text: str) -> float:
    """A share as stage files write it: `2%`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
    if match is None or float(match[1]) > 100:
        raise InvalidStages(f"a share is written like 2%, not {text!r}")
    return float(match[1]) / 100


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPECIALS: tuple[Special, ...] = ("readiness", "termination", "restart-back-off", "pull-back-off")


def read_delay(text: str | int | float) -> Delay:
    """A delay as stage files write it: `3s`, `500ms..2s`, `readiness`, `1s..2s + termination`."""
    if not isinstance(text, str):
        return Delay(float(text), float(text))
    special: Special = ""
    least = most = 0.0
    for part in text.split("+"):
        word = part.strip()
        if word in _SPECIALS:
            special = next(each for each in _SPECIALS if each == word)
            continue
        first, _, last = word.partition("..")
        least, most = _seconds(first), _seconds(last or first)
        if most < least:
            raise InvalidStages(f"the delay {word!r} ends before it begins")
    return Delay(least, most, special)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text.strip())
    if match is None:
        raise InvalidStages(f"a delay is written like 3s, 500ms..2s or readiness, not {text!r}")
    return float(match[1]) * _UNITS[match[2]]
