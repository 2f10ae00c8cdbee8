"""Changing what the containers of a running pod may use: cpu and memory, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from eachnode.server.field_errors import NOWHERE, FieldError, forbidden, invalid
from eachnode.server.kind import Call, Subresource, Tree
from eachnode.server.kinds.pods.ephemeral import keep_the_rest
from eachnode.server.kinds.pods.equality import same
from eachnode.server.kinds.pods.gates import drop_disabled
from eachnode.server.kinds.pods.leniency import judged
from eachnode.server.kinds.pods.parts import is_sidecar, is_windows
from eachnode.server.kinds.pods.preparation import count_generation
from eachnode.server.kinds.pods.resource_defaults import default_pod_resources, quality_of_service
from eachnode.server.kinds.pods.validation.annotations import MIRROR
from eachnode.server.kinds.pods.validation.spec import validate_pod

_PARTS = ("containers", "initContainers")
_RESIZED = ("resources", "resizePolicy")
_COMPUTE = ("cpu", "memory")
_ONLY_COMPUTE = "only cpu and memory resources are mutable"

Errors = Iterator[FieldError]


def _prepare(new: Tree, old: Tree, _call: Call) -> None:
    """Takes over resources and nothing else; a list of other containers is left for validation to refuse."""
    wanted, before = new.get("spec") or {}, old["spec"]
    if all(_names(wanted, part) == _names(before, part) for part in _PARTS):
        keep_the_rest(new, old)
        new["spec"] = _resized(wanted, before)
    if "resources" not in new["spec"] and "resources" in before:
        new["spec"]["resources"] = deepcopy(before["resources"])
    default_pod_resources(new["spec"])
    drop_disabled(new["spec"], new["metadata"].get("annotations"))
    count_generation(new, old)


def _names(spec: Tree, part: str) -> list[str]:
    return [container.get("name", "") for container in spec.get(part) or ()]


def _resized(wanted: Tree, before: Tree) -> Tree:
    spec = deepcopy(before)
    for part in _PARTS:
        for container, resized in zip(spec.get(part) or (), wanted.get(part) or (), strict=True):
            _take(container, resized, _RESIZED)
    _take(spec, wanted, ("resources",))
    return spec


def _take(tree: Tree, other: Tree, names: tuple[str, ...]) -> None:
    for name in names:
        tree.pop(name, None)
        if name in other:
            tree[name] = other[name]


def _validate(new: Tree, old: Tree) -> Errors:
    spec, before = new["spec"], old["spec"]
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden(NOWHERE, "static pods cannot be resized")
        return
    if is_windows(before):
        yield forbidden(NOWHERE, "windows pods cannot be resized")
        return
    yield from judged(lambda lenient: validate_pod(new, lenient), old)
    known = (old.get("status") or {}).get("qosClass") or quality_of_service(before)
    if known != quality_of_service(spec):
        shown = (new.get("status") or {}).get("qosClass", "")
        yield invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    if not _node_can_resize(old):
        yield forbidden("spec", "Pod running on node without support for resize")
    yield from _validate_pod_resources(spec, before)
    moved = list(_validate_order(spec, before))
    yield from moved
    if not moved:
        yield from _validate_containers(spec, before)


def _node_can_resize(pod: Tree) -> bool:
    """A node that can tells what its running containers have."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _validate_pod_resources(spec: Tree, before: Tree) -> Errors:
    old, new = before.get("resources"), spec.get("resources")
    if old is not None and new is None:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    for part in ("requests", "limits"):
        if _removed(new or {}, old or {}, part):
            yield forbidden(f"spec.resources.{part}", f"pod-level resource {part} cannot be removed")
    if new is not None and not same(_with_old_compute(new, old or {}), old or {}):
        yield forbidden("spec", f"{_ONLY_COMPUTE} at pod-level")


def _validate_order(spec: Tree, before: Tree) -> Errors:
    for part in _PARTS:
        names, known = _names(spec, part), _names(before, part)
        if len(names) != len(known):
            yield forbidden(f"spec.{part}", f"{part} may not be added or removed on resize")
            continue
        for index, (name, old) in enumerate(zip(names, known, strict=True)):
            if name != old:
                yield forbidden(f"spec.{part}[{index}].name", f"{part} may not be renamed or reordered on resize")


def _validate_containers(spec: Tree, before: Tree) -> Errors:
    pairs = {part: list(zip(spec.get(part) or (), before.get(part) or (), strict=True)) for part in _PARTS}
    for part in reversed(_PARTS):
        for index, (container, old) in enumerate(pairs[part]):
            for kind in ("requests", "limits"):
                if _removed(container.get("resources") or {}, old.get("resources") or {}, kind):
                    path = f"spec.{part}[{index}].resources.{kind}"
                    yield forbidden(path, f"resource {kind} cannot be removed")
    for container, old in pairs["containers"]:
        if not same(_with_compute_of(container, old), old):
            yield forbidden("spec", _ONLY_COMPUTE)
    for index, (container, old) in enumerate(pairs["initContainers"]):
        path = f"spec.initContainers[{index}]"
        if not same(_with_compute_of(container, old), old):
            yield forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable")
        if not is_sidecar(container) and not same(container, old):
            for policy in container.get("resizePolicy") or ():
                if policy.get("restartPolicy") == "RestartContainer":
                    sentence = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                    yield forbidden(path, sentence)


def _removed(new: Tree, old: Tree, part: str) -> bool:
    return not (old.get(part) or {}).keys() <= (new.get(part) or {}).keys()


def _with_compute_of(container: Tree, old: Tree) -> Tree:
    return {**container, "resources": _with_old_compute(container.get("resources") or {}, old.get("resources") or {})}


def _with_old_compute(resources: Tree, old: Tree) -> Tree:
    """Resources with cpu and memory as they were: what is left are changes that are not allowed."""
    reverted = {key: value for key, value in resources.items() if key not in ("limits", "requests")}
    for part in ("limits", "requests"):
        kept = {name: amount for name, amount in (resources.get(part) or {}).items() if name not in _COMPUTE}
        kept |= {name: amount for name, amount in (old.get(part) or {}).items() if name in _COMPUTE}
        if kept:
            reverted[part] = kept
    return reverted


RESIZE = Subresource(kind="Pod", prepare=_prepare, validate=_validate)
