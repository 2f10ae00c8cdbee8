"""A world: a whole cluster on virtual time, from one seed, with everything between its parts in our hands.

Each component is a process of its own: it reaches the server through a door with faults and a gate that can shut. The
server can be killed and found again from its database. Every commit is made part of the truth and checked at once.
The same seed gives the same world, to the last line of its story.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eachnode.client.door import Door
from eachnode.client.faulty import Faults, Faulty
from eachnode.controllers.daemonset import DaemonSetController
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions, Component
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import Resource
from eachnode.runtime.leader import LeaderElection
from eachnode.simulation.at_rest import waiting_in_vain
from eachnode.simulation.gates import Gate, Ledger, Memory
from eachnode.simulation.invariants import ALWAYS
from eachnode.simulation.schedule import CALM, Episode
from eachnode.simulation.seeds import Seeds
from eachnode.simulation.story import Story, listening
from eachnode.simulation.time_of_day import SettableClock
from eachnode.simulation.truth import Commit, Truth

SLACK_CALM, SLACK_TROUBLED = 2.0, 120.0  # How old a loop's knowledge may be, in seconds, without and with faults.
LONGEST_WAIT = 30.0  # Seconds for which somebody may seem to wait in vain: while an answer takes its time.
PATIENCE_FOR_A_REQUEST = 30.0  # Seconds after which a process that sends nothing is killed all the same.
AFTERMATH = 120.0  # Seconds for which a fault that is over may still matter.


@dataclass(slots=True)
class Process:
    """The doors of one component, as long as it lives."""

    faulty: Faulty
    gate: Gate


class World:
    """A cluster, its doors, its truth and its story; an async context manager."""

    def __init__(self, options: ClusterOptions, seed: int, *, on_disk: bool = False, controllers: int = 1) -> None:
        self.seeds = Seeds(seed)
        self.story = Story()
        self.clock = SettableClock(self.seeds.of("clock"))
        self.ledger = Ledger()
        self.truth = Truth()
        self.violations: list[str] = []
        self.happened: Counter[str] = Counter()  # What went wrong, and how often.
        self.broken = asyncio.Event()
        self.invariants = [each(self.truth, self.ledger, self.slack) for each in ALWAYS]
        self._episodes: dict[str, list[Episode]] = {}  # What each process suffers from now.
        self._waiting: dict[str, float] = {}  # Who seems to wait in vain, and since when.
        self._processes: dict[str, Process] = {}
        self._lives: Counter[str] = Counter()
        self._troubled_until = float("-inf")
        self._stack = ExitStack()
        self._on_disk = on_disk
        self._server_is_up = True
        self._candidates = [f"controller-{number}" for number in range(1, controllers + 1)] if controllers > 1 else []
        self._candidate_tasks: dict[str, asyncio.Task[None]] = {}
        self.controllers: dict[str, DaemonSetController] = {}
        self._options = options
        self.cluster: EmbeddedCluster

    # Beginning and end

    async def __aenter__(self) -> World:
        self._stack.enter_context(listening(self.story, self._on_error))
        options = self._options
        if self._on_disk:
            options = replace(options, data_dir=Path(self._stack.enter_context(TemporaryDirectory())))
        if self._candidates:
            components: tuple[Component, ...] = tuple(each for each in options.components if each != "controller")
            options = replace(options, components=components)
        self.cluster = EmbeddedCluster(
            options, clock=self.clock, chance=self.seeds.of("cluster"), door_for=self._door_for
        )
        self.user = Gate(self.cluster.server, "user", self.ledger)
        self._follow()
        await self.cluster.start()
        for name in self._candidates:
            self._begin_candidate(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._candidate_tasks.values():
            task.cancel()
        await asyncio.gather(*self._candidate_tasks.values(), return_exceptions=True)
        await self.cluster.stop()
        self._stack.close()

    # Doors

    def _door_for(self, component: str, _: Door) -> Door:
        life = self._lives[component]
        self._lives[component] += 1
        gate = Gate(self.cluster.server, component, self.ledger)
        if not self._server_is_up:
            gate.lose_server()
        chance = self.seeds.of(f"faults of {component} {life}")
        faulty = Faulty(gate, self._faults_of(component), chance=chance, happened=self.happened)
        self._processes[component] = Process(faulty, gate)
        if component not in self.members("controller"):
            return faulty
        return Memory(faulty, component, lambda sentence: self.break_with(f"NothingTwice: {sentence}"))

    def _gates(self) -> Iterator[Gate]:
        yield self.user
        for name in sorted(self._processes):
            yield self._processes[name].gate

    # The truth

    def _follow(self) -> None:
        """See every commit of the server that there is now."""
        shelves = {id(served.shelf): served.shelf for served in self.cluster.server.registry}
        for shelf in shelves.values():
            shelf.follow(self._observer(shelf.resource))

    def _observer(self, resource: Resource) -> Callable[[Document | None, Document | None], None]:
        def see(old: Document | None, new: Document | None) -> None:
            document = new or old
            assert document is not None
            metadata = document.read(MetadataOnly).metadata
            key = metadata.key
            known = self.truth.versions.get((resource, key))
            if old is None and known is not None and new is not None:
                self._compare(resource, key, known, (metadata.uid, int(metadata.resource_version)))
                return
            commit = Commit(resource, key, old, new, asyncio.get_running_loop().time(), self.clock.now())
            self._check(commit)

        return see

    def _check(self, commit: Commit) -> None:
        self.truth.apply(commit)
        for invariant in self.invariants:
            for sentence in invariant.after(commit):
                self.break_with(f"{type(invariant).__name__}: {sentence}")
        self.look_for_the_waiting(commit.at)

    def look_for_the_waiting(self, at: float) -> None:
        """Nobody waits for long for an event that came; for a moment they may, while an answer is on its way."""
        waiting = {sentence for each in self._all_controllers() for sentence in waiting_in_vain(each)}
        self._waiting = {sentence: self._waiting.get(sentence, at) for sentence in sorted(waiting)}
        for sentence, since in self._waiting.items():
            if at - since > LONGEST_WAIT:
                self.break_with(f"NobodyWaitsInVain: {sentence}")

    def _all_controllers(self) -> Iterator[DaemonSetController]:
        yield from self.controllers.values()
        loop = self.cluster.loops.get("controller")
        if isinstance(loop, DaemonSetController):
            yield loop

    def break_with(self, sentence: str) -> None:
        """Something that must hold was broken."""
        if sentence not in self.violations:
            self.violations.append(sentence)
            self.story.tell("VIOLATION", sentence)
        self.broken.set()

    def _on_error(self, message: str) -> None:
        self.break_with(f"NoLoopFails: {message}")

    def _compare(self, resource: Resource, key: Key, known: tuple[str, int], found: tuple[str, int]) -> None:
        if known != found:
            self.break_with(
                f"NothingIsLost: {resource.plural} {key} came back at version {found[1]}, it was at {known[1]}"
            )

    # Trouble

    def slack(self) -> float:
        """How old the knowledge of a loop may be at this moment."""
        troubled = any(self._episodes.values()) or asyncio.get_running_loop().time() < self._troubled_until
        return SLACK_TROUBLED if troubled else SLACK_CALM

    def _trouble(self) -> None:
        self._troubled_until = asyncio.get_running_loop().time() + AFTERMATH

    def members(self, component: str) -> list[str]:
        """The processes that go by this name."""
        return self._candidates if component == "controller" and self._candidates else [component]

    def leader(self) -> str:
        """The controller that works now; the first one when none does."""
        return next(iter(sorted(self.controllers)), self.members("controller")[0])

    def add_faults(self, who: str, episode: Episode) -> None:
        """From now on the connection of this process suffers from this too."""
        self._episodes.setdefault(who, []).append(episode)
        self._set_faults(who)

    def remove_faults(self, who: str, episode: Episode) -> None:
        """The episode is over."""
        self._episodes[who].remove(episode)
        self._set_faults(who)

    def shut(self, who: str, resource: Resource | None) -> None:
        """From now on this process reaches nobody about this kind; None: about all of them again."""
        self._trouble()
        self._processes[who].gate.shut_to = resource

    def _set_faults(self, who: str) -> None:
        self._trouble()
        process = self._processes.get(who)
        if process is not None:
            process.faulty.faults = self._faults_of(who)

    def _faults_of(self, who: str) -> Faults:
        together: dict[str, Any] = {}
        for episode in self._episodes.get(who, ()):
            together.update(episode.faults)
        return replace(CALM, **together)

    async def kill(self, who: str, away: float, request: int = 0) -> None:
        """Kill a process in whatever it does, or amid its n-th request, and begin it anew after a while."""
        if who not in self._processes or who in self._away():
            return
        if request:
            gate = self._processes[who].gate
            await asyncio.wait({gate.die_at(request)}, timeout=PATIENCE_FOR_A_REQUEST)
            if gate is not self._processes[who].gate or who in self._away():
                return  # It was killed otherwise meanwhile.
        self._trouble()
        self.happened["killed amid a request" if request else "killed"] += 1
        self.story.tell("world", f"{who} is killed")
        self._processes[who].gate.close()
        if who in self._candidate_tasks:
            task = self._candidate_tasks.pop(who)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            await self.cluster.end(_component(who))
            self.cluster.loops.pop(_component(who), None)
        await asyncio.sleep(away)
        self._trouble()
        self.story.tell("world", f"{who} begins anew")
        if who in self._candidates:
            self._begin_candidate(who)
        else:
            self.cluster.begin(_component(who))

    def _away(self) -> set[str]:
        running = {*self.cluster.running, *self._candidate_tasks}
        return {who for who in self._processes if who not in running}

    async def restart_server(self, away: float) -> None:
        """Kill the server in whatever it does, and open it anew from its database."""
        if not self._server_is_up:
            return
        self._trouble()
        self.happened["server killed"] += 1
        self.story.tell("world", "the server is killed")
        self._server_is_up = False
        self.cluster.kill_server()
        for gate in self._gates():
            gate.lose_server()
        await asyncio.sleep(away)
        await self.cluster.reopen_server()
        self._look_for_losses()
        self._follow()
        self.story.tell("world", "the server is back, from its database")
        self._trouble()
        self._server_is_up = True
        for gate in self._gates():
            gate.find_server(self.cluster.server)

    def _look_for_losses(self) -> None:
        """Compare what the database gave back with all that was committed, and all that was acknowledged."""
        there = {
            (served.shelf.resource, stored.document.read(MetadataOnly).metadata.key): stored.version
            for served in self.cluster.server.registry
            for stored in served.shelf.listed()
        }
        for place, (_, version) in sorted(self.truth.versions.items(), key=_in_order):
            if place not in there:
                self.break_with(f"NothingIsLost: {place[0].plural} {place[1]} at version {version} is gone")
        for place, (uid, version) in sorted(self.ledger.acknowledged.items(), key=_in_order):
            known = self.truth.versions.get(place)
            if known is not None and known[0] == uid and there.get(place, 0) < version:
                self.break_with(f"NothingIsLost: {place[0].plural} {place[1]} was acknowledged at version {version}")

    def jump_clock(self, seconds: float) -> None:
        """Everybody's wall clock is set."""
        self._trouble()
        self.happened["clock set"] += 1
        self.story.tell("world", f"the clock jumps by {seconds:g} s")
        self.clock.jump(seconds)

    # Several controllers

    def _begin_candidate(self, name: str) -> None:
        self._candidate_tasks[name] = asyncio.create_task(self._stand(name), name=name)

    async def _stand(self, name: str) -> None:
        """One of several instances of the controller: it works while it leads."""
        while True:
            door = self._door_for(name, self.cluster.server)
            chance = self.seeds.of("cluster")
            election = LeaderElection(
                door,
                clock=self.clock,
                chance=chance,
                identity=name,
                name="eachnode-controller",
                namespace="kube-system",
            )
            fenced = election.fenced(door)

            async def lead(door: Door = fenced) -> None:
                self.controllers[name] = DaemonSetController(door, clock=self.clock, chance=self.seeds.of("cluster"))
                try:
                    await self.controllers[name].run()
                finally:
                    self.controllers.pop(name, None)

            try:
                await election.run(lead)
            except Exception:
                logging.getLogger("eachnode.simulation").exception("%s failed and begins anew", name)
            await asyncio.sleep(1.0)


def _component(who: str) -> Component:
    return who  # type: ignore[return-value]  # the names of processes without candidates are those of components


def _in_order(item: tuple[tuple[Resource, Key], object]) -> tuple[str, Key]:
    return item[0][0].qualified, item[0][1]
