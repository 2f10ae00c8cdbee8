"""A charge: one DaemonSet that we look after, what we know of it, and what we have done about it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from eachnode.controllers.daemonset.expectations import Expectations, Versions
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.decisions.eligibility import Placement
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.history import History
from eachnode.decisions.slots import Aim
from eachnode.decisions.status import Pacing
from eachnode.decisions.template import PodBody
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.revision import ControllerRevision
from eachnode.objects.selectors import LabelSelector

EVERYTHING = LabelSelector()


class Charge:
    """One DaemonSet that we look after."""

    def __init__(self, daemonset: DaemonSet, options: DaemonSetOptions) -> None:
        self.daemonset = daemonset
        self.problem = ""  # Why it cannot be processed; empty when it can.
        self.told_problem = ""  # What of that was already told in an event.
        self.selector = EVERYTHING
        self.fleet: Fleet | None = None  # None until its spec could be read.
        self.revisions: dict[Key, ControllerRevision] = {}  # Those that belong to it.
        self.history: History | None = None  # As last reviewed; None when something changed since.
        # What belongs to it by reference but not by its labels, or by its labels but not by reference.
        self.strange_pods: dict[Key, Pod] = {}
        self.strange_revisions: dict[Key, ControllerRevision] = {}
        self.orphan_pods: dict[Key, Pod] = {}
        self.orphan_revisions: dict[Key, ControllerRevision] = {}
        self.expectations = Expectations(options.expectation_timeout)
        self.versions = Versions()
        self.stale_looks = 0  # Passes in a row that were put off because a cache lags behind.
        self.pacing = Pacing()
        self.unanswered: dict[str, str] = {}  # Nodes whose create got no answer, and the pod's name in it.
        self.body: tuple[tuple[object, ...], PodBody] | None = None  # What its pods are made from, and for when.
        self.unplaced: dict[str, str] = {}  # Nodes without room, and why (direct placement only).
        self._options = options
        self._read_from: bytes | None = None

    @property
    def key(self) -> Key:
        """Its name."""
        return self.daemonset.metadata.key

    @property
    def uid(self) -> str:
        """Which DaemonSet it is."""
        return self.daemonset.uid

    def follow(self, daemonset: DaemonSet, nodes: Iterable[Node]) -> bool:
        """The DaemonSet is like this now; answers whether what belongs to it has to be found out anew."""
        self.daemonset = daemonset
        self.history = None
        try:
            _ = daemonset.status
            text = bytes(daemonset.spec_text)
            if text == self._read_from and not self.problem:
                return False
            if text != self._read_from:
                self.told_problem = ""
            self._read_from = text
            placement = Placement.of(daemonset.template)
            selector = daemonset.spec.selector
        except (msgspec.MsgspecError, ValueError) as error:
            self.problem = f"it cannot be read: {error}"
            return False
        self.problem = "spec.selector is missing" if selector is None else selector.problem
        if self.fleet is None:
            self.fleet = Fleet(placement, Aim(), self._options.backoff)
            self.fleet.place(placement, nodes)
        elif placement != self.fleet.placement:
            self.fleet.place(placement, nodes)
        changed = selector != self.selector
        self.selector = selector or EVERYTHING
        return changed

    def selects(self, labels: dict[str, str] | None) -> bool:
        """Whether an object with these labels is selected; one without labels never is."""
        return bool(labels) and not self.problem and not self.selector.empty and self.selector.matches(labels or {})

    def see_owned_pod(self, pod: Pod) -> None:
        """A pod that refers to it."""
        key = pod.metadata.key
        self.orphan_pods.pop(key, None)
        if self.unanswered:  # A create that got no answer has happened, if this is what became of it.
            self.unanswered = {node: name for node, name in self.unanswered.items() if name != key.name}
        if self.fleet is not None and self.selector.matches(pod.labels):
            self.strange_pods.pop(key, None)
            self.fleet.see_pod(pod)
        else:
            self.strange_pods[key] = pod
            self._let_go(pod)

    def see_orphan_pod(self, pod: Pod) -> bool:
        """A pod that belongs to nobody; answers whether it is to be adopted."""
        key = pod.metadata.key
        if self.selects(pod.metadata.labels) and not pod.is_terminating:
            self.orphan_pods[key] = pod
            return True
        self.orphan_pods.pop(key, None)
        return False

    def lose_pod(self, pod: Pod) -> None:
        """A pod is gone, or belongs to somebody else."""
        key = pod.metadata.key
        self.strange_pods.pop(key, None)
        self.orphan_pods.pop(key, None)
        self._let_go(pod)

    def _let_go(self, pod: Pod) -> None:
        if self.fleet is not None:
            self.fleet.lose_pod(pod.uid)

    def see_owned_revision(self, revision: ControllerRevision) -> None:
        """A revision that refers to it."""
        key = revision.metadata.key
        self.history = None
        self.orphan_revisions.pop(key, None)
        matches = self.selector.matches(revision.metadata.labels or {})
        mine, other = (self.revisions, self.strange_revisions)[:: 1 if matches else -1]
        mine[key] = revision
        other.pop(key, None)

    def see_orphan_revision(self, revision: ControllerRevision) -> bool:
        """A revision that belongs to nobody; answers whether it is to be adopted."""
        key = revision.metadata.key
        if self.selects(revision.metadata.labels) and revision.metadata.deletion_timestamp is None:
            self.orphan_revisions[key] = revision
            return True
        self.orphan_revisions.pop(key, None)
        return False

    def lose_revision(self, key: Key) -> None:
        """A revision is gone, or belongs to somebody else."""
        self.history = None
        for kept in (self.revisions, self.strange_revisions, self.orphan_revisions):
            kept.pop(key, None)
