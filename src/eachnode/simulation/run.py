"""One run: a scenario, a seed and the trouble drawn from it, from the first moment until everything is at rest."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eachnode.controllers.kubelet import KubeletOptions
from eachnode.decisions.pod_stages.stages import read_stages
from eachnode.embedded.options import COMPONENTS, ClusterOptions, Component
from eachnode.runtime.virtual_time import Deadlock, Livelock, VirtualTimeLoop
from eachnode.simulation.at_rest import restless, unsettled
from eachnode.simulation.scenario import Scenario
from eachnode.simulation.schedule import Episode, Trouble, draw
from eachnode.simulation.seeds import Seeds
from eachnode.simulation.steps import Performer
from eachnode.simulation.story import Line
from eachnode.simulation.time_of_day import parse_duration
from eachnode.simulation.world import World

BREATH = 60.0  # Seconds after all has settled in which the last echoes may be written: events, taints, back-off.


@dataclass(slots=True)
class Outcome:
    """How a run went."""

    scenario: str
    seed: int
    troubles: tuple[Trouble, ...]
    violations: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    lasted: float = 0.0  # Virtual seconds.
    calls: dict[str, int] = field(default_factory=dict)  # Writes of each component.
    happened: Counter[str] = field(default_factory=Counter)  # What went wrong, and how often.

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return not self.violations


def simulate(
    scenario: Scenario, seed: int, *, troubles: Sequence[Trouble] | None = None, until: float = 0.0
) -> Outcome:
    """Live through a scenario; `troubles` instead of those drawn from the seed, `until` to go on for longer."""
    if troubles is None:
        troubles = troubles_of(scenario, seed, until)
    outcome = Outcome(scenario.name, seed, tuple(troubles))
    level = logging.getLogger("asyncio").level
    logging.getLogger("asyncio").setLevel(
        logging.CRITICAL
    )  # What it says of a run that deadlocked is said better here.
    try:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(_Run(scenario, outcome, until).live())
    except (Deadlock, Livelock) as error:
        outcome.violations.append(f"NothingStandsStill: {error}")
    finally:
        logging.getLogger("asyncio").setLevel(level)
    return outcome


def troubles_of(scenario: Scenario, seed: int, until: float = 0.0) -> tuple[Trouble, ...]:
    """The scenario's own troubles, and those that the seed brings."""
    if not scenario.chaos:
        return scenario.own_faults
    components = [each for each in COMPONENTS if each not in scenario.without]
    horizon = max(until, parse_duration(scenario.chaos_until))
    drawn = draw(Seeds(seed).of("troubles"), components, horizon, restarts=scenario.restarts)
    return (*scenario.own_faults, *drawn)


class _Run:
    """One run in the making."""

    def __init__(self, scenario: Scenario, outcome: Outcome, until: float) -> None:
        self._scenario = scenario
        self._outcome = outcome
        self._until = until
        self._world = World(
            _options(scenario), outcome.seed, on_disk=scenario.needs_disk, controllers=scenario.controllers
        )

    async def live(self) -> None:
        """From beginning to end, or to the first violation."""
        world, outcome = self._world, self._outcome
        outcome.lines, outcome.violations, outcome.happened = world.story.lines, world.violations, world.happened
        try:
            async with world:
                life = asyncio.create_task(self._life())
                broken = asyncio.create_task(world.broken.wait())
                await asyncio.wait({life, broken}, return_when=asyncio.FIRST_COMPLETED)
                broken.cancel()
                if not life.done():
                    life.cancel()
                    await asyncio.wait({life})
                elif life.exception() is not None:
                    world.break_with(f"the scenario could not go on: {life.exception()!r}")
                outcome.lasted = asyncio.get_running_loop().time()
        finally:
            for (who, verb, _), count in sorted(world.ledger.calls.items()):
                if verb not in ("get", "list", "watch"):
                    outcome.calls[who] = outcome.calls.get(who, 0) + count

    async def _life(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for trouble in self._outcome.troubles:
                group.create_task(self._suffer(trouble))
            group.create_task(Performer(self._world, self._scenario).perform(self._until))
        await asyncio.sleep(max(0.0, self._until - loop.time()))
        self._world.story.tell("world", "all troubles are over")
        if self._scenario.settles:
            await self._settle()
        if self._scenario.rests and not self._world.violations:
            await self._rest()
        self._judge_calls()

    async def _suffer(self, trouble: Trouble) -> None:
        world = self._world
        await asyncio.sleep(max(0.0, trouble.start - asyncio.get_running_loop().time()))
        world.story.tell("world", f"trouble: {trouble}")
        if isinstance(trouble, Episode):
            names = world.members(trouble.who)
            for who in names:
                world.add_faults(who, trouble)
            await asyncio.sleep(trouble.until - trouble.start)
            for who in names:
                world.remove_faults(who, trouble)
        elif trouble.what == "kill":
            for who in world.members(trouble.who)[:1]:
                await world.kill(who, trouble.away, trouble.request)
        elif trouble.what == "set-clock":
            world.jump_clock(trouble.jump)
        else:
            await world.restart_server(trouble.away)

    async def _settle(self) -> None:
        """Wait until every DaemonSet is complete, and not for ever."""
        world, bound = self._world, parse_duration(self._scenario.settle_within)
        deadline = asyncio.get_running_loop().time() + bound
        while lacking := list(unsettled(world.truth, world.clock.now())):
            if asyncio.get_running_loop().time() >= deadline:
                world.break_with(f"EverythingSettles: not within {bound:g} s: {'; '.join(lacking[:4])}")
                return
            await asyncio.sleep(0.5)
        world.story.tell("world", "everything has settled")

    async def _rest(self) -> None:
        """Once settled, nobody has anything left to write."""
        world, rest = self._world, parse_duration(self._scenario.rest_for)
        await asyncio.sleep(BREATH)
        before = world.ledger.calls.copy()
        await asyncio.sleep(rest)
        world.look_for_the_waiting(asyncio.get_running_loop().time())
        written = restless((world.ledger.calls - before).elements())
        if written:
            world.break_with(f"EverythingRests: {len(written)} writes in {rest:g} s of rest: {', '.join(written[:4])}")
        if self._scenario.settles:
            for sentence in unsettled(world.truth, world.clock.now()):
                world.break_with(f"EverythingSettles: no longer: {sentence}")

    def _judge_calls(self) -> None:
        for who, most in self._scenario.at_most_writes.items():
            writes = sum(
                count
                for (name, verb, kind), count in self._world.ledger.calls.items()
                if name == who and verb not in ("get", "list", "watch") and kind not in ("events", "leases")
            )
            if writes > most:
                self._world.break_with(f"NoHotLoop: {who} sent {writes} writes, {most} at most were expected")


def _options(scenario: Scenario) -> ClusterOptions:
    chaos: tuple[Any, ...] = (read_stages({"stages": scenario.stages}),) if scenario.stages else ()
    kubelet = KubeletOptions(
        timing=scenario.timing,
        pace=scenario.pace,
        chaos=chaos,
        lease_every=parse_duration(scenario.heartbeat),
        events=False,
    )
    components: tuple[Component, ...] = tuple(each for each in COMPONENTS if each not in scenario.without)
    return ClusterOptions(
        components=components, nodes=scenario.nodes, node_template=scenario.node_template, kubelet=kubelet
    )
