"""What must always hold, checked from outside after every commit; each check says in a sentence what was broken.

To add one: write a class with an `after`, put it into `ALWAYS`, and give it in tests/simulation/test_mutants.py a
mutant of production code that it catches. A check that nothing can break is no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from eachnode.decisions.rollout import may_surge
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from eachnode.objects.revision import ControllerRevision
from eachnode.simulation.gates import Ledger
from eachnode.simulation.time_of_day import EARLY
from eachnode.simulation.truth import Commit, Daemons, Truth

Slack = Callable[[], float]  # How many seconds old the knowledge of a loop may be at this moment.


class Invariant(Protocol):
    """Something that must hold after every commit."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:
        """Every one is made from the same three, and takes of them what it needs."""

    def after(self, commit: Commit) -> Iterator[str]:
        """What the commit broke; the truth holds it already."""
        ...


class OneServingPodOnEachNode:
    """Without surge no two pods of one DaemonSet serve on a node, with surge no more than two."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth = truth
        self._surged: dict[str, float] = {}  # DaemonSets by uid: when they were last seen surging.

    def after(self, commit: Commit) -> Iterator[str]:
        """A pod became ready beside another."""
        if commit.resource == DAEMON_SETS and commit.old is not None:
            before = commit.old.read(DaemonSet)
            if may_surge(before.spec.update_strategy):
                self._surged[before.uid] = commit.at
        if commit.resource != PODS or commit.new is None:
            return
        pod = commit.new.read(Pod)
        daemons = self._truth.of(pod)
        if daemons is None or not pod.is_ready or pod.target not in self._truth.nodes:
            return
        serving = [each.name for each in daemons.on(pod.target) if each.is_ready and not each.is_over]
        surges = daemons.daemonset.uid in self._surged or may_surge(daemons.daemonset.spec.update_strategy)
        if len(serving) > (2 if surges else 1):
            yield f"{len(serving)} pods of {daemons.key} serve on {pod.target}: {', '.join(sorted(serving))}"


class BudgetIsKept:
    """Never is an available pod removed by our hand while as much as the budget allows is out of service already.

    A slot is out of service by our hand from the moment at which the controller had its available pod removed until a
    pod of it is available there again. Slots that fall out of service by themselves are nobody's fault, but they count
    as soon as the controller can know of them. With surge a pod goes only when another serves in its place.
    """

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:
        self._truth, self._ledger, self._slack = truth, ledger, slack
        self._ours: dict[str, dict[str, None]] = {}  # DaemonSet uid → nodes.

    def after(self, commit: Commit) -> Iterator[str]:
        """A pod came, changed or went."""
        if commit.resource == NODES and commit.new is None:
            for nodes in self._ours.values():
                nodes.pop(commit.key.name, None)
        if commit.resource != PODS:
            return
        pod = _pod_of(commit)
        daemons = self._truth.of(pod)
        if daemons is None:
            return
        ours = self._ours.setdefault(daemons.daemonset.uid, {})
        node = pod.target
        old = commit.old.read(Pod) if commit.old is not None else None
        if old is not None and daemons.is_available(old, commit.now) and not old.is_terminating:
            ours.pop(node, None)  # It was back in service until now.
            if self._is_removed_by_us(commit) and self._is_surely_wanted(daemons, node, commit):
                yield from self._removed(daemons, old, ours, commit)
        if daemons.serves(node, commit.now):
            ours.pop(node, None)

    def _removed(self, daemons: Daemons, pod: Pod, ours: dict[str, None], commit: Commit) -> Iterator[str]:
        node = pod.target
        if daemons.serves(node, commit.now + EARLY):
            return
        ours[node] = None
        out = {each for each in ours if daemons.is_wanted(each)}
        allowed = daemons.allowed(commit.at - self._slack())
        limit = allowed.unavailable
        if self._seemed_replaceable(daemons, pod, commit):
            limit = max(limit, allowed.surge)
        else:
            out |= self._known_to_be_out(daemons, commit)
        if len(out) > limit:
            yield (
                f"{daemons.key}: {pod.name} was removed, with it {len(out)} are out of service"
                f" ({', '.join(sorted(out))}), {limit} allowed"
            )

    def _seemed_replaceable(self, daemons: Daemons, pod: Pod, commit: Commit) -> bool:
        """Whether a moment ago another pod served there, or this one did not serve yet."""
        since = pod.available_since(daemons.daemonset.spec.min_ready_seconds)
        assert since is not None  # It was available.
        if commit.now - since < self._slack():
            return True
        beside = [at for key, at in daemons.served.get(pod.target, {}).items() if key != commit.key]
        return any(commit.at - at < self._slack() for at in beside)

    def _known_to_be_out(self, daemons: Daemons, commit: Commit) -> set[str]:
        """Wanted nodes without an available pod for so long that the controller can know, the lost ones aside."""
        return {
            node
            for node in daemons.stations
            if (since := daemons.out_since(node, commit.now)) is not None
            and commit.at - since > self._slack()
            and not self._truth.nodes[node].is_unreachable
        }

    def _is_removed_by_us(self, commit: Commit) -> bool:
        going = commit.new is None or commit.new.read(Pod).is_terminating
        return going and self._ledger.deleters.get((PODS, commit.key), "").startswith("controller")

    def _is_surely_wanted(self, daemons: Daemons, node: str, commit: Commit) -> bool:
        """Whether the controller must know that the node welcomes the pod: by time, or because it created it since."""
        station = daemons.stations.get(node)
        if station is None or not station.verdict.should_run:
            return False
        return commit.at - station.since > self._slack() or self._truth.born[commit.key] > station.since


class SurgeIsKept:
    """Never are more nodes surging than the budget allowed: two pods side by side, the newer not yet available."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth, self._slack = truth, slack
        self._surging: dict[str, dict[str, None]] = {}

    def after(self, commit: Commit) -> Iterator[str]:
        """A pod came beside one that serves."""
        if commit.resource != PODS or commit.new is None or commit.old is not None:
            return
        pod = commit.new.read(Pod)
        daemons = self._truth.of(pod)
        if daemons is None or not may_surge(daemons.daemonset.spec.update_strategy):
            return
        if not daemons.serves(pod.target, commit.now):
            return
        surging = self._surging.setdefault(daemons.daemonset.uid, {})
        surging[pod.target] = None
        for node in [each for each in surging if not _is_surging(daemons, each, commit.now)]:
            del surging[node]
        limit = daemons.allowed(commit.at - self._slack()).surge
        if len(surging) > limit:
            yield f"{daemons.key}: {len(surging)} nodes surge ({', '.join(sorted(surging))}), {limit} allowed"


