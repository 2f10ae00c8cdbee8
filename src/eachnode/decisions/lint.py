"""Mistakes people make with DaemonSets, each with its reason and what to write instead.

A rule is a question put to the DaemonSet as it was written. An `error` does not work, or not as it says; a `warning`
works until it hurts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from eachnode.decisions.lint_view import PodSpec, Written
from eachnode.objects.affinity import NODE_NAME_FIELD, NodeSelectorTerm
from eachnode.objects.taints import NO_EXECUTE, NO_SCHEDULE, Taint, untolerated


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: where, why it is one, and what to write instead."""

    rule: str
    severity: Severity
    path: str
    because: str
    fix: str


POD = "spec.template.spec"
STRATEGY = "spec.updateStrategy"
_TERMS = f"{POD}.affinity.nodeAffinity"

Findings = Iterator[Finding]


def lint(tree: dict[str, Any]) -> list[Finding]:
    """Every mistake in a DaemonSet, errors first, each kind in the order of the rules."""
    try:
        written = msgspec.convert(_without_nulls(tree), Written)
    except (msgspec.ValidationError, ValueError) as error:
        return [
            Finding(
                "unreadable",
                Severity.ERROR,
                _place(str(error)),
                f"it cannot be read: {str(error).split(' - at ')[0]}",
                "write the kind of value that is expected there",
            )
        ]
    found = [finding for rule in RULES for finding in rule(written)]
    return sorted(found, key=lambda finding: finding.severity is not Severity.ERROR)


def _without_nulls(value: Any) -> Any:
    """The same without fields that are null: to the server those are absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _place(message: str) -> str:
    """The path in a decoder's message."""
    return message.partition("`$.")[2].rstrip("`") or "spec"


def _error(rule: str, path: str, because: str, fix: str) -> Finding:
    return Finding(rule, Severity.ERROR, path, because, fix)


def _warning(rule: str, path: str, because: str, fix: str) -> Finding:
    return Finding(rule, Severity.WARNING, path, because, fix)


# The DaemonSet itself


def _api_version(written: Written) -> Findings:
    if written.api_version != "apps/v1":
        yield _error(
            "api-version",
            "apiVersion",
            f"DaemonSets are served as apps/v1, not as {written.api_version}",
            "write apiVersion: apps/v1",
        )


def _selector(written: Written) -> Findings:
    selector = written.spec.selector
    labels = (written.spec.template.metadata.labels if written.spec.template.metadata else None) or {}
    if selector is None or selector.empty:
        because = (
            "an empty selector would select every pod, so the DaemonSet is refused" if selector else "it is missing"
        )
        example = next(iter(sorted(labels.items())), ("app", written.metadata.name))
        fix = f"write selector: {{matchLabels: {{{example[0]}: {example[1]}}}}}"
        yield _error("selector-missing", "spec.selector", because, fix)
    elif selector.problem:
        yield _error("selector-broken", "spec.selector", selector.problem, "correct the selector's expression")
    elif not selector.matches(labels):
        missing = {key: value for key, value in (selector.match_labels or {}).items() if labels.get(key) != value}
        named = ", ".join(f"{key}: {value}" for key, value in sorted(missing.items())) or selector.text
        yield _error(
            "selector-mismatch",
            "spec.template.metadata.labels",
            f"the selector ({selector.text}) does not select the pods of the template, so the server refuses it",
            f"give the template the labels {{{named}}}",
        )


def _replicas(written: Written) -> Findings:
    if written.spec.replicas is not None:
        yield _error(
            "replicas",
            "spec.replicas",
            "DaemonSets have no replicas: one pod runs on each node that should have one",
            "remove it, and choose nodes by nodeSelector, affinity or tolerations",
        )


# Updates


def _is_some(amount: int | str | None) -> bool:
    return amount not in (None, 0, "0", "0%")


def _surge(written: Written) -> Findings:
    rolling = written.spec.update_strategy.rolling_update
    if rolling is None or written.spec.update_strategy.type == "OnDelete":
        return
    path = f"{STRATEGY}.rollingUpdate"
    if not _is_some(rolling.max_surge):
        if rolling.max_unavailable is not None and not _is_some(rolling.max_unavailable):
            because = "maxUnavailable is 0 and maxSurge is 0, so no pod could ever be replaced"
            yield _error("budget-zero", path, because, "set one of them to 1 or more")
        return
    if rolling.max_unavailable is None or _is_some(rolling.max_unavailable):
        default = " (1 is filled in when it is absent)" if rolling.max_unavailable is None else ""
        yield _error(
            "surge-with-unavailable",
            f"{path}.maxUnavailable",
            f"with maxSurge it has to be 0{default}, so the server refuses it",
            "write maxUnavailable: 0",
        )
    if ports := _host_ports(written.pod):
        yield _error(
            "surge-with-host-port",
            f"{path}.maxSurge",
            f"the second pod of a node cannot start while the first has the node's port {', '.join(ports)}, "
            "so an update never ends",
            "remove maxSurge and set maxUnavailable, or remove the host port",
        )


