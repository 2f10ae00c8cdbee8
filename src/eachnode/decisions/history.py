"""The history of a DaemonSet: which revision is the current one, and what is to be written so that it is in order.

The current revision is the one that means what the template means. When there are several, the one with the highest
number stays; when there is none, one is written. The current one always has the highest number, so going back to an
older template moves its revision to the front again. Old ones that no pod uses go when they are too many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from eachnode.decisions.hashing import revision_hash
from eachnode.decisions.template import meaning, recorded_template, revision_data
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Metadata
from eachnode.objects.pod import REVISION_LABEL, Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS
from eachnode.objects.revision import ControllerRevision

DEFAULT_HISTORY_LIMIT = 10  # What the API fills in.


@dataclass(frozen=True, slots=True)
class WriteRevision:
    """Record the template under a new name."""

    name: str
    hash: str
    body: bytes
    data: bytes
    because: str


@dataclass(frozen=True, slots=True)
class LabelRevision:
    """Give a revision the hash label it lacks: its own name, which cannot collide."""

    revision: ControllerRevision
    body: bytes
    because: str


@dataclass(frozen=True, slots=True)
class RenumberRevision:
    """Make a revision the newest one."""

    revision: ControllerRevision
    number: int
    body: bytes
    because: str


@dataclass(frozen=True, slots=True)
class RelabelPod:
    """Have a pod belong to the revision that stays, instead of to its twin that goes."""

    pod: Pod
    hash: str
    body: bytes
    because: str


@dataclass(frozen=True, slots=True)
class DeleteRevision:
    """Forget a revision."""

    revision: ControllerRevision
    because: str


RevisionWrite = WriteRevision | LabelRevision | RenumberRevision | RelabelPod | DeleteRevision


@dataclass(frozen=True, slots=True)
class History:
    """Where a DaemonSet's history stands, and what puts it in order."""

    hash: str  # What current pods are labelled with, once the writes are done.
    current: ControllerRevision | None  # None: it is still to be written.
    old: tuple[ControllerRevision, ...]  # By number, then by name.
    writes: tuple[RevisionWrite, ...]


def same_meaning(template: bytes, data: bytes) -> bool:
    """Whether a revision's data records this template; both as JSON texts."""
    return _meaning_of_data(data) == _meaning_of_template(template)


@lru_cache(maxsize=1024)
def _meaning_of_template(template: bytes) -> bytes:
    return meaning(msgspec.json.decode(template))


@lru_cache(maxsize=4096)
def _meaning_of_data(data: bytes) -> bytes | None:
    template = recorded_template(data)
    try:
        return None if template is None else meaning(template)
    except (TypeError, AttributeError):
        return None  # It records something, but no template.


def review(daemonset: DaemonSet, revisions: Iterable[ControllerRevision], pods: Iterable[Pod] = ()) -> History:
    """Find the current revision among those that belong to the DaemonSet, and what is to be written."""
    template = bytes(daemonset.spec.template)
    writes: list[RevisionWrite] = []
    current: list[ControllerRevision] = []
    old: list[ControllerRevision] = []
    for revision in sorted(revisions, key=lambda each: (each.revision, each.name)):
        if revision.revision_hash is None:
            revision, write = _labelled(revision)
            writes.append(write)
        (current if same_meaning(template, bytes(revision.data)) else old).append(revision)
    number = max((revision.revision for revision in old), default=0) + 1
    if not current:
        written = first_record(daemonset, number)
        return History(written.hash, None, tuple(old), (*writes, written))
    kept = current.pop()
    kept_hash = kept.revision_hash or kept.name
    if current:
        writes += _merged(kept_hash, current, pods)
    labelled = any(isinstance(write, LabelRevision) and write.revision.name == kept.name for write in writes)
    if kept.revision < number and not labelled:  # One write of an object in a pass: its version is not ours after that.
        because = f"the template is as it was in revision {kept.revision}, which becomes the newest"
        writes.append(RenumberRevision(kept, number, _body(kept, revision=number), because))
    return History(kept_hash, kept, tuple(old), tuple(writes))


def prune(history: History, limit: int | None, in_use: Mapping[str, int]) -> tuple[DeleteRevision, ...]:
    """The oldest revisions that no pod uses, as many as there are too many."""
    surplus = len(history.old) - (DEFAULT_HISTORY_LIMIT if limit is None else limit)
    unused = [revision for revision in history.old if not in_use.get(revision.revision_hash or "", 0)]
    because = f"{len(history.old)} old revisions are {surplus} too many, and no pod uses it"
    return tuple(DeleteRevision(revision, because) for revision in unused[: max(0, surplus)])


def first_record(daemonset: DaemonSet, number: int) -> WriteRevision:
    """The revision to write for the present template."""
    data = revision_data(daemonset.template_tree)
    hashed = revision_hash(_meaning_of_template(bytes(daemonset.spec.template)), daemonset.status.collision_count)
    name = f"{daemonset.name}-{hashed}"
    labels = {**(daemonset.template.metadata.labels or {}), REVISION_LABEL: hashed}
    metadata = Metadata(
        name=name,
        namespace=daemonset.metadata.namespace,
        labels=labels,
        annotations=daemonset.metadata.annotations,
        owner_references=(daemonset.owner_reference,),
    )
    fresh = ControllerRevision(metadata=metadata, data=msgspec.Raw(data), revision=number)
    because = "the template is in no revision yet"
    return WriteRevision(name=name, hash=hashed, body=_body(fresh, revision=number), data=data, because=because)


def _labelled(revision: ControllerRevision) -> tuple[ControllerRevision, LabelRevision]:
    labels = {**(revision.metadata.labels or {}), REVISION_LABEL: revision.name}
    labelled = msgspec.structs.replace(revision, metadata=msgspec.structs.replace(revision.metadata, labels=labels))
    body = _body(labelled, revision=revision.revision)
    return labelled, LabelRevision(revision, body, "it has no hash label")


def _merged(kept: str, twins: Collection[ControllerRevision], pods: Iterable[Pod]) -> Iterable[RevisionWrite]:
    """Every pod follows the revision that stays; then its twins go."""
    body = msgspec.json.encode({"metadata": {"labels": {REVISION_LABEL: kept}}})
    for pod in sorted(pods, key=lambda each: each.name):
        if pod.revision_hash != kept:
            yield RelabelPod(pod, kept, body, "its revision is a twin of the one that stays")
    for twin in twins:
        yield DeleteRevision(twin, "it is a twin of the revision that stays")


def _body(given: ControllerRevision, *, revision: int) -> bytes:
    """A whole revision as it is sent; its data as it came."""
    return msgspec.json.encode(
        {
            "apiVersion": CONTROLLER_REVISIONS.api_version,
            "kind": CONTROLLER_REVISIONS.kind,
            "metadata": given.metadata.tree(),
            "data": given.data,
            "revision": revision,
        }
    )
