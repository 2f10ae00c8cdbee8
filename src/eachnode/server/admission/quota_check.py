"""Nothing is created beyond what the namespace's quotas allow.

Usage is counted from what is there, never from a quota's status, so it is always true. Where a namespace has no quota
this costs one lookup. Where it has some, a ledger for each quota and kind keeps the sum, and only what came or went
since the last time is counted: stored documents stay the same until their object changes, so comparing them is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.quota import (
    POD_KIND,
    SERVICE_KIND,
    ZERO,
    Amount,
    Quota,
    ServiceView,
    Usage,
    object_usage,
    overrun,
    pod_usage,
    service_usage,
    unsaid,
)
from eachnode.objects.resources import RESOURCE_QUOTAS
from eachnode.objects.workload import WorkloadPod
from eachnode.server.admission.refusals import forbidden
from eachnode.server.kind import Call, Kind, Reader, Tree

NOT_COUNTED = ("events", "events.events.k8s.io")
NOTHING: Usage = {}


@dataclass(slots=True)
class Ledger:
    """What the objects of one kind use up of one quota."""

    quota: Document
    weigh: Callable[[Document], Usage]
    total: dict[str, Amount] = field(default_factory=dict)
    entries: dict[Document, Usage] = field(default_factory=dict)

    def bring_up_to_date(self, documents: Iterable[Document]) -> Usage:
        """The sum over these documents, counting only those that are new or gone."""
        present = dict.fromkeys(documents)
        for gone in self.entries.keys() - present.keys():
            self._book(self.entries.pop(gone), -1)
        for document in present:
            if document not in self.entries:
                usage = self.entries[document] = self.weigh(document)
                self._book(usage, 1)
        return self.total

    def _book(self, usage: Usage, times: int) -> None:
        for name, amount in usage.items():
            known = self.total.get(name, ZERO)
            self.total[name] = known.plus(Amount(times * amount.billionths, amount.family))


class QuotaCheck:
    """Compares what is asked for with what the quotas leave."""

    def __init__(self) -> None:
        self._ledgers: dict[tuple[str, str, str], Ledger] = {}  # (namespace, quota, kind)

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Refuses what does not fit."""
        if not kind.resource.namespaced or (old is not None and kind.resource.qualified != SERVICE_KIND):
            return
        namespace, qualified = tree["metadata"].get("namespace", ""), kind.resource.qualified
        quotas = [(document, document.read(Quota)) for document in reader.documents(RESOURCE_QUOTAS, namespace)]
        if not quotas or qualified in NOT_COUNTED:
            return
        for document, quota in quotas:
            if quota.names_for(qualified):
                self._check(kind, tree, old, document, quota, reader)

    def _check(
        self, kind: Kind, tree: Tree, old: Tree | None, document: Document, quota: Quota, reader: Reader
    ) -> None:
        qualified = kind.resource.qualified
        pod = _as_pod(tree) if qualified == POD_KIND else None
        counted = quota.counts_pod(pod) if pod is not None else quota.counts_others()
        if not counted:
            return
        name = tree["metadata"].get("name", "")
        if pod is not None and (silent := unsaid(quota, pod)):
            raise forbidden(kind.resource, name, f"failed quota: {quota.metadata.name}: must specify {silent}")
        requested = pod_usage(pod) if pod is not None else _usage_of(tree, qualified)
        if old is not None:
            requested = _growth(requested, _usage_of(old, qualified))
        ledger = self._ledger(document, quota, qualified, reader)
        used = ledger.bring_up_to_date(reader.documents(kind.resource, tree["metadata"].get("namespace", "")))
        if problem := overrun(quota, used, requested):
            raise forbidden(kind.resource, name, problem)

    def _ledger(self, document: Document, quota: Quota, qualified: str, reader: Reader) -> Ledger:
        key = (quota.metadata.namespace, quota.metadata.name, qualified)
        known = self._ledgers.get(key)
        # Its status changes all the time; what it counts depends on its spec only.
        if known is None or known.quota.read(Quota).spec != quota.spec:
            self._forget_ended(reader)
            known = self._ledgers[key] = Ledger(document, _scale(quota, qualified))
        return known

    def _forget_ended(self, reader: Reader) -> None:
        """Drops the ledgers of quotas that are no more."""
        present = {document.read(Quota).metadata.key for document in reader.documents(RESOURCE_QUOTAS)}
        for key in [key for key in self._ledgers if key[:2] not in present]:
            del self._ledgers[key]


def _scale(quota: Quota, qualified: str) -> Callable[[Document], Usage]:
    """How objects of a kind are weighed for a quota."""
    if qualified == POD_KIND:
        return lambda document: _weighed_pod(quota, document.read(WorkloadPod))
    if qualified == SERVICE_KIND:
        return lambda document: service_usage(document.read(ServiceView))
    return lambda _: object_usage(qualified)


def _weighed_pod(quota: Quota, pod: WorkloadPod) -> Usage:
    return pod_usage(pod) if quota.counts_pod(pod) else NOTHING


def _as_pod(tree: Tree) -> WorkloadPod | None:
    try:
        return msgspec.convert(tree, WorkloadPod)
    except msgspec.ValidationError:
        return None  # Validation comes next and refuses it.


def _usage_of(tree: Tree, qualified: str) -> dict[str, Amount]:
    if qualified == SERVICE_KIND:
        return service_usage(msgspec.convert(tree, ServiceView))
    return object_usage(qualified)


def _growth(after: Usage, before: Usage) -> dict[str, Amount]:
    return {
        name: Amount(max(amount.billionths - before.get(name, ZERO).billionths, 0), amount.family)
        for name, amount in after.items()
    }
