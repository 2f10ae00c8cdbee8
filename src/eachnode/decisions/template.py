"""What is made from a template: the bytes of a pod and the bytes of a revision.

A pod's body is the same on every node but for the node's name, so it is encoded once. A revision's data is what the
reference writes, byte for byte, so that both recognise each other's. What a template *means* is compared apart from
that: the order of keys, absent values and spelled-out defaults make no difference there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.decisions.eligibility import with_daemon_tolerations
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.formats import dns_subdomain
from eachnode.objects.go_text import go_json, go_json_sorted
from eachnode.objects.pod import GENERATION_LABEL, REVISION_LABEL
from eachnode.objects.quantities import canonical
from eachnode.objects.resources import PODS
from eachnode.objects.taints import Toleration

Tree = dict[str, Any]

LONGEST_PREFIX = 58  # Of a generated name, so that with its suffix it is a DNS label.

# These stand for the names of pod and node while the body is encoded; no name can contain them.
_POD, _NODE = "\ue000pod\ue000", "\ue000node\ue000"


@dataclass(frozen=True, slots=True)
class PodBody:
    """The body of a pod, cut where its name and the node's name go."""

    head: bytes
    pieces: tuple[bytes, ...]

    def on(self, node: str, name: str) -> bytes:
        """The body of the pod of this name for this node."""
        return self.head + msgspec.json.encode(name) + msgspec.json.encode(node).join(self.pieces)


def pod_body(daemonset: DaemonSet, revision: str, *, bind: bool = False) -> PodBody:
    """What to POST for this DaemonSet; `bind` sets the node directly instead of leaving that to a scheduler.

    Raises ValueError for a pod that must not be made: it could never be told whose it is.
    """
    template = daemonset.template_tree
    labels = _pod_labels(daemonset, revision)
    if not labels:
        raise ValueError("unable to create pods, no labels")
    owner = daemonset.owner_reference.tree()
    if missing := [name for name in ("name", "uid") if not owner.get(name)]:
        raise ValueError(f"unable to create pods, the DaemonSet has no {missing[0]}")
    metadata: Tree = {"name": _POD, "generateName": name_prefix(daemonset.name), "labels": labels}
    given = template.get("metadata") or {}
    metadata |= {name: given[name] for name in ("annotations", "finalizers") if given.get(name)}
    metadata["ownerReferences"] = [owner]
    spec = _pinned(template.get("spec") or {})
    if bind:
        spec["nodeName"] = _NODE
    body = {"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": metadata, "spec": spec}
    head, _, rest = msgspec.json.encode(body).partition(msgspec.json.encode(_POD))
    return PodBody(head, tuple(rest.split(msgspec.json.encode(_NODE))))


def pod_name(daemonset_name: str, suffix: str) -> str:
    """A name as the server makes it of a prefix that does not end the name."""
    return name_prefix(daemonset_name)[:LONGEST_PREFIX] + suffix


def name_prefix(daemonset_name: str) -> str:
    """What the names of its pods begin with: its own with a dash, unless that is too long to begin a name."""
    prefix = f"{daemonset_name}-"
    return daemonset_name if dns_subdomain(prefix[:-1] + "a") else prefix


def _pod_labels(daemonset: DaemonSet, revision: str) -> dict[str, str]:
    labels = dict((daemonset.template_tree.get("metadata") or {}).get("labels") or {})
    if daemonset.template_generation is not None:
        labels[GENERATION_LABEL] = daemonset.template_generation
    if revision:
        labels[REVISION_LABEL] = revision
    return labels


