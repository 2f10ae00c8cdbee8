"""Containers: what all of them must be, and what init and ephemeral containers must be besides."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import PROBES, is_sidecar
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.environment import validate_environment
from eachnode.server.kinds.pods.validation.fields import PodContext
from eachnode.server.kinds.pods.validation.handlers import validate_lifecycle, validate_probes
from eachnode.server.kinds.pods.validation.mounts import validate_devices, validate_mounts
from eachnode.server.kinds.pods.validation.network import validate_host_ports, validate_ports
from eachnode.server.kinds.pods.validation.resources import validate_container_resources
from eachnode.server.kinds.pods.validation.security import validate_container_security

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
RESTART_ACTIONS = ("Restart", "RestartAllContainers")
# What an ephemeral container must not have, in the order of its fields.
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)

Errors = Iterator[FieldError]


def validate_containers(path: str, pod: PodContext) -> Errors:
    """The regular containers: at least one."""
    containers = pod.spec.get("containers") or ()
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        yield from _validate_common(container, place, pod)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.add(name)
        yield from _validate_handlers(container, place, pod)
        yield from _validate_restarts(container, place)
    yield from validate_host_ports(containers, path)


def validate_init_containers(path: str, pod: PodContext) -> Errors:
    """Containers that run before the others, and sidecars, which stay."""
    names = {container.get("name", "") for container in pod.spec.get("containers") or ()}
    for index, container in enumerate(pod.spec.get("initContainers") or ()):
        place = f"{path}[{index}]"
        yield from _validate_common(container, place, pod)
        yield from _validate_restarts(container, place, rules_need_policy=True)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{place}.name", name)
        if name:
            names.add(name)
        # They run one by one, so that two of them may use the same port; the reference names the list, not the entry.
        yield from validate_host_ports((container,), path)
        if is_sidecar(container):
            yield from _validate_handlers(container, place, pod)
        else:
            yield from _validate_passing(container, place, pod)


def _validate_passing(container: Tree, path: str, pod: PodContext) -> Errors:
    """What an init container that ends cannot have."""
    for name in ("lifecycle", *PROBES):
        if container.get(name) is not None:
            yield forbidden(f"{path}.{name}", "may not be set for init containers without restartPolicy=Always")
    if pod.lenient.restarting_init_resize:
        return
    for policy, place in fields.each(container, "resizePolicy", path):
        if policy.get("restartPolicy") == "RestartContainer":
            sentence = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{place}.restartPolicy", "RestartContainer", sentence)


def validate_ephemeral_containers(path: str, pod: PodContext) -> Errors:
    """Containers that were added to look into a running pod."""
    lists = ("containers", "initContainers")
    lasting = {container.get("name", "") for part in lists for container in pod.spec.get(part) or ()}
    names = set(lasting)
    for index, container in enumerate(pod.spec.get("ephemeralContainers") or ()):
        place = f"{path}[{index}]"
        yield from _validate_common(container, place, pod)
        yield from validate_image_padding(container, place)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.add(name)
        if target and target not in lasting:
            yield not_found(f"{place}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if container.get(field) not in (None, {}):
                yield forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container")
        for mount, mount_path in fields.each(container, "volumeMounts", place):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(f"{mount_path}.{field}", "cannot be set for an Ephemeral Container")


def validate_image_padding(container: Tree, path: str) -> Errors:
    """The image name of a pod, unlike that of a template, must not be padded."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _validate_common(container: Tree, path: str, pod: PodContext) -> Errors:
    yield from fields.name_or_required(f"{path}.name", container.get("name"))
    if not container.get("image"):
        yield required(f"{path}.image")
    message = container.get("terminationMessagePolicy")
    yield from fields.required_one_of(f"{path}.terminationMessagePolicy", message, MESSAGE_POLICIES)
    yield from validate_ports(container, path)
    yield from validate_environment(container, path)
    yield from validate_mounts(container, path, pod)
    yield from validate_devices(container, path, pod)
    yield from fields.required_one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    yield from validate_container_resources(container.get("resources") or {}, f"{path}.resources", pod)
    yield from _validate_resizing(container, f"{path}.resizePolicy", pod)
    yield from validate_container_security(container.get("securityContext"), f"{path}.securityContext", pod)


def _validate_handlers(container: Tree, path: str, pod: PodContext) -> Errors:
    if (lifecycle := container.get("lifecycle")) is not None:
        yield from validate_lifecycle(lifecycle, f"{path}.lifecycle", pod.grace)
    yield from validate_probes(container, path, pod.grace)


def _validate_resizing(container: Tree, path: str, pod: PodContext) -> Errors:
    """What a change of resources does to a container; the reference reports most of it at the list."""
    never = pod.spec.get("restartPolicy") == "Never"
    named: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in named:
            yield duplicate(f"{path}[{index}]", resource)
        named.add(resource)
        yield from fields.required_one_of(path, resource, ("cpu", "memory"))
        yield from fields.required_one_of(path, restart, ("NotRequired", "RestartContainer"))
        if never and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _validate_restarts(container: Tree, path: str, *, rules_need_policy: bool = False) -> Errors:
    """When a container is started again, by its own rules instead of the pod's."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is not None:
        yield from fields.one_of(f"{path}.restartPolicy", policy, RESTART_POLICIES)
    elif rules:
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
        if rules_need_policy:
            return
    if len(rules) > 20:
        yield too_many(f"{path}.restartPolicyRules", len(rules), 20)
    for rule, place in fields.each(container, "restartPolicyRules", path):
        yield from _validate_rule(rule, place)


def _validate_rule(rule: Tree, path: str) -> Errors:
    if (action := rule.get("action", "")) not in RESTART_ACTIONS:
        yield not_supported(f"{path}.action", action, RESTART_ACTIONS)
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    yield from fields.one_of(f"{path}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn"))
    if len(values := codes.get("values") or ()) > 255:
        yield too_many(f"{path}.exitCodes.values", len(values), 255)
