"""What the server makes of a pod before it is judged: its status, its generation, what follows from its fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eachnode.server.kind import Call, Tree
from eachnode.server.kinds.pods.conditions import set_condition
from eachnode.server.kinds.pods.equality import same
from eachnode.server.kinds.pods.gates import drop_disabled, drop_disabled_status
from eachnode.server.kinds.pods.parts import containers_of, inner, is_windows
from eachnode.server.kinds.pods.resource_defaults import default_pod_resources, quality_of_service
from eachnode.server.kinds.pods.validation.annotations import APP_ARMOR, profile_from_annotation
from eachnode.server.kinds.pods.validation.security import validate_app_armor

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# Statuses that clients who do not know them lose when they write the rest back.
_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses")


def prepare_create(tree: Tree, call: Call) -> None:
    """A new pod is pending."""
    metadata, spec = tree["metadata"], tree.setdefault("spec", {})
    metadata["generation"] = 1
    status: Tree = {"phase": "Pending"}
    tree["status"] = status
    drop_disabled(spec, metadata.get("annotations"))
    if spec.get("schedulingGates"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        set_condition(status, "PodScheduled", "False", call.now, reason="SchedulingGated", message=message)
    _apply_label_keys(spec, metadata.get("labels") or {})
    call.warnings += _profiles_from_annotations(spec, metadata.get("annotations") or {})
    default_pod_resources(spec)
    status["qosClass"] = quality_of_service(spec)


def prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    """The status stays; the generation grows when the spec changes."""
    keep(new, old, "status")
    spec, before = new.setdefault("spec", {}), old.get("spec") or {}
    if "resources" not in spec and "resources" in before:
        spec["resources"] = before["resources"]
    drop_disabled(spec, new["metadata"].get("annotations"))
    count_generation(new, old)


def prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    """The spec and the owners stay, and what is in the status for good."""
    keep(new, old, "spec")
    keep(new["metadata"], old["metadata"], "ownerReferences")
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for field in (*_KEPT, *(("qosClass",) if not status.get("qosClass") else ())):
        if field not in status and field in before:
            status[field] = before[field]
    _keep_observed_generations(status, before)
    drop_disabled_status(status)


def keep(new: Tree, old: Tree, field: str) -> None:
    """The new object has this field as the old one had it."""
    new.pop(field, None)
    if field in old:
        new[field] = old[field]


def count_generation(new: Tree, old: Tree) -> None:
    """The generation counts the changes of the spec."""
    if not same(new.get("spec") or {}, old.get("spec") or {}):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _keep_observed_generations(status: Tree, before: Tree) -> None:
    """Whoever does not say which generation they saw leaves what was there."""
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    seen: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        seen.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        earlier = seen.get(condition.get("type", "")) or [0]
        generation = earlier.pop(0)
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def _apply_label_keys(spec: Tree, labels: dict[str, str]) -> None:
    """Keys whose values the pod's labels give become part of the selectors beside them."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in _terms(inner(spec, "affinity", kind) or {}):
            _extend(term, "matchLabelKeys", "In", labels)
            _extend(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _extend(constraint, "matchLabelKeys", "In", labels)


def _terms(pods: Tree) -> Iterator[Tree]:
    yield from (preferred.get("podAffinityTerm") or {} for preferred in pods.get(_PREFERRED) or ())
    yield from pods.get(_REQUIRED) or ()


def _extend(owner: Tree, field: str, operator: str, labels: dict[str, str]) -> None:
    selector, keys = owner.get("labelSelector"), [key for key in owner.get(field) or () if key in labels]
    if selector is not None and keys:
        expressions = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys]
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *expressions]


def _profiles_from_annotations(spec: Tree, annotations: dict[str, str]) -> Iterator[str]:
    """AppArmor profiles in annotations become fields, where there is none; yields what to warn of."""
    if is_windows(spec):
        return
    of_pod = inner(spec, "securityContext", "appArmorProfile")
    for container in containers_of(spec):
        key = APP_ARMOR + container.get("name", "")
        if key not in annotations or inner(container, "securityContext", "appArmorProfile") is not None:
            continue
        profile = profile_from_annotation(annotations[key])
        if profile is not None and _any(validate_app_armor(profile, "")):
            profile = None
        if profile is not None and profile == of_pod:
            continue
        if profile is not None:
            context = container.get("securityContext") or {}
            container["securityContext"] = {**context, "appArmorProfile": profile}
        yield f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _any(found: Iterable[object]) -> bool:
    return any(True for _ in found)
