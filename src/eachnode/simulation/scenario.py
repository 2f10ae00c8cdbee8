"""A scenario: a world to begin with, and what happens in it when, as a small YAML file.

    name: a rollout
    about: One sentence about what it shows.
    nodes: 6
    steps:
      - apply: [{daemonSet: d, image: "agent:1"}]
      - {expect: {complete: true}, within: 2m}
      - {at: 3m, setImage: {d: "agent:2"}}
      - {expect: {complete: true}, within: 5m}

A step happens at its moment (`at`, counted from the beginning), or as soon as the one before it is done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from eachnode.embedded.options import COMPONENTS
from eachnode.simulation.schedule import FAULT_NAMES, Episode
from eachnode.simulation.time_of_day import parse_duration

Duration = Annotated[str | int | float, "a duration"]


class InvalidScenario(ValueError):
    """A scenario that cannot be understood; the sentence says where and what."""


class Expectation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A condition on the world; all that is given must hold at the same time."""

    complete: bool | None = None  # Every DaemonSet runs where it should, and its status says so.
    daemon_set: str = ""
    status: dict[str, int] = {}  # Counters of its status.
    images: dict[str, int] = {}  # So many of its pods that are available run this image.
    at_least_images: dict[str, int] = {}
    pods: int | None = None  # So many pods of it exist.


class Step(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One thing that happens."""

    at: Duration | None = None
    after: Duration = 0  # A pause before the step.
    apply: list[dict[str, Any]] = []
    patch: dict[str, dict[str, Any]] = {}  # "daemonset/d" → merge patch.
    delete: list[str] = []
    set_image: dict[str, str] = {}
    add_nodes: int = 0
    nodes: list[str] = []  # Which nodes stop, start, …; or `zone`.
    zone: str = ""
    act: Literal["", "stop", "start", "reboot", "remove", "cordon", "uncordon", "drain"] = ""
    taint: str = ""  # key=value:Effect to put on `nodes`.
    untaint: str = ""  # The key of a taint to take away.
    kill: str = ""  # A component, which comes back after `away`.
    cut_off: str = ""  # A component that reaches nobody for `away`; "leader" is the controller that leads.
    lose_lease: str = ""  # A controller whose lease is not renewed for `away`, though all else arrives.
    restart_server: bool = False
    jump_clock: Duration | None = None
    away: Duration = 5
    expect: Expectation | None = None
    never: Expectation | None = None  # Must not hold at any moment of the time `within`.
    within: Duration = "2m"


class FaultLine(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Faults that belong to the scenario itself."""

    start: Duration
    until: Duration
    of: list[str]
    faults: dict[str, float | bool]


class Scenario(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A world and what happens in it."""

    name: str
    about: str
    steps: list[Step]
    nodes: int = 6
    node_template: dict[str, Any] | None = None
    timing: Literal["instant", "lifelike"] = "lifelike"
    pace: float = 1.0
    stages: list[dict[str, Any]] = []
    heartbeat: Duration = 10
    controllers: int = 1
    without: list[str] = []
    faults: list[FaultLine] = []
    chaos: bool = True  # Whether the seed may draw faults of its own.
    chaos_until: Duration = "1m"
    restarts: bool = False  # Whether the seed may draw a restart of the server.
    every: Duration = 0  # In a longer run (--until) the steps begin anew after so long; 0: they happen once.
    settles: bool = True  # Whether everything is complete in the end.
    settle_within: Duration = "10m"
    rest_for: Duration = "7m"  # Longer than any patience of a loop (5 minutes for an expected pod).
    rests: bool = True  # Whether nobody writes anything any more in the end.
    at_most_writes: dict[str, int] = {}  # Component → writes in the whole run.

    def __post_init__(self) -> None:
        unknown = [each for each in self.without if each not in COMPONENTS]
        unknown += [each for line in self.faults for each in line.of if each not in COMPONENTS]
        if unknown:
            raise ValueError(f"there is no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}")
        for line in self.faults:
            for fault in line.faults:
                if fault not in FAULT_NAMES:
                    raise ValueError(f"there is no fault {fault!r}; there are {', '.join(FAULT_NAMES)}")

    @property
    def needs_disk(self) -> bool:
        """Whether the server is to find its database again."""
        return self.restarts or any(step.restart_server for step in self.steps)

    @property
    def own_faults(self) -> tuple[Episode, ...]:
        """The faults that happen whatever the seed."""
        return tuple(
            Episode(parse_duration(line.start), parse_duration(line.until), who, dict(line.faults))
            for line in self.faults
            for who in line.of
        )


def read_scenario(path: Path) -> Scenario:
    """The scenario of a file; raises InvalidScenario."""
    try:
        tree = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InvalidScenario(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidScenario(f"{path}: is no YAML: {error}") from error
    return scenario_from(tree, str(path))


def scenario_from(tree: Any, origin: str = "the scenario") -> Scenario:
    """The scenario that this tree says; raises InvalidScenario."""
    try:
        scenario = msgspec.convert(tree, Scenario)
        for step in scenario.steps:
            for each in (step.at, step.after, step.jump_clock, step.away, step.within):
                if each is not None:
                    parse_duration(each)
        for line in (*scenario.faults,):
            parse_duration(line.start), parse_duration(line.until)
        for each in (
            scenario.heartbeat, scenario.chaos_until, scenario.settle_within, scenario.rest_for, scenario.every,
        ):  # fmt: skip
            parse_duration(each)
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidScenario(f"{origin}: {error}") from error
    return scenario
