"""Carrying out a plan: revisions first, then pods, each write accounted for before and after it is sent.

Creates start slowly, 1, 2, 4, … at a time: when they all fail for one reason (a quota, say), it is found out by one
of them and not by hundreds. A create that got no answer may have happened all the same; so we choose the pod's name
ourselves, and the next attempt uses the same one, which the server can take only once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal

import msgspec

from eachnode.client.door import Door, PatchKind
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.counters import Counters
from eachnode.controllers.daemonset.failures import Failure, combined
from eachnode.decisions.history import (
    DeleteRevision,
    LabelRevision,
    RelabelPod,
    RenumberRevision,
    RevisionWrite,
    WriteRevision,
    same_meaning,
)
from eachnode.decisions.plan import CreatePod, DeletePod, Notice, Plan
from eachnode.decisions.status import collision_body
from eachnode.decisions.template import PodBody, pod_body, pod_name
from eachnode.objects.clock import Chance, Clock, name_suffix
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS, Resource
from eachnode.objects.revision import ControllerRevision
from eachnode.objects.status import AlreadyExists, ApiError, Conflict, NotFound, Unreachable
from eachnode.runtime.events import EventRecorder, ObjectReference

log = logging.getLogger(__name__)


class NameTaken(Exception):
    """The name chosen for a pod is another pod's."""


