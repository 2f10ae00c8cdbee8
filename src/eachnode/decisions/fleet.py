"""The fleet: all slots of one DaemonSet, kept up to date slot by slot, with a tally of what they are.

A change touches the slots it concerns; `refresh` reads those again, and those whose reading changes by the passing of
time, and moves their contributions in the tally. So an event costs the same with ten nodes and with ten thousand.
Each slot knows when its reading next changes by itself; the earliest of these is the fleet's next wake-up. It follows
from the state, so it cannot be lost.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator

from eachnode.decisions.backoff import Backoff, BackoffOptions
from eachnode.decisions.eligibility import Placement, judge
from eachnode.decisions.placement import settle
from eachnode.decisions.slots import NEVER, Aim, Reading, Role, Slot, State, classify, next_availability
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod


class SortedNames:
    """A set of node names that is read in order."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: list[str] = []

    def add(self, name: str) -> None:
        """Put a name in that is not in yet."""
        insort(self._names, name)

    def remove(self, name: str) -> None:
        """Take a name out that is in."""
        del self._names[bisect_left(self._names, name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# The roles whose slots a rollout has to find by name; of the others it needs the number only.
_NAMED_ROLES = (Role.BROKEN, Role.OUTDATED, Role.OVERTAKEN)


class Tally:
    """What the readings of all slots add up to."""

    def __init__(self) -> None:
        self.states: Counter[State] = Counter()
        self.roles: Counter[Role] = Counter()
        self.desired = self.scheduled = self.misscheduled = 0
        self.ready = self.available = self.updated = 0
        self.still_serving = 0
        self.unsettled = SortedNames()
        self._by_role = {role: SortedNames() for role in _NAMED_ROLES}

    def nodes_in(self, role: Role) -> SortedNames:
        """The slots in one of the roles that a rollout acts upon."""
        return self._by_role[role]

    def move(self, node: str, old: Reading | None, new: Reading | None) -> None:
        """One slot is read differently, or for the first time, or is no more."""
        if old is not None:
            self._count(old, -1)
            if old.unsettled:
                self.unsettled.remove(node)
            if old.role in self._by_role:
                self._by_role[old.role].remove(node)
        if new is not None:
            self._count(new, 1)
            if new.unsettled:
                self.unsettled.add(node)
            if new.role in self._by_role:
                self._by_role[new.role].add(node)

    def _count(self, reading: Reading, step: int) -> None:
        self.states[reading.state] += step
        self.roles[reading.role] += step
        self.still_serving += step * reading.still_serves
        if not reading.wanted:
            self.misscheduled += step * (reading.present and reading.state is not State.STRANDED)
            return
        self.desired += step
        if reading.present:
            self.scheduled += step
            self.ready += step * reading.ready
            self.available += step * reading.available
            self.updated += step * reading.current

    def summary(self) -> dict[str, object]:
        """All of it as plain values: two tallies are equal when these are."""
        return {
            "states": {state: count for state, count in self.states.items() if count},
            "roles": {role: count for role, count in self.roles.items() if count},
            "unsettled": list(self.unsettled),
            **{role: list(names) for role, names in self._by_role.items()},
            **{
                name: getattr(self, name)
                for name in ("desired", "scheduled", "misscheduled", "ready", "available", "updated", "still_serving")
            },
        }


class Fleet:
    """All slots of one DaemonSet."""

    def __init__(self, placement: Placement, aim: Aim, backoff: BackoffOptions | None = None) -> None:
        self.placement = placement
        self.aim = aim
        self.backoff = Backoff(backoff)
        self.slots: dict[str, Slot] = {}
        self.pods: dict[str, Pod] = {}  # All that are claimed, by uid; also those that no node can be told of.
        self.revisions_in_use: Counter[str] = Counter()  # Hash labels of claimed pods that have a target.
        self.tally = Tally()
        self._touched: dict[str, None] = {}
        self._alarms: list[tuple[float, str]] = []

    # What happens

    def see_node(self, node: Node) -> bool:
        """The node is there, with these labels and taints; answers whether that makes a difference."""
        verdict, unreachable = judge(self.placement, node), node.is_unreachable
        slot = self.slots.get(node.name)
        if slot is None:
            slot = self.slots[node.name] = Slot(node.name)
        elif slot.verdict == verdict and slot.unreachable == unreachable:
            return False
        was_wanted = slot.wanted
        slot.verdict, slot.unreachable = verdict, unreachable
        self._touched[node.name] = None
        return was_wanted or slot.wanted or bool(slot.pods)

    def lose_node(self, name: str) -> bool:
        """The node is gone; answers whether that makes a difference."""
        slot = self.slots.get(name)
        if slot is None or slot.verdict is None:
            return False
        mattered = slot.wanted or bool(slot.pods)
        slot.verdict, slot.unreachable = None, False
        self.backoff.forget(name)
        self._touched[name] = None
        return mattered

    def see_pod(self, pod: Pod) -> None:
        """The pod is ours, and as it now is."""
        before = self.pods.get(pod.uid)
        if before is not None:
            self._take_out(before)
        self.pods[pod.uid] = pod
        target = pod.target
        if not target:
            return
        slot = self.slots.get(target)
        if slot is None:
            slot = self.slots[target] = Slot(target)
        slot.put(pod)
        self.revisions_in_use[pod.revision_hash] += 1
        self._touched[target] = None

    def lose_pod(self, uid: str) -> bool:
        """The pod is gone, or no longer ours; answers whether it was."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return False
        self._take_out(pod)
        return True

    def _take_out(self, pod: Pod) -> None:
        target = pod.target
        if target:
            self.slots[target].drop(pod.uid)
            self.revisions_in_use[pod.revision_hash] -= 1
            self._touched[target] = None

    def place(self, placement: Placement, nodes: Iterable[Node]) -> None:
        """The template's placement part is another one: all nodes are judged again."""
        self.placement = placement
        for node in nodes:
            self.see_node(node)

    def take_aim(self, aim: Aim) -> None:
        """The DaemonSet wants something else of its slots, or its current revision is another one."""
        old, self.aim = self.aim, aim
        if (old.revision, old.generation, old.min_ready_seconds, old.surges) != (
            aim.revision,
            aim.generation,
            aim.min_ready_seconds,
            aim.surges,
        ):
            self._touched.update(dict.fromkeys(self.slots))
        elif old.observed_generation != aim.observed_generation:
            self._touched.update(dict.fromkeys(node for node in self.backoff.nodes() if node in self.slots))

    def failed_pod_goes(self, node: str, now: float) -> None:
        """It is decided that a failed pod on this node is removed: its back-off window opens."""
        self.backoff.advance(node, self.aim.observed_generation, now)
        if node in self.slots:
            self._touched[node] = None

    # What it amounts to

    def refresh(self, now: float) -> None:
        """Read again whatever was touched, and whatever has changed by the passing of time."""
        while self._alarms and self._alarms[0][0] <= now:
            _, node = heapq.heappop(self._alarms)
            if node in self.slots:
                self._touched[node] = None
        for node in self._touched:
            self._read(self.slots[node], now)
        self._touched.clear()

    def _read(self, slot: Slot, now: float) -> None:
        old = slot.reading
        if slot.verdict is None and not slot.pods:
            self.tally.move(slot.node, old, None)
            del self.slots[slot.node]
            return
        settlement = settle(slot, self.aim, self.backoff, now)
        new = classify(slot, self.aim, now, unsettled=not settlement.is_empty)
        if new != old:
            self.tally.move(slot.node, old, new)
            slot.reading = _SHARED.setdefault(new, new)
        until = min(settlement.until, next_availability(slot.pods, self.aim, now)) if slot.pods else NEVER
        if until != slot.until:
            slot.until = until
            if until < NEVER:
                heapq.heappush(self._alarms, (until, slot.node))

    @property
    def next_change(self) -> float:
        """When something changes by itself, if nothing happens before; NEVER when nothing will."""
        while self._alarms:
            when, node = self._alarms[0]
            slot = self.slots.get(node)
            if slot is not None and slot.until == when:
                return when
            heapq.heappop(self._alarms)
        return NEVER


_SHARED: dict[Reading, Reading] = {}  # Thousands of slots are read alike; they share their readings.