def _host_ports(pod: PodSpec) -> list[str]:
    ports = [port for _, container in pod.all_containers for port in container.ports or ()]
    if pod.host_network:
        return [str(port.container_port) for port in ports]
    return [str(port.host_port) for port in ports if port.host_port]


def _all_at_once(written: Written) -> Findings:
    rolling = written.spec.update_strategy.rolling_update
    if rolling is not None and rolling.max_unavailable == "100%" and not _is_some(rolling.max_surge):
        yield _warning(
            "all-at-once",
            f"{STRATEGY}.rollingUpdate.maxUnavailable",
            "100% replaces the pods of all nodes at the same time, so a bad template stops every one of them",
            "allow a share, such as 10%",
        )


# Which nodes


def _node_name(written: Written) -> Findings:
    if written.pod.node_name:
        yield _warning(
            "node-name",
            f"{POD}.nodeName",
            f"it ties the DaemonSet to the one node {written.pod.node_name}",
            "remove it, and choose nodes by nodeSelector or affinity",
        )


def _affinity(written: Written) -> Findings:
    affinity = written.pod.affinity.node_affinity if written.pod.affinity else None
    if affinity is None:
        return
    required = f"{_TERMS}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    terms = affinity.required.node_selector_terms if affinity.required else None
    for number, term in enumerate(terms or ()):
        yield from _term(f"{required}[{number}]", term)
    if affinity.required is not None and not terms:
        because = "the required node affinity has no terms, so it matches no node"
        yield _error("affinity-matches-nothing", required, because, "write a term, or remove the affinity")
    preferred = f"{_TERMS}.preferredDuringSchedulingIgnoredDuringExecution"
    for number, wish in enumerate(affinity.preferred or ()):
        yield from _term(f"{preferred}[{number}].preference", wish.preference)


def _term(path: str, term: NodeSelectorTerm) -> Findings:
    by_name = [each for each in term.match_expressions or () if each.key == NODE_NAME_FIELD]
    for expression in by_name:
        yield _error(
            "affinity-on-node-name",
            f"{path}.matchExpressions",
            f"{expression} asks for a label called metadata.name, which no node has, so it matches nothing",
            "move it to matchFields",
        )
    if not by_name and term.problem:
        because = f"{term.problem}; the term matches no node"
        yield _error("affinity-matches-nothing", path, because, "correct the term, or remove it")


_CONTROL_PLANE = Taint(key="node-role.kubernetes.io/control-plane", effect=NO_SCHEDULE)
_GPU = Taint(key="nvidia.com/gpu", value="present", effect=NO_SCHEDULE)
_ANY = (Taint(key="any", effect=NO_SCHEDULE), Taint(key="any", effect=NO_EXECUTE))

# What names suggest → the taints that such an agent has to put up with, why, and the toleration to add.
_SUGGESTIONS: tuple[tuple[re.Pattern[str], tuple[Taint, ...], str, str], ...] = (
    (
        re.compile(r"(^|[-_/])(cni|calico|cilium|flannel|weave|multus|kube-proxy|kindnet|antrea)"),
        _ANY,
        "a network agent has to run on every node, also on those that are tainted until it does",
        "add the toleration {operator: Exists}",
    ),
    (
        re.compile(r"(^|[-_/])(csi)([-_]|$)|csi-node"),
        _ANY,
        "a storage agent has to run wherever a pod may need its volumes, whatever the node's taints",
        "add the toleration {operator: Exists}",
    ),
    (
        re.compile(r"nvidia|gpu|dcgm"),
        (_GPU,),
        "nodes with GPUs are usually tainted nvidia.com/gpu",
        "add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}",
    ),
    (
        re.compile(r"exporter|fluent|filebeat|metricbeat|vector|promtail|logging|log-|-logs?$|falco|telegraf|datadog|otel|node-local-dns"),
        (_CONTROL_PLANE,),
        "it sees nothing of control-plane nodes, which are tainted",
        "add the toleration {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}",
    ),
)  # fmt: skip


