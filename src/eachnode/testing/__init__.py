"""A Kubernetes cluster for tests of operators and other clients: up in under a second, no containers.

With pytest, ask for the fixture `cluster` or `namespace` (`eachnode.testing.plugin`); elsewhere, use `running_cluster`.
"""

from eachnode.testing.cluster import RunningCluster, StartFailure, running_cluster

__all__ = ["RunningCluster", "StartFailure", "running_cluster"]
