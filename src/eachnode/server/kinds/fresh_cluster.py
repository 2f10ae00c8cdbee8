"""What there is in a cluster in which nobody has done anything yet."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects.resources import ENDPOINTS, NAMESPACES, PRIORITY_CLASSES, SERVICES, Resource
from eachnode.server.kind import Tree
from eachnode.server.kinds.priority_classes import SYSTEM_CLASSES

NAMESPACE_NAMES = ("default", "kube-system", "kube-public", "kube-node-lease")
API_ADDRESS = "10.96.0.1"  # The first of the services' range.
_API_PORT = 6443
_DESCRIPTIONS = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}


def initial_objects() -> Iterator[tuple[Resource, Tree]]:
    """Every object with its kind, in the order in which they are to be created where they are missing."""
    for name in NAMESPACE_NAMES:
        yield NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name, value in SYSTEM_CLASSES.items():
        yield PRIORITY_CLASSES, _priority_class(name, value)
    yield SERVICES, _api_service()
    # Nothing carries traffic here, so the service has no addresses behind it; clients only look whether it is there.
    yield (
        ENDPOINTS,
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": _api_metadata({"endpointslice.kubernetes.io/skip-mirror": "true"}),
        },
    )


def _priority_class(name: str, value: int) -> Tree:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": _DESCRIPTIONS[name],
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _api_metadata(labels: dict[str, str]) -> Tree:
    return {"name": "kubernetes", "namespace": "default", "labels": labels}


def _api_service() -> Tree:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": _API_PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _api_metadata({"component": "apiserver", "provider": "kubernetes"}),
        "spec": {"type": "ClusterIP", "clusterIP": API_ADDRESS, "clusterIPs": [API_ADDRESS], "ports": [port]},
    }