class Written(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What is read of the answer to a write."""

    resource_version: str = ""


class WrittenObject(msgspec.Struct, frozen=True, gc=False):
    """The answer to a write."""

    metadata: Written


class Carrier:
    """Carries out what was decided."""

    def __init__(
        self, door: Door, events: EventRecorder, counters: Counters, *, clock: Clock, chance: Chance, bind: bool
    ) -> None:
        self._door, self._events, self._counters = door, events, counters
        self._clock, self._chance, self._bind = clock, chance, bind

    # Events

    def tell(self, charge: Charge, notice: Notice) -> None:
        """Write an event about the DaemonSet."""
        metadata = charge.daemonset.metadata
        about = ObjectReference(
            DAEMON_SETS.api_version,
            DAEMON_SETS.kind,
            metadata.namespace,
            metadata.name,
            metadata.uid,
            metadata.resource_version,
        )
        self._events.record(about, notice.type, notice.reason, notice.message)

    def _event(self, charge: Charge, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        self.tell(charge, Notice(kind, reason, message))

    # History

    async def write_history(self, charge: Charge, daemonset: DaemonSet, writes: Sequence[RevisionWrite]) -> str | None:
        """Put the history in order; answers with the hash of the revision that was recorded, if one was."""
        recorded = None
        for write in writes:
            log.info("%s: %s, because %s", charge.key, describe(write), write.because)
            self._counters.revision_writes += 1
            match write:
                case WriteRevision():
                    recorded = await self._record(charge, daemonset, write)
                case LabelRevision() | RenumberRevision():
                    where = write.revision.metadata
                    answer = await self._door.update(CONTROLLER_REVISIONS, where.name, write.body, where.namespace)
                    _wrote(charge, CONTROLLER_REVISIONS, answer)
                case RelabelPod():
                    where = write.pod.metadata
                    answer = await self._door.patch(PODS, where.name, write.body, PatchKind.MERGE, where.namespace)
                    _wrote(charge, PODS, answer)
                case DeleteRevision():
                    where = write.revision.metadata
                    await self._door.delete(CONTROLLER_REVISIONS, where.name, where.namespace)
                    charge.lose_revision(where.key)
        return recorded

    async def _record(self, charge: Charge, daemonset: DaemonSet, write: WriteRevision) -> str:
        namespace = charge.key.namespace
        try:
            answer = await self._door.create(CONTROLLER_REVISIONS, write.body, namespace)
        except AlreadyExists as error:
            existing = (await self._door.get(CONTROLLER_REVISIONS, write.name, namespace)).read(ControllerRevision)
            if same_meaning(bytes(daemonset.spec.template), bytes(existing.data)):
                return existing.revision_hash or existing.name
            await self._note_collision(charge, daemonset)
            raise Conflict(f"revision {write.name} is another template's: a new name is chosen") from error
        _wrote(charge, CONTROLLER_REVISIONS, answer)
        return write.hash

    async def _note_collision(self, charge: Charge, daemonset: DaemonSet) -> None:
        """The name is taken by another template: count that on the DaemonSet, so that the next name differs."""
        name, namespace = charge.key.name, charge.key.namespace
        live = (await self._door.get(DAEMON_SETS, name, namespace)).read(DaemonSet)
        known, counted = daemonset.status.collision_count, live.status.collision_count
        if counted != known:
            raise Conflict(f"{charge.key} counts {counted} name collisions by now, not {known}")
        answer = await self._door.update(DAEMON_SETS, name, collision_body(live), namespace, subresource="status")
        _wrote(charge, DAEMON_SETS, answer)

    # Pods

    async def write_pods(self, charge: Charge, daemonset: DaemonSet, plan: Plan, revision: str) -> None:
        """Create and delete pods; raises when something failed, after everything was tried."""
        now = self._clock.now()
        expectations = charge.expectations
        expectations.begin(now)
        expectations.deletes.update(delete.pod.uid for delete in plan.deletes)
        for delete in plan.deletes:
            if delete.failed and charge.fleet is not None:
                charge.fleet.failed_pod_goes(delete.node, now)
        for notice in plan.notices:
            self.tell(charge, notice)
        failures = await self._create_all(charge, daemonset, plan.creates, revision)
        results = await asyncio.gather(*(self._delete(charge, delete) for delete in plan.deletes))
        failures += [failure for failure in results if failure is not None]
        if failures:
            raise combined(failures)

    async def _create_all(
        self, charge: Charge, daemonset: DaemonSet, creates: Sequence[CreatePod], revision: str
    ) -> list[Failure]:
        if not creates:
            return []
        body = self.body(charge, daemonset, revision)
        sent = dict(charge.unanswered)  # As it was decided: a pod may be seen, and its name forgotten, before its turn.
        position, batch = 0, 1
        while position < len(creates):
            together = creates[position : position + batch]
            results = await asyncio.gather(
                *(self._create(charge, create, body, sent.get(create.node, "")) for create in together)
            )
            failures = [failure for failure in results if failure is not None]
            position += len(together)
            batch *= 2
            if failures:
                if left := len(creates) - position:
                    log.info("%s: %d more pods wait, because of: %s", charge.key, left, failures[0])
                return failures
        return []

    def body(self, charge: Charge, daemonset: DaemonSet, revision: str) -> PodBody:
        """The body of the DaemonSet's pods; made once for each revision."""
        made_for = (revision, daemonset.metadata.generation, daemonset.template_generation)
        if charge.body is None or charge.body[0] != made_for:
            charge.body = (made_for, pod_body(daemonset, revision, bind=self._bind))
        return charge.body[1]

    async def _create(self, charge: Charge, create: CreatePod, body: PodBody, sent: str) -> Failure | None:
        """Create a pod, under the name that was `sent` before and got no answer, if one was."""
        node, namespace = create.node, charge.key.namespace
        key = Key(namespace, sent or self._new_name(charge))
        charge.expectations.creates.add(key)
        try:
            document = await self._send_create(charge, body, node, key, sent_before=bool(sent))
        except NameTaken:
            charge.expectations.will_not_create(key)
            charge.unanswered.pop(node, None)
            return await self._create(charge, create, body, "")
        except (ApiError, Unreachable) as error:
            return self._create_failed(charge, node, key, error)
        charge.unanswered.pop(node, None)
        _wrote(charge, PODS, document)
        self._counters.pods_created += 1
        log.info("%s: created pod %s for node %s, because %s", charge.key, key.name, node, create.because)
        self._event(charge, "Normal", "SuccessfulCreate", f"Created pod: {key.name}")
        return None

    def _new_name(self, charge: Charge) -> str:
        return pod_name(charge.key.name, name_suffix(self._chance))

    async def _send_create(self, charge: Charge, body: PodBody, node: str, key: Key, *, sent_before: bool) -> Document:
        try:
            return await self._door.create(PODS, body.on(node, key.name), key.namespace)
        except AlreadyExists as error:
            # Among thousands of pods a name drawn at random is taken now and then, by one of our own too. Only a name
            # that was sent before and got no answer can stand for this very create.
            existing = await self._door.get(PODS, key.name, key.namespace)
            pod = existing.read(Pod)
            controller = pod.metadata.controller
            if not sent_before or controller is None or controller.uid != charge.uid or pod.target != node:
                raise NameTaken from error
            if charge.fleet is not None and pod.uid in charge.fleet.pods:
                charge.expectations.will_not_create(key)  # It was seen meanwhile, and will not be seen to come again.
            return existing

    def _create_failed(self, charge: Charge, node: str, key: Key, error: Failure) -> Failure | None:
        if isinstance(error, ApiError) and error.has_cause("NamespaceTerminating"):
            return None  # Nothing can be created there any more; the open expectation keeps us from trying at once.
        charge.expectations.will_not_create(key)
        if not isinstance(error, ApiError) or error.code >= 500:
            charge.unanswered[node] = key.name  # Perhaps it was created all the same.
        self._counters.creates_failed += 1
        log.warning("%s: could not create a pod for node %s, because: %s", charge.key, node, error)
        self._event(charge, "Warning", "FailedCreate", f"Error creating: {error}")
        return error

    async def _delete(self, charge: Charge, delete: DeletePod) -> Failure | None:
        metadata = delete.pod.metadata
        # The uid guards a namesake that was made in the meantime.
        options = DeleteOptions(preconditions=Preconditions(uid=metadata.uid))
        try:
            await self._door.delete(PODS, metadata.name, metadata.namespace, options=options)
        except NotFound:
            charge.expectations.will_not_delete(metadata.uid)
            return None
        except (ApiError, Unreachable) as error:
            charge.expectations.will_not_delete(metadata.uid)
            self._counters.deletes_failed += 1
            log.warning("%s: could not delete pod %s, because: %s", charge.key, metadata.name, error)
            self._event(charge, "Warning", "FailedDelete", f"Error deleting: {error}")
            return error
        self._counters.pods_deleted += 1
        log.info("%s: deleted pod %s on node %s, because %s", charge.key, metadata.name, delete.node, delete.because)
        self._event(charge, "Normal", "SuccessfulDelete", f"Deleted pod: {metadata.name}")
        return None


def _wrote(charge: Charge, resource: Resource, answer: Document) -> None:
    charge.versions.wrote(resource.plural, answer.read(WrittenObject).metadata.resource_version)


def describe(write: RevisionWrite) -> str:
    """What a write of the history does, in a few words."""
    match write:
        case WriteRevision():
            return f"records the template as {write.name}"
        case LabelRevision():
            return f"labels revision {write.revision.name}"
        case RenumberRevision():
            return f"gives revision {write.revision.name} the number {write.number}"
        case RelabelPod():
            return f"moves pod {write.pod.name} to revision {write.hash}"
    return f"forgets revision {write.revision.name}"
