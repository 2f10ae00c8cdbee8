"""Pods and pod templates as a whole: the parts in the order in which the reference looks at them.

An update may keep faults that the stored object already has (rules grow stricter, objects stay): `leniency_for` finds
out which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from eachnode.objects import formats
from eachnode.server.field_errors import NOWHERE, FieldError, duplicate, forbidden, invalid, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.labels import validate_annotations, validate_labels
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.annotations import (
    MIRROR,
    validate_pod_annotations,
    validate_profiles_agree,
)
from eachnode.server.kinds.pods.validation.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_image_padding,
    validate_init_containers,
)
from eachnode.server.kinds.pods.validation.environment import validate_variable_files
from eachnode.server.kinds.pods.validation.fields import Leniency, PodContext
from eachnode.server.kinds.pods.validation.network import (
    validate_dns,
    validate_host_aliases,
    validate_host_name_override,
    validate_host_network_ports,
)
from eachnode.server.kinds.pods.validation.placement import (
    validate_affinity,
    validate_spreading,
    validate_tolerations,
)
from eachnode.server.kinds.pods.validation.resources import validate_container_resources, validate_pod_resources
from eachnode.server.kinds.pods.validation.security import (
    validate_pod_security,
    validate_sharing,
    validate_user_namespace,
)
from eachnode.server.kinds.pods.validation.volumes import validate_volumes
from eachnode.server.kinds.pods.validation.windows import validate_host_process, validate_os

POD_RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
STRICT = Leniency()

Errors = Iterator[FieldError]


def validate_pod(tree: Tree, lenient: Leniency = STRICT) -> Errors:
    """A pod's annotations and spec, for creation and update alike."""
    metadata, spec = tree["metadata"], tree.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    pod = PodContext(spec, True, metadata.get("name", ""), annotations, lenient)
    yield from validate_pod_annotations(annotations, "metadata.annotations", pod)
    yield from _validate_spec("spec", pod)
    if not spec.get("serviceAccountName"):
        yield from _validate_no_tokens(spec)
    yield from fields.not_negative("spec.terminationGracePeriodSeconds", pod.grace)
    for part in ("containers", "initContainers"):
        for container, place in fields.each(spec, part, "spec"):
            yield from validate_image_padding(container, place)


def validate_new_pod(tree: Tree) -> Errors:
    """What a pod must not have when it is made, besides the rules for all pods."""
    spec = tree.get("spec") or {}
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from validate_profiles_agree(tree["metadata"].get("annotations") or {}, spec, "spec")


def validate_placement(tree: Tree) -> Errors:
    """The parts of a pod's spec in which the pods of one owner differ: its affinity and its node."""
    metadata, spec = tree["metadata"], tree.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    pod = PodContext(spec, True, metadata.get("name", ""), annotations)
    if MIRROR in annotations:
        yield from validate_pod_annotations(annotations, "metadata.annotations", pod)
    yield from validate_affinity(spec.get("affinity"), "spec.affinity", pod)
    if node := spec.get("nodeName"):
        yield from fields.dns_subdomain("spec.nodeName", node)


