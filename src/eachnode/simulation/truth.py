"""What is really so: the committed state, seen from outside all loops, with the past that judging them needs.

A loop acts upon what it has seen, which is always a little old. So the truth remembers since when a node has been
welcoming or refusing a template, and what the budget was: a loop is to blame only for what it could have known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from eachnode.decisions.eligibility import Placement, Verdict, judge
from eachnode.decisions.history import same_meaning
from eachnode.decisions.rollout import BadBudget, Budget, budget
from eachnode.objects.daemonset import ON_DELETE, DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, Resource
from eachnode.objects.revision import ControllerRevision

REMEMBERED = 256  # Budgets of one DaemonSet.


@dataclass(frozen=True, slots=True)
class Commit:
    """One committed change of one object."""

    resource: Resource
    key: Key
    old: Document | None
    new: Document | None
    at: float  # On the world's loop.
    now: float  # On the world's wall clock.


@dataclass(slots=True)
class Station:
    """One node as one DaemonSet's template judges it."""

    verdict: Verdict
    since: float  # Since when it has been wanted, or not wanted.


@dataclass(slots=True)
class Daemons:
    """One DaemonSet and all that belongs to it."""

    daemonset: DaemonSet
    placement: Placement
    stations: dict[str, Station] = field(default_factory=dict)
    pods: dict[str, dict[Key, Pod]] = field(default_factory=dict)  # By node.
    revisions: dict[Key, ControllerRevision] = field(default_factory=dict)
    wanted: int = 0
    budgets: deque[tuple[float, Budget]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    served: dict[str, dict[Key, float]] = field(default_factory=dict)  # Node → pods, and when each was last available.

    @property
    def key(self) -> Key:
        """Its name."""
        return self.daemonset.metadata.key

    def on(self, node: str) -> Iterator[Pod]:
        """Its pods there."""
        return iter(self.pods.get(node, {}).values())

    def is_available(self, pod: Pod, now: float) -> bool:
        """Whether the pod counts as available."""
        since = pod.available_since(self.daemonset.spec.min_ready_seconds)
        return since is not None and since <= now and not pod.is_over

    def serves(self, node: str, now: float) -> bool:
        """Whether a pod that stays is available there."""
        return any(self.is_available(pod, now) and not pod.is_terminating for pod in self.on(node))

    def out_since(self, node: str, now: float) -> float | None:
        """Since when a wanted node has had no available pod; None when it has one or needs none."""
        station = self.stations.get(node)
        if station is None or not station.verdict.should_run or self.serves(node, now):
            return None
        return max([station.since, *self.served.get(node, {}).values()])

    def note_who_serves(self, nodes: Iterable[str], at: float, now: float) -> None:
        """Remember which pods of these nodes are available until now: what comes next may end it."""
        for node in nodes:
            for pod in self.on(node):
                if self.is_available(pod, now) and not pod.is_terminating:
                    self.served.setdefault(node, {})[pod.metadata.key] = at

    def is_wanted(self, node: str) -> bool:
        """Whether a pod is wanted there now."""
        station = self.stations.get(node)
        return station is not None and station.verdict.should_run

    def allowed(self, since: float) -> Budget:
        """The largest budget that held at any moment since then."""
        largest = self.budgets[-1][1]
        until = float("inf")
        for at, each in reversed(self.budgets):
            if until < since:
                break
            largest = Budget(max(largest.unavailable, each.unavailable), max(largest.surge, each.surge))
            until = at
        return largest

    def current(self) -> ControllerRevision | None:
        """The newest revision that means what the template means."""
        template = bytes(self.daemonset.spec.template)
        meant = [each for each in self.revisions.values() if same_meaning(template, bytes(each.data))]
        return max(meant, key=lambda each: each.revision, default=None)

    def count(self, at: float) -> None:
        """Note what the budget is now."""
        self.wanted = sum(station.verdict.should_run for station in self.stations.values())
        strategy = self.daemonset.spec.update_strategy
        try:
            now = Budget(0, 0) if strategy.type == ON_DELETE else budget(strategy, self.wanted)
        except BadBudget:
            now = Budget(0, 0)
        if not self.budgets or self.budgets[-1][1] != now:
            self.budgets.append((at, now))


class Truth:
    """All that was committed."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.daemons: dict[str, Daemons] = {}  # By uid.
        self.versions: dict[tuple[Resource, Key], tuple[str, int]] = {}  # uid and version of every object there is.
        self.born: dict[Key, float] = {}  # When each pod was created, on the world's loop.
        self._placed_since: dict[str, float] = {}  # When a node's labels or taints last changed.
        self._strays: dict[
            str, dict[Key, Pod | ControllerRevision]
        ] = {}  # Of owners that are not (or no longer) there.

    def of(self, pod: Pod | ControllerRevision) -> Daemons | None:
        """The DaemonSet it belongs to."""
        owner = pod.metadata.controller
        return self.daemons.get(owner.uid) if owner is not None else None

    def named(self, name: str, namespace: str = "default") -> Daemons | None:
        """A DaemonSet by its name."""
        return next((each for each in self.daemons.values() if each.key == Key(namespace, name)), None)

    def left_behind(self) -> Iterator[Key]:
        """Pods and revisions of DaemonSets that are gone."""
        for things in self._strays.values():
            yield from things

    def apply(self, commit: Commit) -> None:
        """Make a commit part of the truth."""
        place = commit.resource, commit.key
        if commit.new is None:
            self.versions.pop(place, None)
        else:
            metadata = commit.new.read(MetadataOnly).metadata
            self.versions[place] = metadata.uid, int(metadata.resource_version)
        if commit.resource == NODES:
            self._node(commit)
        elif commit.resource == PODS:
            self._pod(commit)
        elif commit.resource == DAEMON_SETS:
            self._daemonset(commit)
        elif commit.resource == CONTROLLER_REVISIONS:
            self._revision(commit)

    def _node(self, commit: Commit) -> None:
        name = commit.key.name
        if commit.new is None:
            self.nodes.pop(name, None)
            for daemons in self.daemons.values():
                daemons.stations.pop(name, None)
                daemons.served.pop(name, None)
                daemons.count(commit.at)
            return
        node, before = commit.new.read(Node), self.nodes.get(name)
        self.nodes[name] = node
        if before is not None and node.is_placed_like(before):
            return
        self._placed_since[name] = commit.at
        for daemons in self.daemons.values():
            self._judge(daemons, node, commit.at)
            daemons.count(commit.at)

    @staticmethod
    def _judge(daemons: Daemons, node: Node, at: float) -> None:
        verdict = judge(daemons.placement, node)
        before = daemons.stations.get(node.name)
        if before is None or before.verdict.should_run != verdict.should_run:
            daemons.stations[node.name] = Station(verdict, at)
        else:
            before.verdict = verdict

    def _daemonset(self, commit: Commit) -> None:
        if commit.new is None:
            assert commit.old is not None
            gone = self.daemons.pop(commit.old.read(DaemonSet).uid, None)
            if gone is not None:
                left: dict[Key, Pod | ControllerRevision] = {**gone.revisions}
                left.update((key, pod) for pods in gone.pods.values() for key, pod in pods.items())
                self._strays[gone.daemonset.uid] = left
            return
        daemonset = commit.new.read(DaemonSet)
        daemons = self.daemons.get(daemonset.uid)
        placement = Placement.of(daemonset.template)
        is_new = daemons is None
        if daemons is None:
            daemons = self.daemons[daemonset.uid] = Daemons(daemonset, placement)
            for stray in self._strays.pop(daemonset.uid, {}).values():
                self._put(daemons, stray)
        elif bytes(daemons.daemonset.spec_text) == bytes(daemonset.spec_text):
            daemons.daemonset = daemonset
            return
        daemons.note_who_serves(daemons.pods, commit.at, commit.now)
        daemons.daemonset, daemons.placement = daemonset, placement
        for node in self.nodes.values():
            # Whoever acts upon a new DaemonSet has read its template; only of the node can it know an older state.
            self._judge(daemons, node, self._placed_since[node.name] if is_new else commit.at)
        daemons.count(commit.at)

    def _pod(self, commit: Commit) -> None:
        if commit.old is None:
            self.born[commit.key] = commit.at
        else:
            old = commit.old.read(Pod)
            daemons = self.of(old)
            if daemons is not None:
                daemons.note_who_serves((old.target,), commit.at, commit.now)
            self._take_out(old)
        if commit.new is not None:
            self._see(commit.new.read(Pod))

    def _revision(self, commit: Commit) -> None:
        if commit.old is not None:
            self._take_out(commit.old.read(ControllerRevision))
        if commit.new is not None:
            self._see(commit.new.read(ControllerRevision))

    def _see(self, thing: Pod | ControllerRevision) -> None:
        owner = thing.metadata.controller
        if owner is None or owner.kind != DAEMON_SETS.kind:
            return
        daemons = self.daemons.get(owner.uid)
        if daemons is None:
            self._strays.setdefault(owner.uid, {})[thing.metadata.key] = thing
        else:
            self._put(daemons, thing)

    @staticmethod
    def _put(daemons: Daemons, thing: Pod | ControllerRevision) -> None:
        if isinstance(thing, Pod):
            daemons.pods.setdefault(thing.target, {})[thing.metadata.key] = thing
        else:
            daemons.revisions[thing.metadata.key] = thing

    def _take_out(self, thing: Pod | ControllerRevision) -> None:
        owner, key = thing.metadata.controller, thing.metadata.key
        daemons = self.daemons.get(owner.uid) if owner is not None else None
        if daemons is None:
            if owner is not None:
                self._strays.get(owner.uid, {}).pop(key, None)
        elif isinstance(thing, Pod):
            daemons.pods.get(thing.target, {}).pop(key, None)
        else:
            daemons.revisions.pop(key, None)
