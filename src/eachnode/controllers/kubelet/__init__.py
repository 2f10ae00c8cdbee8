"""The simulated kubelet: runs every node that carries the annotation `eachnode.dev/simulated: "true"`."""

from eachnode.controllers.kubelet.fleet import create_nodes, node_trees
from eachnode.controllers.kubelet.heartbeats import REBOOTED, STOPPED
from eachnode.controllers.kubelet.loop import Kubelet
from eachnode.controllers.kubelet.options import KubeletOptions, load_stages

__all__ = ["REBOOTED", "STOPPED", "Kubelet", "KubeletOptions", "create_nodes", "load_stages", "node_trees"]
