"""Annotations of pods that mean something: profiles from before there were fields for them, and a few more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from eachnode.server.field_errors import FieldError, forbidden, invalid
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import containers_of, containers_with_paths, inner, is_windows
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext
from eachnode.server.kinds.pods.validation.placement import validate_tolerations

MIRROR = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCAL = "localhost/"
_COST = re.compile(r"0|-?[1-9][0-9]*")

Errors = Iterator[FieldError]
Annotations = Mapping[str, str]


def validate_pod_annotations(annotations: Annotations, path: str, pod: PodContext) -> Errors:
    """The annotations of a pod or template that mean something."""
    if MIRROR in annotations and not pod.spec.get("nodeName"):
        sentence = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], sentence)
    if text := annotations.get(TOLERATIONS):
        yield from _validate_tolerations(text, path)
    if not pod.lenient.deletion_cost and not has_sound_cost(annotations):
        yield invalid(f"{path}[{DELETION_COST}]", annotations[DELETION_COST], "must be a 32bit integer")
    of_containers = sorted(key for key in annotations if key.startswith(SECCOMP_CONTAINER))
    for key in (SECCOMP_POD, *of_containers):
        if key in annotations:
            yield from _validate_seccomp(annotations[key], f"{path}.{key}")
    names = {container.get("name", "") for container in containers_of(pod.spec)}
    for key in sorted(annotations):
        if key.startswith(APP_ARMOR):
            yield from _validate_app_armor(key, annotations[key], names, path)


def has_sound_cost(annotations: Annotations) -> bool:
    """Whether the cost of deleting the pod is a number of 32 bits, or not given."""
    text = annotations.get(DELETION_COST)
    return text is None or (bool(_COST.fullmatch(text)) and -(2**31) <= int(text) < 2**31)


def _validate_tolerations(text: str, path: str) -> Errors:
    try:
        tolerations: Any = msgspec.json.decode(text, type=list[dict[str, Any]])
    except msgspec.MsgspecError as error:
        yield invalid(path, TOLERATIONS, str(error))
        return
    yield from validate_tolerations(tolerations, f"{path}.{TOLERATIONS}")


def _validate_seccomp(profile: str, path: str) -> Errors:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith(_LOCAL):
        yield from fields.descending(path, profile.removeprefix(_LOCAL))
    else:
        yield invalid(path, profile, "must be a valid seccomp profile")


def _validate_app_armor(key: str, profile: str, names: set[str], path: str) -> Errors:
    name = key.removeprefix(APP_ARMOR)
    if name not in names:
        yield invalid(f"{path}[{key}]", name, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCAL):
        yield invalid(f"{path}[{key}]", profile, f'invalid AppArmor profile name: "{profile}"')


def validate_profiles_agree(annotations: Annotations, spec: Tree, path: str) -> Errors:
    """Where an annotation and a field both give a profile they must give the same."""
    of_pod = inner(spec, "securityContext", "seccompProfile")
    yield from _agree(annotations.get(SECCOMP_POD), of_pod, f"{path}.securityContext.seccompProfile", "seccomp")
    for container, place in containers_with_paths(spec, path):
        own = inner(container, "securityContext", "seccompProfile")
        text = annotations.get(SECCOMP_CONTAINER + container.get("name", ""))
        yield from _agree(text, own, f"{place}.securityContext.seccompProfile", "seccomp")
    if is_windows(spec):
        return
    of_pod = inner(spec, "securityContext", "appArmorProfile")
    for container, place in containers_with_paths(spec, path):
        own = inner(container, "securityContext", "appArmorProfile")
        text = annotations.get(APP_ARMOR + container.get("name", ""))
        yield from _agree(text, own or of_pod, f"{place}.securityContext.appArmorProfile", "apparmor")


def _agree(text: str | None, profile: Tree | None, path: str, kind: str) -> Errors:
    if text is None or profile is None:
        return
    allowed: dict[str, tuple[str, ...]] = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}
    if kind == "seccomp":
        allowed["RuntimeDefault"] += ("docker/default",)
    type_ = profile.get("type", "")
    fixed = type_ in allowed and text not in allowed[type_]
    if fixed or (type_ == "Localhost" and not text.startswith(_LOCAL)):
        yield forbidden(f"{path}.type", f"{kind} type in annotation and field must match")
    elif type_ == "Localhost" and profile.get("localhostProfile") != text.removeprefix(_LOCAL):
        yield forbidden(f"{path}.localhostProfile", f"{kind} profile in annotation and field must match")


def profile_from_annotation(text: str) -> Tree | None:
    """The AppArmor profile that an annotation means, or None when it means none."""
    if text == "unconfined":
        return {"type": "Unconfined"}
    if text == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = text.removeprefix(_LOCAL)
    return {"type": "Localhost", "localhostProfile": name} if text.startswith(_LOCAL) and name else None


def validate_annotation_changes(new: Annotations, old: Annotations, path: str) -> Errors:
    """Annotations that a pod keeps as they are."""
    for key in sorted(old):
        if new.get(key) == old[key]:
            continue
        if key.startswith(APP_ARMOR):
            yield forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations")
        if key == MIRROR:
            yield forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation")
    for key in sorted(new.keys() - old.keys()):
        if key.startswith(APP_ARMOR):
            yield forbidden(f"{path}[{key}]", "may not add AppArmor annotations")
        if key == MIRROR:
            yield forbidden(f"{path}[{key}]", "may not add mirror pod annotation")
