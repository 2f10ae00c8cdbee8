"""What the server warns of in a pod or pod template that it takes all the same."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from eachnode.objects.formats import label_value
from eachnode.objects.quantities import canonical
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import containers_with_paths, inner
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.annotations import (
    APP_ARMOR,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    profile_from_annotation,
)
from eachnode.server.kinds.pods.validation.network import parse_address
from eachnode.server.kinds.pods.warnings_paths import overlapping_paths

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
# (field, how the reference spells it in the warning, the warning)
_OLD_VOLUMES = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "ephemeral", ""),  # Its claim is looked at in this place.
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
_NO_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"

Warnings = Iterator[str]


def warnings_for(tree: Tree, path: str) -> Warnings:
    """The warnings for a pod (the path is empty) or a template."""
    spec = tree.get("spec") or {}
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    prefix = f"{path}." if path else ""
    at_spec, at_annotations = f"{prefix}spec", f"{prefix}metadata.annotations"
    yield from _old_labels(spec, at_spec)
    for key, message in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{at_annotations}[{key}]: {message}"
    yield from _volumes(spec, at_spec)
    yield from overlapping_paths(spec.get("volumes") or ())
    yield from _repeated(spec, "hostAliases", "ip", at_spec)
    yield from _repeated(spec, "imagePullSecrets", "name", at_spec)
    for secret, place in fields.each(spec, "imagePullSecrets", at_spec):
        if not secret.get("name"):
            yield f'{place}.name: invalid empty name ""'
    yield from _fractions(spec.get("overhead"), f"{at_spec}.overhead")
    if inner(spec, "securityContext", "seccompProfile") is None and SECCOMP_POD in annotations:
        yield f"{at_annotations}[{SECCOMP_POD}]: {_NO_FIELD}"
    of_pod = inner(spec, "securityContext", "appArmorProfile") if path else None
    for container, place in containers_with_paths(spec, at_spec):
        yield from _profiles(container, annotations, of_pod, at_annotations, in_template=bool(path))
        yield from _amounts(container, place)
        yield from _hidden_variables(container, place)
    yield from _ports(spec, at_spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        sentence = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at_spec}.terminationGracePeriodSeconds: {sentence}"
    yield from _terms_without_selector(spec, at_spec)
    yield from _addresses(spec, at_spec)


def _old_labels(spec: Tree, path: str) -> Warnings:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    nodes = inner(spec, "affinity", "nodeAffinity") or {}
    at_nodes = f"{path}.affinity.nodeAffinity"
    for term, place in fields.each(nodes.get(_REQUIRED) or {}, "nodeSelectorTerms", f"{at_nodes}.{_REQUIRED}"):
        yield from _old_labels_in_term(term, place, values=False)
    for preferred, place in fields.each(nodes, _PREFERRED, at_nodes):
        yield from _old_labels_in_term(preferred.get("preference") or {}, f"{place}.preference", values=True)
    for constraint, place in fields.each(spec, "topologySpreadConstraints", path):
        key = constraint.get("topologyKey", "")
        if key in _OLD_LABELS:
            yield f"{place}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{place}.labelSelector: {_NO_SELECTOR}"


def _old_labels_in_term(term: Tree, path: str, *, values: bool) -> Warnings:
    for expression, place in fields.each(term, "matchExpressions", path):
        key = expression.get("key", "")
        if key in _OLD_LABELS:
            yield f"{place}.key: {key} is {_OLD_LABELS[key]}"
        for index, value in enumerate(expression.get("values") or () if values else ()):
            for problem in label_value(value):
                yield f"{place}.values[{index}]: {value} is invalid, {problem}"


def _volumes(spec: Tree, path: str) -> Warnings:
    for volume, place in fields.each(spec, "volumes", path):
        for field, shown, message in _OLD_VOLUMES:
            if volume.get(field) is None:
                continue
            if message:
                yield f"{place}.{shown}: {message}"
            elif (claim := inner(volume, "ephemeral", "volumeClaimTemplate")) is not None:
                yield from _claim(claim, f"{place}.ephemeral.volumeClaimTemplate.spec.resources")


def _claim(claim: Tree, path: str) -> Warnings:
    for part in ("requests", "limits"):
        amount = inner(claim, "spec", "resources", part, "storage")
        yield from _fraction(amount, f"{path}.{part}[storage]")


def _repeated(spec: Tree, name: str, key: str, path: str) -> Warnings:
    seen: set[str] = set()
    for item, place in fields.each(spec, name, path):
        value = item.get(key, "")
        if value in seen:
            yield f'{place}.{key}: duplicate {key} "{value}"'
        seen.add(value)


def _fractions(amounts: dict[str, str] | None, path: str) -> Warnings:
    for name in ("memory", "ephemeral-storage"):
        yield from _fraction((amounts or {}).get(name), f"{path}[{name}]")


def _fraction(amount: str | None, path: str) -> Warnings:
    if amount is not None and not fields.is_integral(amount):
        yield f'{path}: fractional byte value "{canonical(amount)}" is invalid, must be an integer'


def _amounts(container: Tree, path: str) -> Warnings:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for part in ("limits", "requests"):
            amount = (resources.get(part) or {}).get(name)
            yield from _fraction(amount, f"{path}.resources.{part}[{name}]")


def _profiles(
    container: Tree, annotations: dict[str, str], of_pod: Tree | None, path: str, *, in_template: bool
) -> Warnings:
    context, name = container.get("securityContext") or {}, container.get("name", "")
    if context.get("seccompProfile") is None and SECCOMP_CONTAINER + name in annotations:
        yield f"{path}[{SECCOMP_CONTAINER}{name}]: {_NO_FIELD}"
    key = APP_ARMOR + name
    # Pods are warned of theirs when the annotation becomes a field.
    if in_template and context.get("appArmorProfile") is None and key in annotations:
        profile = profile_from_annotation(annotations[key])
        if of_pod is None or of_pod != profile:
            yield f'{path}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _hidden_variables(container: Tree, path: str) -> Warnings:
    seen: set[str] = set()
    for variable, place in fields.each(container, "env", path):
        name = variable.get("name", "")
        if name in seen:
            value, reference = variable.get("value", ""), f"$({name})"
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                yield f'{place}: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


@dataclass(frozen=True, slots=True)
class _Port:
    path: str
    host: str
    number: int


def _ports(spec: Tree, path: str) -> Warnings:
    """Ports that are there twice, or nearly."""
    known: dict[tuple[int, str], list[_Port]] = {}
    for container, container_path in containers_with_paths(spec, path):
        for tree, place in fields.each(container, "ports", container_path):
            port = _Port(place, tree.get("hostIP", ""), tree.get("hostPort", 0))
            if port.host and not port.number:
                yield f"{place}: hostIP set without hostPort: {_shown_port(tree)}"
            others = known.setdefault((tree.get("containerPort", 0), tree.get("protocol", "")), [])
            for other in others:
                if relation := _relation(port, other):
                    yield f"{place}: {relation} port definition with {other.path}"
            others.append(port)
    names: dict[str, str] = {}
    for container, container_path in containers_with_paths(spec, path):
        for tree, place in fields.each(container, "ports", container_path):
            if not (name := tree.get("name")):
                continue
            if first := names.get(name):
                sentence = f"services and probes that select ports by name will use {first}"
                yield f'{place}: duplicate port name "{name}" with {first}, {sentence}'
            names.setdefault(name, place)


def _relation(port: _Port, other: _Port) -> str:
    if (port.host, port.number) == (other.host, other.number):
        return "duplicate"
    if not port.number or not other.number:
        return "overlapping"
    if port.number == other.number and bool(port.host) != bool(other.host):
        return "dangerously ambiguous"
    return ""


def _shown_port(tree: Tree) -> str:
    """A port as Go's %+v prints it."""
    numbers = f"HostPort:{tree.get('hostPort', 0)} ContainerPort:{tree.get('containerPort', 0)}"
    return f"{{Name:{tree.get('name', '')} {numbers} Protocol:{tree.get('protocol', '')} HostIP:{tree['hostIP']}}}"


def _terms_without_selector(spec: Tree, path: str) -> Warnings:
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = inner(spec, "affinity", kind) or {}
        for term, place in fields.each(pods, _REQUIRED, f"{path}.affinity.{kind}"):
            if term.get("labelSelector") is None:
                yield f"{place}.labelSelector: {_NO_SELECTOR}"
        for preferred, place in fields.each(pods, _PREFERRED, f"{path}.affinity.{kind}"):
            if inner(preferred, "podAffinityTerm", "labelSelector") is None:
                yield f"{place}.podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _addresses(spec: Tree, path: str) -> Warnings:
    servers: Iterable[Any] = inner(spec, "dnsConfig", "nameservers") or ()
    for index, server in enumerate(servers):
        yield from address_warnings(f"{path}.dnsConfig.nameservers[{index}]", server)
    for alias, place in fields.each(spec, "hostAliases", path):
        yield from address_warnings(f"{place}.ip", alias.get("ip", ""))


def address_warnings(path: str, text: str) -> Warnings:
    """An IPv6 address should be written in the one way that is recommended."""
    address = parse_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None and str(address) != text:
        yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'