def _tolerations(written: Written) -> Findings:
    name = written.metadata.name
    for pattern, taints, because, fix in _SUGGESTIONS:
        if pattern.search(name):
            if any(untolerated(taints, written.pod.tolerations or ())):
                yield _warning(
                    "tolerations", f"{POD}.tolerations", f"by its name ({name}) this is one of those: {because}", fix
                )
            return


# Pods


def _restarts(written: Written) -> Findings:
    policy = written.pod.restart_policy
    if policy not in (None, "Always"):
        because = f"a daemon pod is to run always, so the server refuses {policy}"
        yield _error("restart-policy", f"{POD}.restartPolicy", because, "remove it, or write Always")
    if written.pod.active_deadline_seconds is not None:
        because = "a daemon pod is to run always, so the server refuses a deadline"
        yield _error("deadline", f"{POD}.activeDeadlineSeconds", because, "remove it")


def _containers(written: Written) -> Findings:
    if not written.pod.containers:
        yield _error("no-containers", f"{POD}.containers", "a pod needs a container", "write one")


def _priority(written: Written) -> Findings:
    if not written.pod.priority_class_name:
        yield _warning(
            "no-priority-class",
            f"{POD}.priorityClassName",
            "on a full node its pod waits for room, and is among the first to be evicted",
            "give it a priority class; system-node-critical for what a node cannot work without",
        )


def _requests(written: Written) -> Findings:
    for where, container in written.pod.all_containers:
        asked = (container.resources.requests or container.resources.limits or {}) if container.resources else {}
        missing = [name for name in ("cpu", "memory") if name not in asked]
        if missing and where.startswith("containers"):
            yield _warning(
                "no-requests",
                f"{POD}.{where}.resources.requests",
                f"it asks for no {' and no '.join(missing)}, so nodes are filled as if it needed none, "
                "and it is evicted first when they are short",
                f"write what it usually needs: {{{', '.join(_EXAMPLES[name] for name in missing)}}}",
            )


_EXAMPLES = {"cpu": "cpu: 50m", "memory": "memory: 64Mi"}


def _images(written: Written) -> Findings:
    for where, container in written.pod.all_containers:
        if not container.image:
            path = f"{POD}.{where}.image"
            yield _error("no-image", path, "a container needs an image", "write one")
        elif (tag := _moving_tag(container.image)) is not None:
            yield _warning(
                "moving-tag",
                f"{POD}.{where}.image",
                f"{container.image} {tag}: nodes run whatever it was when they pulled it, and updates change nothing",
                "name a version, or a digest",
            )


def _moving_tag(image: str) -> str | None:
    """What is wrong with an image's tag; None when it names a version."""
    if "@" in image:
        return None
    _, colon, tag = image.rpartition("/")[2].partition(":")
    if not colon:
        return "has no tag, which means latest"
    return "moves" if tag == "latest" else None


_MEANT_TO_BE_WRITTEN = ("DirectoryOrCreate", "FileOrCreate", "Socket", "BlockDevice", "CharDevice")


def _host_paths(written: Written) -> Findings:
    paths = {
        volume.name: volume.host_path.path
        for volume in written.pod.volumes or ()
        if volume.host_path is not None and volume.host_path.type not in _MEANT_TO_BE_WRITTEN
    }
    for where, container in written.pod.all_containers:
        for mount in container.volume_mounts or ():
            path = paths.get(mount.name)
            if path is None or mount.read_only or path.startswith(("/run", "/var/run", "/dev")):
                continue  # Sockets and devices are of no use read-only.
            yield _warning(
                "writable-host-path",
                f"{POD}.{where}.volumeMounts[{mount.mount_path}]",
                f"the node's {path} can be written from the container",
                "write readOnly: true, unless it has to write there (then say so with type: DirectoryOrCreate)",
            )


def _host_network_names(written: Written) -> Findings:
    if written.pod.host_network and written.pod.dns_policy in (None, "ClusterFirst"):
        yield _warning(
            "host-network-dns",
            f"{POD}.dnsPolicy",
            "on the node's network ClusterFirst means the node's resolver, so names of services are not found",
            "write dnsPolicy: ClusterFirstWithHostNet, or Default if it needs no names of services",
        )


RULES: tuple[Callable[[Written], Findings], ...] = (
    _api_version,
    _selector,
    _replicas,
    _surge,
    _all_at_once,
    _node_name,
    _affinity,
    _tolerations,
    _containers,
    _restarts,
    _priority,
    _requests,
    _images,
    _host_paths,
    _host_network_names,
)
