"""The world as the controller sees it: informers' changes, told to the charges they concern.

This is where it is decided what wakes a DaemonSet. A change is told to the charges it concerns and to no others, and a
charge that it makes no difference to is not woken: heartbeats of nodes, and pods of others, cost a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key, Metadata
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.revision import ControllerRevision


class Owner(NamedTuple):
    """Which DaemonSet an object refers to as its controller."""

    key: Key
    uid: str


def owner_of(metadata: Metadata) -> Owner | None:
    """The DaemonSet that controls the object; None when nothing does, or something else."""
    reference = metadata.controller
    if reference is None or reference.kind != DAEMON_SETS.kind:
        return None
    return Owner(Key(metadata.namespace, reference.name), reference.uid)


def concerns_daemonsets(thing: Pod | ControllerRevision) -> bool:
    """Whether an object is worth keeping: it belongs to a DaemonSet, or to nobody yet."""
    reference = thing.metadata.controller
    return reference is None or reference.kind == DAEMON_SETS.kind


class World:
    """All charges, and what belongs to them."""

    def __init__(self, nodes: Mapping[Key, Node], wake: Callable[[Key], None], options: DaemonSetOptions) -> None:
        self.charges: dict[Key, Charge] = {}
        self._nodes = nodes
        self._wake = wake
        self._options = options
        self._owned_pods: dict[Owner, dict[Key, Pod]] = {}
        self._owned_revisions: dict[Owner, dict[Key, ControllerRevision]] = {}
        self._orphan_pods: dict[str, dict[Key, Pod]] = {}
        self._orphan_revisions: dict[str, dict[Key, ControllerRevision]] = {}

    # DaemonSets

    def daemonset_changed(self, old: DaemonSet | None, new: DaemonSet | None) -> None:
        """A DaemonSet came, changed or went."""
        if new is None:
            assert old is not None
            charge = self.charges.get(old.metadata.key)
            if charge is not None and charge.uid == old.uid:
                del self.charges[charge.key]
            self._wake(old.metadata.key)
            return
        key = new.metadata.key
        charge = self.charges.get(key)
        if charge is None or charge.uid != new.uid:
            charge = self.charges[key] = Charge(new, self._options)
            charge.follow(new, self._nodes.values())
            self._gather(charge)
        elif charge.follow(new, self._nodes.values()):
            self._gather(charge)
        self._wake(key)

    def _gather(self, charge: Charge) -> None:
        """Tell a charge of everything that belongs to it, or could."""
        owner = Owner(charge.key, charge.uid)
        namespace = charge.key.namespace
        for pod in self._owned_pods.get(owner, {}).values():
            charge.see_owned_pod(pod)
        for pod in self._orphan_pods.get(namespace, {}).values():
            charge.see_orphan_pod(pod)
        for revision in self._owned_revisions.get(owner, {}).values():
            charge.see_owned_revision(revision)
        for revision in self._orphan_revisions.get(namespace, {}).values():
            charge.see_orphan_revision(revision)

    def _charge(self, owner: Owner) -> Charge | None:
        charge = self.charges.get(owner.key)
        return charge if charge is not None and charge.uid == owner.uid else None

    # Nodes

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        """A node came, changed or went."""
        if new is None:
            assert old is not None
            for key, charge in self.charges.items():
                if charge.fleet is not None and charge.fleet.lose_node(old.name):
                    charge.unplaced.pop(old.name, None)
                    self._wake(key)
        elif old is None or not old.is_placed_like(new):
            for key, charge in self.charges.items():
                if charge.fleet is not None and charge.fleet.see_node(new):
                    self._wake(key)

    # Pods

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """A pod came, changed or went."""
        before = owner_of(old.metadata) if old is not None else None
        now = owner_of(new.metadata) if new is not None else None
        if old is not None and (new is None or now != before):
            self._forget_pod(old, before)
        if new is None:
            return
        if now is not None:
            self._see_owned_pod(new, now)
        elif new.metadata.controller is None:
            self._see_orphan_pod(old, new)

    def _forget_pod(self, pod: Pod, owner: Owner | None) -> None:
        key = pod.metadata.key
        if owner is None:
            _drop(self._orphan_pods, key.namespace, key)
            for charge in self._in_namespace(key.namespace):
                charge.orphan_pods.pop(key, None)
            return
        _drop(self._owned_pods, owner, key)
        charge_of_it = self._charge(owner)
        if charge_of_it is not None:
            charge_of_it.lose_pod(pod)
            charge_of_it.expectations.saw(key, pod.uid, leaving=True)
            self._wake(owner.key)

    def _see_owned_pod(self, pod: Pod, owner: Owner) -> None:
        self._owned_pods.setdefault(owner, {})[pod.metadata.key] = pod
        charge = self._charge(owner)
        if charge is not None:
            charge.see_owned_pod(pod)
            charge.expectations.saw(pod.metadata.key, pod.uid, leaving=pod.is_terminating)
            self._wake(owner.key)

    def _see_orphan_pod(self, old: Pod | None, pod: Pod) -> None:
        key = pod.metadata.key
        self._orphan_pods.setdefault(key.namespace, {})[key] = pod
        changed = old is None or old.metadata.labels != pod.metadata.labels or old.metadata.controller is not None
        for charge in self._in_namespace(key.namespace):
            if charge.see_orphan_pod(pod) and changed:
                self._wake(charge.key)

    # Revisions

    def revision_changed(self, old: ControllerRevision | None, new: ControllerRevision | None) -> None:
        """A revision came, changed or went."""
        before = owner_of(old.metadata) if old is not None else None
        now = owner_of(new.metadata) if new is not None else None
        if old is not None and (new is None or now != before):
            self._forget_revision(old, before)
        if new is None:
            return
        if now is not None:
            self._see_owned_revision(old, new, now)
        elif new.metadata.controller is None:
            self._see_orphan_revision(old, new)

    def _forget_revision(self, revision: ControllerRevision, owner: Owner | None) -> None:
        key = revision.metadata.key
        if owner is None:
            _drop(self._orphan_revisions, key.namespace, key)
            for charge in self._in_namespace(key.namespace):
                charge.orphan_revisions.pop(key, None)
            return
        _drop(self._owned_revisions, owner, key)
        charge_of_it = self._charge(owner)
        if charge_of_it is not None:
            charge_of_it.lose_revision(key)
            self._wake(owner.key)

    def _see_owned_revision(self, old: ControllerRevision | None, revision: ControllerRevision, owner: Owner) -> None:
        self._owned_revisions.setdefault(owner, {})[revision.metadata.key] = revision
        charge = self._charge(owner)
        if charge is None:
            return
        charge.see_owned_revision(revision)
        # One that appears with its owner was made by us, or by somebody who is not done yet: it has to wait.
        if old is not None or revision.metadata.deletion_timestamp is not None:
            self._wake(owner.key)

    def _see_orphan_revision(self, old: ControllerRevision | None, revision: ControllerRevision) -> None:
        key = revision.metadata.key
        self._orphan_revisions.setdefault(key.namespace, {})[key] = revision
        changed = old is None or old.metadata.labels != revision.metadata.labels or old.metadata.controller is not None
        for charge in self._in_namespace(key.namespace):
            if charge.see_orphan_revision(revision) and changed:
                self._wake(charge.key)

    def _in_namespace(self, namespace: str) -> list[Charge]:
        return [charge for key, charge in self.charges.items() if key.namespace == namespace]


Place = TypeVar("Place")
Thing = TypeVar("Thing")


def _drop(index: dict[Place, dict[Key, Thing]], place: Place, key: Key) -> None:
    things = index.get(place)
    if things is not None:
        things.pop(key, None)
        if not things:
            del index[place]
