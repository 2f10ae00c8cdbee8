"""What a default cluster asks of every write: steps that complete an object or refuse it.

Some run before an object is validated, so that they may complete it; others judge what has turned out to be valid. Each
of the two goes in this order. A step reads what else there is, and never writes.
"""

from __future__ import annotations

from typing import Protocol

from eachnode.server.admission.default_tolerations import DefaultTolerations
from eachnode.server.admission.limit_ranges import LimitCheck, LimitDefaults
from eachnode.server.admission.namespace_lifecycle import NamespaceLifecycle
from eachnode.server.admission.new_node_taint import NewNodeTaint
from eachnode.server.admission.pod_priority import PodPriority
from eachnode.server.admission.priority_classes import SingleDefaultClass, SystemClassesStay
from eachnode.server.admission.quota_check import QuotaCheck
from eachnode.server.admission.service_addresses import ServiceAddresses
from eachnode.server.kind import Call, Kind, Reader, Tree


class Admission(Protocol):
    """One step."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:
        """Changes the tree in place, or raises an ApiError; `old` is None when the object is new."""
        ...


def default_admission() -> tuple[Admission, ...]:
    """The steps before validation; they keep notes between calls, so each server has its own."""
    return (
        NamespaceLifecycle(),
        LimitDefaults(),
        NewNodeTaint(),
        PodPriority(),
        SystemClassesStay(),
        DefaultTolerations(),
        ServiceAddresses(),
    )


def default_judges() -> tuple[Admission, ...]:
    """The steps that look at valid objects only."""
    return (LimitCheck(), SingleDefaultClass(), QuotaCheck())


__all__ = ["Admission", "default_admission", "default_judges"]