def _pinned(spec: Mapping[str, Any]) -> Tree:
    """A pod's spec from a template's: tolerations added, and required node affinity replaced by the node's name."""
    given = msgspec.convert(spec.get("tolerations") or (), tuple[Toleration, ...])
    tolerations = with_daemon_tolerations(given, host_network=bool(spec.get("hostNetwork")))
    affinity = dict(spec.get("affinity") or {})
    field = {"key": "metadata.name", "operator": "In", "values": [_NODE]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    affinity["nodeAffinity"] = node_affinity
    return {**spec, "affinity": affinity, "tolerations": [_toleration_tree(each) for each in tolerations]}


def _toleration_tree(toleration: Toleration) -> Tree:
    tree = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    kept: Tree = {name: value for name, value in tree.items() if value}
    if toleration.toleration_seconds is not None:
        kept["tolerationSeconds"] = toleration.toleration_seconds
    return kept


def revision_data(template: Mapping[str, Any]) -> bytes:
    """What a revision records of a template, as the reference writes it."""
    recorded = {**without_nulls(template), "$patch": "replace"}
    return go_json_sorted({"spec": {"template": recorded}})


def recorded_template(data: bytes) -> Tree | None:
    """The template in a revision's data; None when there is none."""
    try:
        template = msgspec.json.decode(data)["spec"]["template"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    if not isinstance(template, dict):
        return None
    template.pop("$patch", None)
    return template


def without_nulls(value: Any) -> Any:
    """The value without members that are null: Go does not write them."""
    if isinstance(value, Mapping):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


# What a template means


def meaning(template: Mapping[str, Any]) -> bytes:
    """A text that two templates share exactly when they mean the same."""
    tree = without_nulls(template)
    metadata = {key: value for key, value in tree.get("metadata", {}).items() if key != "creationTimestamp" and value}
    return go_json({"metadata": _ordered(metadata), "spec": _ordered(_pod_meaning(tree.get("spec", {})))})


def _ordered(value: Any) -> Any:
    """Keys in order, and no empty lists, which mean the same as none."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value) if value[key] != []}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


_POD_DEFAULTS: Tree = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
    "enableServiceLinks": True,
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
}
_CONTAINER_DEFAULTS: Tree = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_PROBE_DEFAULTS: Tree = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES_WITH_MODE = ("secret", "configMap", "downwardAPI", "projected")
_FILE_MODE = 0o644


def _but_defaults(tree: Mapping[str, Any], defaults: Mapping[str, Any]) -> Tree:
    return {key: value for key, value in tree.items() if key not in defaults or value != defaults[key]}


def _pod_meaning(spec: Tree) -> Tree:
    result = _but_defaults(spec, _POD_DEFAULTS)
    if result.get("serviceAccount") == result.get("serviceAccountName"):
        result.pop("serviceAccount", None)  # The old name of the same field.
    on_host = bool(spec.get("hostNetwork"))
    for name in ("containers", "initContainers"):
        _each(result, name, lambda container: _container_meaning(container, on_host))
    _each(result, "volumes", _volume_meaning)
    return result


def _each(tree: Tree, name: str, rule: Callable[[Tree], Tree]) -> None:
    """Replace the objects in a list by what the rule makes of them."""
    if isinstance(tree.get(name), list):
        tree[name] = [rule(item) if isinstance(item, dict) else item for item in tree[name]]


def _inside(tree: Tree, name: str, rule: Callable[[Tree], Tree]) -> None:
    """Replace the object in a field by what the rule makes of it."""
    if isinstance(tree.get(name), dict):
        tree[name] = rule(tree[name])


def _container_meaning(container: Tree, on_host: bool) -> Tree:
    result = dict(container)
    _inside(result, "resources", _resources_meaning)
    result = _but_defaults(result, _CONTAINER_DEFAULTS)
    if result.get("imagePullPolicy") == _usual_pull_policy(str(result.get("image", ""))):
        del result["imagePullPolicy"]
    _each(result, "ports", lambda port: _port_meaning(port, on_host))
    _each(result, "env", _variable_meaning)
    for probe in _PROBES:
        _inside(result, probe, lambda tree: _handler_meaning(_but_defaults(tree, _PROBE_DEFAULTS)))
    _inside(result, "lifecycle", _lifecycle_meaning)
    return result


def _usual_pull_policy(image: str) -> str:
    """What the API fills in for an image: `latest` is pulled always."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if not digest and tag in ("", "latest") else "IfNotPresent"


def _port_meaning(port: Tree, on_host: bool) -> Tree:
    result = _but_defaults(port, {"protocol": "TCP", "hostPort": 0})
    if on_host and result.get("hostPort") == result.get("containerPort"):
        result.pop("hostPort", None)  # On the host's network there is no other choice; some releases spell it out.
    return result


def _resources_meaning(resources: Tree) -> Tree:
    result = dict(resources)
    for name in ("requests", "limits"):
        _inside(result, name, lambda amounts: {key: _quantity(value) for key, value in amounts.items()})
    return {key: value for key, value in result.items() if value != {}}


def _quantity(value: Any) -> Any:
    try:
        return canonical(value)
    except (ValueError, TypeError):
        return value


def _variable_meaning(variable: Tree) -> Tree:
    result = _but_defaults(variable, {"value": ""})
    _inside(result, "valueFrom", _source_meaning)
    return result


def _source_meaning(source: Tree) -> Tree:
    result = dict(source)
    _inside(result, "fieldRef", lambda tree: _but_defaults(tree, {"apiVersion": "v1"}))
    _inside(result, "resourceFieldRef", lambda tree: _but_defaults(tree, {"divisor": "0"}))
    return result


def _handler_meaning(handler: Tree) -> Tree:
    result = dict(handler)
    _inside(result, "httpGet", lambda tree: _but_defaults(tree, {"scheme": "HTTP"}))
    _inside(result, "grpc", lambda tree: _but_defaults(tree, {"service": ""}))
    return result


def _lifecycle_meaning(lifecycle: Tree) -> Tree:
    result = dict(lifecycle)
    for moment in ("postStart", "preStop"):
        _inside(result, moment, _handler_meaning)
    return result


def _volume_meaning(volume: Tree) -> Tree:
    result = dict(volume)
    _inside(result, "hostPath", lambda tree: _but_defaults(tree, {"type": ""}))
    for source in _SOURCES_WITH_MODE:
        _inside(result, source, lambda tree: _but_defaults(tree, {"defaultMode": _FILE_MODE}))
    return result