def _is_surging(daemons: Daemons, node: str, now: float) -> bool:
    alive = [pod for pod in daemons.on(node) if not pod.is_terminating and not pod.is_over]
    newest = max(alive, key=lambda each: (each.created, each.name), default=None)
    return len(alive) > 1 and newest is not None and not daemons.is_available(newest, now)


class NoSecondPod:
    """Nothing is created beside a pod that lives there already: with surge beside one of the same revision."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth = truth
        self._surged: set[str] = set()  # DaemonSets by uid that have had surge at any time.

    def after(self, commit: Commit) -> Iterator[str]:
        """A pod was created."""
        if commit.resource == DAEMON_SETS and commit.new is not None:
            daemonset = commit.new.read(DaemonSet)
            if may_surge(daemonset.spec.update_strategy):
                self._surged.add(daemonset.uid)
        if commit.resource != PODS or commit.old is not None or commit.new is None:
            return
        pod = commit.new.read(Pod)
        daemons = self._truth.of(pod)
        if daemons is None or pod.target not in self._truth.nodes:
            return
        for other in daemons.on(pod.target):
            if other.name == pod.name or other.is_terminating or other.is_over:
                continue
            if daemons.daemonset.uid not in self._surged or other.revision_hash == pod.revision_hash:
                yield f"{daemons.key}: pod {pod.name} was created on {pod.target}, where {other.name} lives"


class NoPodWhereRefused:
    """No pod is created on a node that had refused it for longer than it takes to see that."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth, self._slack = truth, slack

    def after(self, commit: Commit) -> Iterator[str]:
        """A pod was created."""
        if commit.resource != PODS or commit.old is not None or commit.new is None:
            return
        pod = commit.new.read(Pod)
        daemons = self._truth.of(pod)
        station = daemons.stations.get(pod.target) if daemons is not None else None
        if daemons is None or station is None or station.verdict.should_run:
            return
        if commit.at - station.since > self._slack():
            yield f"{daemons.key}: pod {pod.name} was created on {pod.target}, where {station.verdict.because}"


