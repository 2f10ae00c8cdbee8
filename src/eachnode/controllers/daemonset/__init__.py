"""The DaemonSet controller: one pod on each node that should have one, and a good reason for each that should not."""

from eachnode.controllers.daemonset.controller import DaemonSetController
from eachnode.controllers.daemonset.options import DaemonSetOptions

__all__ = ["DaemonSetController", "DaemonSetOptions"]
