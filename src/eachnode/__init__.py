"""eachnode: the DaemonSet system of Kubernetes in Python."""

__version__ = "0.1.0"
