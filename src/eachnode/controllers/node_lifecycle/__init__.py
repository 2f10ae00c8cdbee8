"""Node life-cycle: who is no longer heard of, the taints that follow, and the pods that must leave."""

from eachnode.controllers.node_lifecycle.loop import NodeLifecycle, NodeLifecycleOptions

__all__ = ["NodeLifecycle", "NodeLifecycleOptions"]
