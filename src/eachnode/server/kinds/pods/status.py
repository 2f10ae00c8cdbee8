"""What must not happen to a pod's status: ended containers do not come back, addresses are addresses."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.parts import inner, is_windows
from eachnode.server.kinds.pods.update import validate_kept_annotations
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.network import parse_address, validate_address

_LARGEST_UID = 2**32 - 1
_LONGEST_HEALTH_MESSAGE = 1024
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CLAIM = "claim:"

Errors = Iterator[FieldError]


def validate_pod_status(new: Tree, old: Tree) -> Errors:
    """Everything wrong with an update of a pod's status."""
    yield from validate_kept_annotations(new, old)
    spec, status, before = old.get("spec") or {}, new.get("status") or {}, old.get("status") or {}
    yield from _validate_conditions(status)
    yield from _validate_nomination(status, before, bound=bool(spec.get("nodeName")))
    if status.get("observedGeneration", 0) < 0:
        yield invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    if status.get("qosClass", "") != before.get("qosClass", ""):
        yield invalid("status.qosClass", status.get("qosClass", ""), "field is immutable")
    for name in _LISTS:
        yield from _validate_no_return(name, status, before, spec)
    yield from _validate_claim_statuses(status, spec)
    yield from _validate_extended_claims(status.get("extendedResourceClaimStatus"), spec)
    yield from _validate_addresses(status, before)
    for name in _LISTS:
        yield from _validate_users(status, name, spec)
    yield from _validate_health(status, spec)


def _validate_conditions(status: Tree) -> Errors:
    for condition, place in fields.each(status, "conditions", "status"):
        kind, generation = condition.get("type", ""), condition.get("observedGeneration", 0)
        if generation < 0:
            yield invalid(f"{place}.observedGeneration", generation, "must be a non-negative integer")
        if kind not in _SYSTEM_CONDITIONS:
            yield from fields.wrong(f"{place}.Type", kind, formats.qualified_name(kind))


def _validate_nomination(status: Tree, before: Tree, *, bound: bool) -> Errors:
    node, path = status.get("nominatedNodeName", ""), "status.nominatedNodeName"
    if not node or node == before.get("nominatedNodeName", ""):
        return
    yield from fields.dns_subdomain(path, node)
    if bound:
        yield forbidden(path, "may not be set on pods that are already bound to a node")


def _validate_no_return(name: str, status: Tree, before: Tree, spec: Tree) -> Errors:
    """A container that has ended for good does not leave that state."""
    part = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}.get(name)
    if part is not None and _all_may_restart(spec):
        return
    containers = {item.get("name", ""): item for item in spec.get(part) or ()} if part else {}
    for index, known in enumerate(before.get(name) or ()):
        terminated = inner(known, "state", "terminated")
        if terminated is None:
            continue
        container = containers.get(known.get("name", ""))
        if container is not None and _may_restart(container, spec, terminated.get("exitCode", 0)):
            continue
        if _returns(known.get("name", ""), status.get(name) or ()):
            yield forbidden(f"status.{name}[{index}].state", "may not be transitioned to non-terminated state")


def _returns(name: str, statuses: list[Tree] | tuple[Tree, ...]) -> bool:
    """Whether the first status of that name, where it counts, is of a container that has not ended."""
    return any(item.get("name") == name and inner(item, "state", "terminated") is None for item in statuses)


def _all_may_restart(spec: Tree) -> bool:
    """Whether the end of one container may start all of them again."""
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    rules = (rule for container in containers for rule in container.get("restartPolicyRules") or ())
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)


def _may_restart(container: Tree, spec: Tree, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None and any(_rule_applies(rule, code) for rule in container.get("restartPolicyRules") or ()):
        return True
    match policy or spec.get("restartPolicy"):
        case "OnFailure":
            return code != 0
        case "Never":
            return False
    return True


def _rule_applies(rule: Tree, code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not listed


def _validate_claim_statuses(status: Tree, spec: Tree) -> Errors:
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for claim, place in fields.each(status, "resourceClaimStatuses", "status"):
        name = claim.get("name", "")
        if name not in claims:
            yield invalid(f"{place}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        if (target := claim.get("resourceClaimName")) is not None:
            yield from fields.dns_subdomain(f"{place}.resourceClaimName", target)


def _validate_extended_claims(status: Tree | None, spec: Tree) -> Errors:
    """Which request of a claim stands for which extended resource of which container."""
    if status is None:
        return
    path = "status.extendedResourceClaimStatus"
    parts = ("initContainers", "containers")
    containers = {item.get("name", ""): item for part in parts for item in spec.get(part) or ()}
    if not status.get("requestMappings"):
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    for mapping, place in fields.each(status, "requestMappings", path):
        yield from _validate_mapping(mapping, place, containers, path)
        names = ("containerName", "resourceName", "requestName")
        key = tuple(mapping.get(name, "") for name in names)
        if key in seen:
            yield from (duplicate(f"{place}.{name}", mapping.get(name, "")) for name in names)
        seen.add(key)
    if name := status.get("resourceClaimName"):
        yield from fields.dns_subdomain(f"{path}.resourceClaimName", name)
    else:
        yield required(f"{path}.resourceClaimName")


def _validate_mapping(mapping: Tree, path: str, containers: dict[str, Tree], list_owner: str) -> Errors:
    container = containers.get(mapping.get("containerName", ""))
    if container is None:
        sentence = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        yield invalid(f"{path}.containerName", mapping.get("containerName", ""), sentence)
    elif mapping.get("resourceName", "") not in (inner(container, "resources", "requests") or {}):
        sentence = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests "
            "or spec.containers.resources.requests"
        )
        yield invalid(f"{path}.resourceName", mapping.get("resourceName", ""), sentence)
    yield from fields.dns_label(f"{list_owner}.requestName", mapping.get("requestName", ""))


def _validate_addresses(status: Tree, before: Tree) -> Errors:
    """The addresses of the pod and of its node: at most one of each family, the first one also alone."""
    addresses, single = status.get("podIPs") or [], status.get("podIP", "")
    yield from _validate_families(addresses, before.get("podIPs") or [], "status.podIPs", "PodIP")
    if bool(addresses) != bool(single):
        shown = [as_go("PodIP", item) for item in addresses] or None
        yield invalid("status.podIPs", shown, "podIP and podIPs must either both be set or both be unset")
    elif addresses and addresses[0].get("ip", "") != single:
        yield invalid("status.podIPs[0].ip", addresses[0].get("ip", ""), "must be equal to `podIP`")
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip", "") != status.get("hostIP", ""):
        yield invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), "must be equal to `hostIP`")
    yield from _validate_families(hosts, before.get("hostIPs") or [], "status.hostIPs", "HostIP")


