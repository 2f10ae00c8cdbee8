"""Nodes: registered with the status they report; `spec` says who may run there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from eachnode.objects.formats import label_value
from eachnode.objects.resources import NODES
from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    shown,
)
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.addresses import parse_range, validate_range
from eachnode.server.kinds.labels import validate_label_key
from eachnode.server.kinds.resource_names import validate_amount
from eachnode.server.kinds.rows import AGE, NAME, NONE, UNKNOWN, age_of, at, name_of

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ROLE_LABEL = "node-role.kubernetes.io/"
_OLD_ROLE_LABEL = "kubernetes.io/role"
_FEATURE_NAME = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_RANGE_CHANGED = 'node updates may not change podCIDR except from "" to valid'


def _default(tree: Tree) -> None:
    status = tree.get("status", {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    _mirror_ranges(tree.get("spec", {}))


def _mirror_ranges(spec: Tree) -> None:
    """podCIDR is the first of podCIDRs; where they differ, the older field decides."""
    single, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not several or several[0] != single):
        spec["podCIDRs"] = [single]
    elif several and not single:
        spec["podCIDR"] = several[0]


def _prepare_create(tree: Tree, _call: Call) -> None:
    _drop_retired(tree.get("spec", {}), {}, "configSource")
    _drop_retired(tree.get("status", {}), {}, "config")


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    new.pop("status", None)
    if "status" in old:
        new["status"] = old["status"]
    _drop_retired(new.get("spec", {}), old.get("spec", {}), "configSource")


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    new.pop("spec", None)
    if "spec" in old:
        new["spec"] = old["spec"]
    _drop_retired(new.get("status", {}), old.get("status", {}), "config")


def _drop_retired(new: Tree, old: Tree, field: str) -> None:
    """Dynamic kubelet configuration is gone from Kubernetes: only objects that carry it from old keep it."""
    if field not in old:
        new.pop(field, None)


def _validate(tree: Tree) -> Iterator[FieldError]:
    spec, status = tree.get("spec", {}), tree.get("status", {})
    yield from _validate_taints(spec.get("taints", ()))
    yield from _validate_resources(status)
    yield from _validate_features(status.get("declaredFeatures", ()))
    yield from _validate_ranges(spec.get("podCIDRs", ()))


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    spec, was = new.get("spec", {}), old.get("spec", {})
    yield from _validate_addresses(at(new, "status", "addresses", missing=()))
    ranges, known = spec.get("podCIDRs", ()), was.get("podCIDRs", ())
    if known:
        changes = 1 if len(known) != len(ranges) else sum(a != b for a, b in zip(ranges, known, strict=True))
        for _ in range(changes):
            yield forbidden("spec.podCIDRs", _RANGE_CHANGED)
    if was.get("providerID") and spec.get("providerID") != was["providerID"]:
        done = "modified" if spec.get("providerID") else "cleared"
        yield invalid("spec.providerID", None, f"field cannot be {done} once set")
    if spec.get("externalID", "") != was.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _validate_status(new: Tree, old: Tree) -> Iterator[FieldError]:
    status = new.get("status", {})
    yield from _validate_resources(status)
    yield from _validate_features(status.get("declaredFeatures", ()))
    yield from _validate_update(new, old)
    yield from _validate_taints(at(new, "spec", "taints", missing=()))


def _validate_taints(taints: Sequence[Mapping[str, str]]) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        # The reference reports spec.taints under metadata.
        path = f"metadata.taints[{index}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from validate_label_key(key, f"{path}.key")
        if problems := label_value(value):
            yield invalid(f"{path}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in TAINT_EFFECTS:
            yield not_supported(f"{path}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            error = duplicate(path, _as_internal(taint))
            detail = "taints must be unique by key and effect pair"
            yield FieldError(path, error.reason, f"{error.message}: {detail}")
        seen.add((key, effect))


def _as_internal(taint: Mapping[str, str]) -> dict[str, Any]:
    """A taint as the reference's internal type prints: capitalised names, nothing left out."""
    return {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }


