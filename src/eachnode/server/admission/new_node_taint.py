"""A new node takes no pods until somebody has seen that it is ready."""

from __future__ import annotations

from eachnode.objects.resources import NODES
from eachnode.server.kind import Call, Kind, Reader, Tree

NOT_READY = "node.kubernetes.io/not-ready"


class NewNodeTaint:
    """Taints every new node; the node life-cycle takes the taint off once the node is ready."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Adds the taint unless the node brings it along."""
        if kind.resource != NODES or old is not None:
            return
        taints = tree.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            taints.append({"key": NOT_READY, "effect": "NoSchedule"})
