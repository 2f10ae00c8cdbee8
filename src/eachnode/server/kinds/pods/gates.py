"""Fields that the API knows but that are switched off: they are dropped without a word.

The reference calls these feature gates. A field is listed here while its gate is off by default.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import HOOKS, PROBES, containers_of

_OLD_INIT_CONTAINERS = tuple(
    f"pod.{stage}.kubernetes.io/init-container{part}" for stage in ("alpha", "beta") for part in ("s", "-statuses")
)
_FILES = ("secret", "configMap", "downwardAPI", "projected")
_PROJECTED_FILES = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def drop_disabled(spec: Tree, annotations: MutableMapping[str, str] | None) -> None:
    """Takes out of a pod spec what is switched off."""
    for field in ("schedulingGroup", "evictionResponders"):
        spec.pop(field, None)
    for volume in spec.get("volumes") or ():
        _drop(volume.get("emptyDir"), "mode")
        for source in _FILES:
            _drop_users(volume.get(source))
    for container in containers_of(spec):
        _drop_from_container(container)
    for key in _OLD_INIT_CONTAINERS:
        if annotations:
            annotations.pop(key, None)


def drop_disabled_status(status: Tree) -> None:
    """Takes out of a pod's status what is switched off."""
    _drop(status, "nodeAllocatableResourceClaimStatuses")
    _drop(status, "volumeHealth")
    for part in _STATUS_LISTS:
        for container in status.get(part) or ():
            for mount in container.get("volumeMounts") or ():
                _drop(mount, "volumeStatus")


def _drop_users(source: Tree | None) -> None:
    """Files of volumes belong to the user that the kubelet chooses."""
    if source is None:
        return
    _drop(source, "defaultUser")
    for item in source.get("items") or ():
        _drop(item, "user")
    for part in source.get("sources") or ():
        for name in _PROJECTED_FILES:
            _drop(part.get(name), "user")
            for item in (part.get(name) or {}).get("items") or ():
                _drop(item, "user")


def _drop_from_container(container: Tree) -> None:
    for mount in container.get("volumeMounts") or ():
        _drop(mount, "bindMountOptions")
    for handler in _handlers(container):
        _drop(handler.get("httpGet"), "protocol")
        _drop(handler.get("grpc"), "mode")
    lifecycle = container.get("lifecycle")
    if lifecycle is not None and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


def _handlers(container: Tree) -> Iterator[Tree]:
    for probe in PROBES:
        yield container.get(probe) or {}
    for hook in HOOKS:
        yield (container.get("lifecycle") or {}).get(hook) or {}


def _drop(tree: dict[str, Any] | None, field: str) -> None:
    if tree is not None:
        tree.pop(field, None)