def validate_template(template: Tree, path: str, lenient: Leniency = STRICT) -> Errors:
    """A pod template."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    pod = PodContext(spec, False, lenient=lenient)
    # The reference leaves `metadata` out of these paths.
    yield from validate_labels(metadata.get("labels"), f"{path}.labels")
    yield from validate_annotations(annotations, f"{path}.annotations")
    yield from validate_pod_annotations(annotations, f"{path}.annotations", pod)
    yield from _validate_spec(f"{path}.spec", pod)
    yield from validate_profiles_agree(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def _validate_spec(path: str, pod: PodContext) -> Errors:
    spec = pod.spec
    if pod.grace is None:
        yield required(f"{path}.terminationGracePeriodSeconds")
    sound, errors = validate_volumes(f"{path}.volumes", pod)
    yield from errors
    claims = frozenset(claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name"))
    pod = replace(pod, volumes=sound, claims=claims)
    yield from _validate_claims(spec.get("resourceClaims") or (), f"{path}.resourceClaims", pod)
    yield from validate_containers(f"{path}.containers", pod)
    yield from validate_init_containers(f"{path}.initContainers", pod)
    yield from validate_ephemeral_containers(f"{path}.ephemeralContainers", pod)
    yield from validate_pod_resources(spec, f"{path}.resources", pod)
    yield from validate_host_network_ports(spec, path, is_pod=pod.is_pod)
    yield from fields.required_one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), POD_RESTART_POLICIES)
    yield from fields.required_one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), DNS_POLICIES)
    yield from validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from validate_pod_security(spec.get("securityContext") or {}, f"{path}.securityContext", pod)
    yield from validate_sharing(spec, path)
    yield from validate_affinity(spec.get("affinity"), f"{path}.affinity", pod)
    yield from validate_dns(spec, f"{path}.dnsConfig")
    yield from _validate_gates(spec, path)
    yield from validate_spreading(spec, f"{path}.topologySpreadConstraints", pod)
    yield from validate_host_process(spec, path)
    yield from validate_user_namespace(spec, path, pod)
    yield from validate_host_name_override(spec, path)
    yield from _validate_names(spec, path)
    yield from validate_tolerations(spec.get("tolerations") or (), f"{path}.tolerations")
    yield from validate_host_aliases(spec, path)
    yield from _validate_classes(spec, path)
    if (overhead := spec.get("overhead")) is not None:
        # An overhead counts as limits, and the paths of its errors say so.
        no_claims = replace(pod, claims=frozenset())
        yield from validate_container_resources({"limits": overhead}, f"{path}.overhead", no_claims)
    yield from validate_os(spec, path)
    yield from validate_variable_files(spec, path)


def _validate_no_tokens(spec: Tree) -> Errors:
    """Tokens of a service account need one."""
    for volume, place in fields.each(spec, "volumes", "spec"):
        projected = volume.get("projected") or {}
        for source, source_path in fields.each(projected, "sources", f"{place}.projected"):
            if source.get("serviceAccountToken") is not None:
                sentence = "must not be specified when serviceAccountName is not set"
                yield forbidden(f"{source_path}.serviceAccountToken", sentence)


def _validate_claims(claims: Iterable[Tree], path: str, pod: PodContext) -> Errors:
    """The resource claims that the pod's containers may use."""
    names: set[str] = set()
    for index, claim in enumerate(claims):
        if MIRROR in pod.annotations:
            yield forbidden(NOWHERE, "static pods do not support resource claims")
            continue
        place, name = f"{path}[{index}]", claim.get("name", "")
        if name in names:
            yield duplicate(f"{place}.name", name)
        else:
            yield from fields.name_or_required(f"{place}.name", name)
            names.update((name,) if name else ())
        yield from _validate_claim_source(claim, place)


def _validate_claim_source(claim: Tree, path: str) -> Errors:
    sources = ("resourceClaimName", "resourceClaimTemplateName")
    given = [source for source in sources if claim.get(source) is not None]
    shown = as_go("PodResourceClaim", claim)
    if len(given) > 1:
        sentence = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield invalid(path, shown, sentence)
    elif not given:
        yield invalid(path, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
    for source in given:
        yield from fields.dns_subdomain(f"{path}.{source}", claim[source])


def _validate_gates(spec: Tree, path: str) -> Errors:
    for gate, place in fields.each(spec, "readinessGates", path):
        condition = gate.get("conditionType", "")
        yield from fields.wrong(f"{place}.conditionType", condition, formats.qualified_name(condition))
    names: set[str] = set()
    for gate, place in fields.each(spec, "schedulingGates", path):
        name = gate.get("name", "")
        yield from fields.wrong(place, name, formats.qualified_name(name))
        if name in names:
            yield duplicate(place, name)
        names.add(name)


def _validate_names(spec: Tree, path: str) -> Errors:
    account, alias = spec.get("serviceAccountName", ""), spec.get("serviceAccount", "")
    if account:
        yield from fields.dns_subdomain(f"{path}.serviceAccountName", account)
    if account != alias:
        sentence = f'must be the same as serviceAccountName: "{account}"'
        yield invalid(f"{path}.deprecatedServiceAccount", alias, sentence)
    if node := spec.get("nodeName"):
        yield from fields.dns_subdomain(f"{path}.nodeName", node)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= fields.LARGEST_INT32:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, formats.between(1, fields.LARGEST_INT32))
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            yield from fields.dns_label(f"{path}.{name}", value)


def _validate_classes(spec: Tree, path: str) -> Errors:
    if name := spec.get("priorityClassName"):
        yield from fields.dns_subdomain(f"{path}.priorityClassName", name)
    if (name := spec.get("runtimeClassName")) is not None:
        yield from fields.dns_subdomain(f"{path}.runtimeClassName", name)
    if (policy := spec.get("preemptionPolicy")) is not None:
        yield from fields.required_one_of(f"{path}.preemptionPolicy", policy, PREEMPTION_POLICIES)
