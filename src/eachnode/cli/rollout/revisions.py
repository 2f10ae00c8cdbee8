"""The history of a DaemonSet as `rollout history` and `rollout undo` see it: every template it had, with its number."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from eachnode.cli.errands import each, find
from eachnode.cli.failures import Failure
from eachnode.cli.template_changes import Change, changes
from eachnode.client.door import Door
from eachnode.decisions.history import same_meaning
from eachnode.decisions.template import recorded_template
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.document import Document
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from eachnode.objects.revision import ControllerRevision

CAUSE_ANNOTATION = "kubernetes.io/change-cause"
NO_CAUSE = "<none>"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One revision."""

    revision: ControllerRevision
    template: dict[str, Any]

    @property
    def number(self) -> int:
        """Its number."""
        return self.revision.revision

    @property
    def data(self) -> bytes:
        """What it records: a patch that brings its template back."""
        return bytes(self.revision.data)

    @property
    def cause(self) -> str:
        """Why it came to be, if somebody said so."""
        return (self.revision.metadata.annotations or {}).get(CAUSE_ANNOTATION, NO_CAUSE)

    @property
    def created(self) -> str:
        """When it was recorded."""
        return self.revision.metadata.creation_timestamp or ""


@dataclass(frozen=True, slots=True)
class Chronicle:
    """A DaemonSet and its revisions, the oldest first."""

    document: Document
    revisions: tuple[Recorded, ...]

    @property
    def daemonset(self) -> DaemonSet:
        """The DaemonSet as it is now."""
        return self.document.read(DaemonSet)

    def numbered(self, number: int) -> Recorded:
        """The revision of that number."""
        for recorded in self.revisions:
            if recorded.number == number:
                return recorded
        known = ", ".join(str(recorded.number) for recorded in self.revisions) or "none"
        raise Failure(f"unable to find specified revision {number} in history; there are: {known}")

    def to_return_to(self, number: int) -> Recorded:
        """The revision that `undo` goes back to: the one of that number, or with 0 the one before the newest."""
        if number:
            return self.numbered(number)
        if len(self.revisions) < 2:
            raise Failure(f"no last revision to roll back to: {self.daemonset.name} has had one template only")
        return self.revisions[-2]

    def is_current(self, recorded: Recorded) -> bool:
        """Whether the DaemonSet's template is this revision's."""
        return same_meaning(bytes(self.daemonset.spec.template), recorded.data)

    def changes_of(self, recorded: Recorded) -> tuple[Change, ...]:
        """What this revision changed of the one before; nothing for the first."""
        place = self.revisions.index(recorded)
        return changes(self.revisions[place - 1].template, recorded.template) if place else ()


async def read_chronicle(door: Door, name: str, namespace: str) -> Chronicle:
    """The revisions that belong to a DaemonSet; of equal numbers the one listed last counts, as in kubectl."""
    document = await find(door, DAEMON_SETS, name, namespace)
    daemonset = document.read(DaemonSet)
    selector = daemonset.spec.selector
    found: dict[int, Recorded] = {}
    async for each_document in each(door, CONTROLLER_REVISIONS, namespace, labels=selector.text if selector else ""):
        revision = each_document.read(ControllerRevision)
        owner = revision.metadata.controller
        if owner is None or owner.uid != daemonset.uid:
            continue
        template = recorded_template(bytes(revision.data))
        if template is not None:
            found[revision.revision] = Recorded(revision, template)
    return Chronicle(document, tuple(found[number] for number in sorted(found)))


async def nodes_by_revision(door: Door, daemonset: DaemonSet) -> dict[str, int]:
    """On how many nodes pods of each revision are, by the revision's hash."""
    nodes: defaultdict[str, set[str]] = defaultdict(set)
    selector = daemonset.spec.selector
    labels = selector.text if selector else ""
    async for document in each(door, PODS, daemonset.metadata.namespace, labels=labels):
        pod = document.read(Pod)
        owner = pod.metadata.controller
        if owner is not None and owner.uid == daemonset.uid and not pod.is_over and pod.target:
            nodes[pod.revision_hash].add(pod.target)
    return {revision: len(names) for revision, names in nodes.items()}