def _validate_families(addresses: list[Tree], known: list[Tree], path: str, type_name: str) -> Errors:
    spared = {item.get("ip", "") for item in known}
    texts = [item.get("ip", "") for item in addresses]
    for index, text in enumerate(texts):
        if text not in spared:
            yield from validate_address(f"{path}[{index}]", text)
    if len(texts) < 2:
        return
    for index, text in enumerate(texts):
        if parse_address(text) is None:
            sentence = f"failed to check for dual stack with error:invalid IP[{index}]: {text}"
            yield FieldError(path, "InternalError", f"Internal error: {sentence}")
            break
    families = {address.version for text in texts if (address := parse_address(text)) is not None}
    if len(texts) > 2 or len(families) < 2:
        shown = [as_go(type_name, item) for item in addresses]
        yield invalid(path, shown, "may specify no more than one IP for each IP family")


def _validate_users(status: Tree, name: str, spec: Tree) -> Errors:
    """Who the processes of the containers are."""
    for container, place in fields.each(status, name, "status"):
        user = inner(container, "user", "linux")
        path = f"{place}.user.linux"
        if user is None:
            continue
        if is_windows(spec):
            yield forbidden(path, "cannot be set for a windows pod")
            continue
        if not 0 <= (uid := user.get("uid", 0)) <= _LARGEST_UID:
            yield invalid(f"{path}.uid", uid, formats.between(0, _LARGEST_UID))
        yield from fields.wrong(f"{path}.gid", user.get("gid", 0), formats.user_id(user.get("gid", 0)))
        for index, group in enumerate(user.get("supplementalGroups") or ()):
            yield from fields.wrong(f"{path}.supplementalGroups[{index}]", group, formats.user_id(group))


def _validate_health(status: Tree, spec: Tree) -> Errors:
    """How the devices that containers were given are."""
    for name, part in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        containers = {item.get("name", ""): item for item in reversed(spec.get(part) or [])}
        for container, place in fields.each(status, name, "status"):
            owner = containers.get(container.get("name", ""))
            for allocated, path in fields.each(container, "allocatedResourcesStatus", place):
                yield from _validate_allocated(allocated, path, owner, status)
    for container, place in fields.each(status, "ephemeralContainerStatuses", "status"):
        if container.get("allocatedResourcesStatus"):
            yield forbidden(f"{place}.allocatedResourcesStatus", "must not be specified in container status")


def _validate_allocated(allocated: Tree, path: str, container: Tree | None, status: Tree) -> Errors:
    name = allocated.get("name", "")
    if container is not None and not _was_asked(name, container, status):
        sentence = "must match one of the container's resource requests"
        if name.startswith(_CLAIM):
            sentence = (
                "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' "
                "when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
            )
        yield invalid(f"{path}.name", name, sentence)
    seen: set[str] = set()
    for device, place in fields.each(allocated, "resources", path):
        if (health := device.get("health", "")) not in _HEALTH:
            yield not_supported(f"{place}.health", health, _HEALTH)
        message = device.get("message")
        if message == "":
            yield required(f"{place}.message", "must be non-empty if specified")
        elif message is not None and len(message.encode()) > _LONGEST_HEALTH_MESSAGE:
            yield too_long(f"{place}.message", _LONGEST_HEALTH_MESSAGE)
        if (device_id := device.get("resourceID", "")) in seen:
            yield duplicate(f"{place}.resourceID", device_id)
        seen.add(device_id)


def _was_asked(name: str, container: Tree, status: Tree) -> bool:
    resources = container.get("resources") or {}
    if not name.startswith(_CLAIM):
        return name in (resources.get("requests") or {})
    for claim in resources.get("claims") or ():
        request = f"/{claim['request']}" if claim.get("request") else ""
        if name == f"{_CLAIM}{claim.get('name', '')}{request}":
            return True
    extended = status.get("extendedResourceClaimStatus") or {}
    claim_name, _, request = name.removeprefix(_CLAIM).partition("/")
    return claim_name == extended.get("resourceClaimName") and any(
        mapping.get("containerName") == container.get("name")
        and mapping.get("requestName") == request
        and mapping.get("resourceName") in (resources.get("requests") or {})
        for mapping in extended.get("requestMappings") or ()
    )
