"""A pod as the DaemonSet decisions see it: whose it is, where it is or is meant to be, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from eachnode.objects.affinity import NODE_NAME_FIELD, NodeAffinity
from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata

REVISION_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"


class Affinity(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """The part of `spec.affinity` that can pin a pod to a node."""

    node_affinity: NodeAffinity | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """Where the pod is (`node_name`), or where it is meant to be (`pin`)."""

    node_name: str = ""
    affinity: Affinity | None = None
    pin: str = msgspec.field(default="", name="(pin)")  # Worked out while decoding; no field of the API.

    def __post_init__(self) -> None:
        # Thousands of pods are kept: the affinity is read once and let go.
        if self.affinity is not None:
            msgspec.structs.force_setattr(self, "pin", pinned_to(self.affinity.node_affinity))
            msgspec.structs.force_setattr(self, "affinity", None)


class PodCondition(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One thing that is so, or is not."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class PodStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """How far the pod has come; of its conditions only `Ready` is kept."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] | None = None

    def __post_init__(self) -> None:
        if self.conditions:
            kept = tuple(condition for condition in self.conditions if condition.type == "Ready")
            msgspec.structs.force_setattr(self, "conditions", kept)


class Pod(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """Which pod it is, whatever its name."""
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def target(self) -> str:
        """The node it is on or pinned to; empty when there is none."""
        return self.spec.node_name or self.spec.pin

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good."""
        return self.status.phase in ("Failed", "Succeeded")

    @property
    def revision_hash(self) -> str:
        """The revision it was made from."""
        return self.labels.get(REVISION_LABEL, "")

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True."""
        return any(condition.status == "True" for condition in self.status.conditions or ())

    @property
    def served_to_the_end(self) -> bool:
        """Whether it was ready when its deletion began; also when that cannot be told."""
        asked = _moment(self.metadata.deletion_timestamp)
        if asked is None or self.is_ready:
            return True
        began = asked - (self.metadata.deletion_grace_period_seconds or 0)
        since = [_moment(condition.last_transition_time) for condition in self.status.conditions or ()]
        return any(moment is None or moment > began for moment in since)

    @property
    def keep_order(self) -> tuple[bool, float, str]:
        """Of several on one node, the first in this order is the one to keep: bound, then oldest, then by name."""
        return (not self.spec.node_name, self.created, self.name)

    @cached_property
    def created(self) -> float:
        """When it was created."""
        return _moment(self.metadata.creation_timestamp) or 0.0

    def available_since(self, min_ready_seconds: int) -> float | None:
        """From when on it counts as available, perhaps in the future; None when it is not ready."""
        for condition in self.status.conditions or ():
            if condition.status == "True":
                if not min_ready_seconds:
                    return 0.0
                since = _moment(condition.last_transition_time)
                return None if since is None else since + min_ready_seconds
        return None


def _moment(timestamp: str | None) -> float | None:
    """When that was; None when it is not said, or not in a way that can be read."""
    if not timestamp:
        return None
    try:
        return seconds(timestamp)
    except ValueError:
        return None


def pinned_to(affinity: NodeAffinity | None) -> str:
    """The one node that required node affinity names, as the reference looks for it; empty when there is none."""
    if affinity is None or affinity.required is None:
        return ""
    for term in affinity.required.node_selector_terms or ():
        for field in term.match_fields or ():
            if field.key == NODE_NAME_FIELD and field.operator == "In":
                values = field.values or ()
                return values[0] if len(values) == 1 else ""
    return ""
