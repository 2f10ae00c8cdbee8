"""A node as placement sees it: its name, its labels and its taints. Its heartbeats change nothing of that."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from eachnode.objects.meta import Metadata
from eachnode.objects.taints import UNREACHABLE, Taint


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What of `spec` decides placement."""

    taints: tuple[Taint, ...] | None = None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that may get a pod."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        return self.spec.taints or ()

    @property
    def is_unreachable(self) -> bool:
        """Whether the node life-cycle has said that it is not heard of."""
        return any(taint.key == UNREACHABLE for taint in self.taints)

    def is_placed_like(self, other: Node) -> bool:
        """Whether no template can judge the two differently."""
        return self.labels == other.labels and self.taints == other.taints
