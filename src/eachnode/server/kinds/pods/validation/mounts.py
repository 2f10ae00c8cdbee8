"""How a container sees the pod's volumes: mounted at a path, or as a block device."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.server.field_errors import FieldError, forbidden, invalid, not_found, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import inner
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")

Errors = Iterator[FieldError]


def validate_mounts(container: Tree, path: str, pod: PodContext) -> Errors:
    """The volume mounts of a container."""
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices") or ()}
    taken: set[str] = set()
    for mount, place in fields.each(container, "volumeMounts", path):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{place}.name")
        if name not in pod.volumes:
            yield not_found(f"{place}.name", name)
        if not target:
            yield required(f"{place}.mountPath")
        if target in taken:
            yield invalid(f"{place}.mountPath", target, "must be unique")
        taken.add(target)
        if name in devices:
            yield invalid(f"{place}.name", name, "must not already exist in volumeDevices")
        if target in devices.values():
            yield invalid(f"{place}.mountPath", target, "must not already exist as a path in volumeDevices")
        yield from _validate_mount(mount, place, container, f"{path}.volumeMounts")


def _validate_mount(mount: Tree, path: str, container: Tree, list_path: str) -> Errors:
    """The rest of a mount; the reference reports most of it at the list, not at the entry."""
    below, expression = mount.get("subPath"), mount.get("subPathExpr")
    if below:
        yield from fields.descending(f"{list_path}.subPath", below)
    if expression:
        if below:
            yield invalid(f"{path}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
        yield from fields.descending(f"{list_path}.subPathExpr", expression)
    propagation = mount.get("mountPropagation")
    yield from fields.one_of(f"{list_path}.mountPropagation", propagation, PROPAGATIONS)
    if propagation == "Bidirectional" and not inner(container, "securityContext", "privileged"):
        sentence = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{list_path}.mountPropagation", sentence)
    yield from _validate_recursion(mount, f"{list_path}.recursiveReadOnly")


def _validate_recursion(mount: Tree, path: str) -> Errors:
    recursion = mount.get("recursiveReadOnly")
    yield from fields.one_of(path, recursion, RECURSIVE_READ_ONLY)
    if recursion not in ("Enabled", "IfPossible"):
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def validate_devices(container: Tree, path: str, pod: PodContext) -> Errors:
    """The block devices of a container."""
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    targets: set[str] = set()
    for device, place in fields.each(container, "volumeDevices", path):
        name, target = device.get("name", ""), device.get("devicePath", "")
        yield from _validate_device_volume(name, f"{place}.name", pod, names)
        if not target:
            yield required(f"{place}.devicePath")
        if target in targets:
            yield invalid(f"{place}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield invalid(f"{place}.devicePath", target, "can not contain backsteps ('..')")
        else:
            targets.add(target)
        if name in mounts:
            yield invalid(f"{place}.name", name, "must not already exist in volumeMounts")
        if target in mounts.values():
            yield invalid(f"{place}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _validate_device_volume(name: str, path: str, pod: PodContext, taken: set[str]) -> Errors:
    if not name:
        yield required(path)
    if name in taken:
        yield invalid(path, name, "must be unique")
    volume = pod.volumes.get(name)
    if volume is None:
        yield not_found(path, name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        sentence = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, sentence)