class ObservedIsNotAhead:
    """No status speaks of a generation that does not exist yet."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:
        """Needs nothing."""

    def after(self, commit: Commit) -> Iterator[str]:
        """A DaemonSet changed."""
        if commit.resource != DAEMON_SETS or commit.new is None:
            return
        daemonset = commit.new.read(DaemonSet)
        if daemonset.status.observed_generation > daemonset.metadata.generation:
            observed, real = daemonset.status.observed_generation, daemonset.metadata.generation
            yield f"{daemonset.metadata.key}: generation {observed} was observed, but it is {real}"


class DoneIsDone:
    """No status says that an update is complete while a node runs a pod of an older template alone."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth, self._slack = truth, slack

    def after(self, commit: Commit) -> Iterator[str]:
        """A status was written."""
        if commit.resource != DAEMON_SETS or commit.new is None:
            return
        daemonset = commit.new.read(DaemonSet)
        daemons, said = self._truth.daemons.get(daemonset.uid), daemonset.status.counts
        if daemons is None or daemonset.status.observed_generation != daemonset.metadata.generation:
            return
        if min(said.updated_number_scheduled, said.number_available) < said.desired_number_scheduled:
            return
        current = daemons.current()
        label = current.revision_hash if current is not None else None
        for node, station in daemons.stations.items():
            if not station.verdict.should_run or commit.at - station.since <= self._slack():
                continue
            hashes = {pod.revision_hash for pod in daemons.on(node)}
            if hashes and label not in hashes:
                yield f"{daemons.key}: the status says that all are updated, but not so on {node}"


class RevisionsAreUnique:
    """No two revisions of one DaemonSet record the same template, or have the same number."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:  # noqa: ARG002 all are made alike
        self._truth = truth

    def after(self, commit: Commit) -> Iterator[str]:
        """A revision was written."""
        if commit.resource != CONTROLLER_REVISIONS or commit.new is None:
            return
        written = commit.new.read(ControllerRevision)
        daemons = self._truth.of(written)
        for other in daemons.revisions.values() if daemons is not None else ():
            if other.name == written.name:
                continue
            if bytes(other.data) == bytes(written.data):
                yield f"revisions {written.name} and {other.name} record the same template"
            if other.revision == written.revision:
                yield f"revisions {written.name} and {other.name} both have number {written.revision}"


class NoRevisionInUseGoes:
    """The revision of a living pod is kept: without it nobody could tell what the pod is, or go back to it."""

    def __init__(self, truth: Truth, ledger: Ledger, slack: Slack) -> None:
        self._truth, self._ledger, self._slack = truth, ledger, slack

    def after(self, commit: Commit) -> Iterator[str]:
        """A revision was deleted."""
        if commit.resource != CONTROLLER_REVISIONS or commit.new is not None or commit.old is None:
            return
        gone = commit.old.read(ControllerRevision)
        daemons = self._truth.of(gone)
        if daemons is None or not self._ledger.deleters.get((commit.resource, commit.key), "").startswith("controller"):
            return
        for node in daemons.pods:
            for pod in daemons.on(node):
                if pod.revision_hash == gone.revision_hash and self._is_known(pod, commit):
                    yield f"{daemons.key}: revision {gone.name} was deleted, of which pod {pod.name} is"

    def _is_known(self, pod: Pod, commit: Commit) -> bool:
        return commit.at - self._truth.born[pod.metadata.key] > self._slack()


ALWAYS: tuple[type[Invariant], ...] = (
    OneServingPodOnEachNode,
    BudgetIsKept,
    SurgeIsKept,
    NoSecondPod,
    NoPodWhereRefused,
    ObservedIsNotAhead,
    DoneIsDone,
    RevisionsAreUnique,
    NoRevisionInUseGoes,
)


def _pod_of(commit: Commit) -> Pod:
    document = commit.new or commit.old
    assert document is not None
    return document.read(Pod)
