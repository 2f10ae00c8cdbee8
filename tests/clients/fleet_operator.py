"""An operator for the custom kind Fleet, written with kopf: each Fleet has a DaemonSet of its image.

It defaults nothing and owns everything: what it makes goes when the Fleet does, but it says farewell first.
"""

from __future__ import annotations

from typing import Any

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Keep progress where Kubernetes has a place for it, and complain as Events."""
    settings.persistence.finalizer = "example.com/fleets"
    settings.posting.loggers = True


def wanted(name: str, image: str) -> dict[str, Any]:
    """The DaemonSet of a Fleet."""
    labels = {"fleet": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    made: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }
    kopf.adopt(made)
    return made


@kopf.on.create("example.com", "v1", "fleets")
def create(name: str, namespace: Any, spec: Any, **_: Any) -> dict[str, Any]:
    """A new Fleet."""
    apps: Any = kubernetes.client.AppsV1Api()
    return {"made": apps.create_namespaced_daemon_set(namespace, wanted(name, spec["image"])).metadata.name}


@kopf.on.update("example.com", "v1", "fleets", field="spec.image")
def update(name: str, namespace: Any, new: Any, **_: Any) -> None:
    """Another image."""
    apps: Any = kubernetes.client.AppsV1Api()
    apps.patch_namespaced_daemon_set(name, namespace, {"spec": wanted(name, new)["spec"]})


@kopf.on.delete("example.com", "v1", "fleets")
def farewell(name: str, namespace: Any, **_: Any) -> None:
    """Leaves a word behind."""
    core: Any = kubernetes.client.CoreV1Api()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": f"farewell-{name}"}})


@kopf.on.field("apps", "v1", "daemonsets", field="status.numberAvailable", labels={"fleet": kopf.PRESENT})
def available(name: str, namespace: Any, new: Any, **_: Any) -> None:
    """Tells in the Fleet's status how many there are."""
    objects: Any = kubernetes.client.CustomObjectsApi()
    where = ("example.com", "v1", namespace, "fleets", name)
    objects.patch_namespaced_custom_object_status(*where, {"status": {"available": new or 0}})