def _validate_resources(status: Tree) -> Iterator[FieldError]:
    for part in ("capacity", "allocatable"):
        for name, amount in sorted(status.get(part, {}).items()):
            yield from validate_amount(name, amount, f"status.{part}.{name}")


def _validate_features(features: Sequence[str]) -> Iterator[FieldError]:
    for index, feature in enumerate(features):
        if problem := _feature_problem(feature):
            wrong = f"invalid feature name {shown(feature)}: {problem}"
            yield invalid(f"status.declaredFeatures[{index}]", feature, wrong)
    for index, (before, after) in enumerate(pairwise(features), start=1):
        path = f"status.declaredFeatures[{index}]"
        if before == after:
            yield duplicate(path, after)
        elif before > after:
            yield invalid(path, after, "list must be sorted alphabetically")


def _feature_problem(feature: str) -> str:
    if len(feature.encode()) > 253:
        return "must be no more than 253 characters"
    if _FEATURE_NAME.fullmatch(feature):
        return ""
    return (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
        "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )


def _validate_ranges(ranges: Sequence[str]) -> Iterator[FieldError]:
    for index, text in enumerate(ranges):
        yield from validate_range(text, f"spec.podCIDRs[{index}]")
    if len(ranges) > 1:
        families = {network.version for network in map(parse_range, ranges) if network}
        if len(families) < 2 or len(ranges) > 2:
            yield invalid("spec.podCIDRs", list(ranges), "may specify no more than one CIDR for each IP family")


def _validate_addresses(addresses: Sequence[Mapping[str, str]]) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(addresses):
        pair = (address.get("type", ""), address.get("address", ""))
        if pair in seen:
            yield duplicate(f"status.addresses[{index}]", {"Type": pair[0], "Address": pair[1]})
        seen.add(pair)


def _warn(new: Tree, _old: Tree | None) -> Iterator[str]:
    spec = new.get("spec", {})
    if spec.get("configSource"):
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def _row(tree: Tree, now: float) -> list[Any]:
    info = at(tree, "status", "nodeInfo", missing={})
    kernel = info.get("kernelVersion") or UNKNOWN
    if architecture := info.get("architecture"):
        kernel += f" ({architecture})"
    return [
        name_of(tree),
        _state(tree),
        ",".join(_roles(tree)) or NONE,
        age_of(tree, now),
        info.get("kubeletVersion", ""),
        _address(tree, "InternalIP"),
        _address(tree, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _state(tree: Tree) -> str:
    state = "Unknown"
    for condition in at(tree, "status", "conditions", missing=()):
        if condition.get("type") == "Ready":
            state = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if at(tree, "spec", "unschedulable") else state


def _roles(tree: Tree) -> list[str]:
    labels = tree["metadata"].get("labels", {})
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)}
    return sorted((roles | {labels.get(_OLD_ROLE_LABEL, "")}) - {""})


def _address(tree: Tree, kind: str) -> str:
    for address in at(tree, "status", "addresses", missing=()):
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


NODE = Kind(
    resource=NODES,
    singular="node",
    definition="io.k8s.api.core.v1.Node",
    short_names=("no",),
    has_status=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    validate_name=name_rules.dns_subdomain,
    warn=_warn,
    columns=(
        NAME,
        Column("Status", description="The status of the node"),
        Column("Roles", description="The roles of the node"),
        AGE,
        Column("Version", description="The version of its kubelet"),
        Column("Internal-IP", priority=1, description="Its address within the cluster"),
        Column("External-IP", priority=1, description="Its address for the outside"),
        Column("OS-Image", priority=1, description="The operating system"),
        Column("Kernel-Version", priority=1, description="The kernel"),
        Column("Container-Runtime", priority=1, description="The container runtime and its version"),
    ),
    row=_row,
    fields={"spec.unschedulable": lambda tree: "true" if at(tree, "spec", "unschedulable") else "false"},
)
