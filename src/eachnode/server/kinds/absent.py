"""Kinds of which there are none here and can be none, though Kubernetes' own components begin by listing them.

A real kube-scheduler waits for all of its informers before it places the first pod, and the controllers of a real
kube-controller-manager do the same. So a list of these kinds is empty, a watch is quiet, and nobody can create one.
Discovery does not offer them: to everybody who asks what there is, they are not served.
"""

from __future__ import annotations

from eachnode.objects.resources import Resource
from eachnode.server.kind import Kind, Verb

_LOOKED_FOR: frozenset[Verb] = frozenset(("get", "list", "watch"))


def _absent(group: str, kind: str, plural: str = "", *, namespaced: bool = True) -> Kind:
    singular = kind.lower()
    resource = Resource(group, "v1", plural or f"{singular}s", kind, namespaced)
    return Kind(resource=resource, singular=singular, definition="", verbs=_LOOKED_FOR)


ABSENT: tuple[Kind, ...] = (
    _absent("", "PersistentVolume", namespaced=False),
    _absent("", "PersistentVolumeClaim"),
    _absent("", "ReplicationController"),
    _absent("apps", "Deployment"),
    _absent("apps", "ReplicaSet"),
    _absent("apps", "StatefulSet"),
    _absent("resource.k8s.io", "DeviceClass", "deviceclasses", namespaced=False),
    _absent("resource.k8s.io", "DeviceTaintRule", namespaced=False),
    _absent("resource.k8s.io", "ResourceClaim"),
    _absent("resource.k8s.io", "ResourceSlice", namespaced=False),
    _absent("storage.k8s.io", "CSIDriver", namespaced=False),
    _absent("storage.k8s.io", "CSINode", namespaced=False),
    _absent("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
    _absent("storage.k8s.io", "StorageClass", "storageclasses", namespaced=False),
    _absent("storage.k8s.io", "VolumeAttachment", namespaced=False),
)
