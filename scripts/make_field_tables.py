"""Write the field tables of the API server from the published Kubernetes schema.

    python scripts/make_field_tables.py            write src/eachnode/server/schema/tables.json
    python scripts/make_field_tables.py --check    only say whether the file is what this script makes

The schema (in the development package `kubernetes_validate`) says names, types, list keys and merge keys. It does not
say how the reference's Go structs print: which fields are written though they are empty, which may be empty on
purpose because they are pointers, and what a field's type is called in error messages. Those facts are below.

The file holds one line of text for each field: its type, its presence, then what is special about it.

    type      string int32 int64 bool double bytes quantity int_or_string time micro_time any, a definition's name,
              []type, {}type
    presence  a  always written: a scalar that is absent as its zero value, a struct as {}
              o  left out when empty
              p  left out when absent, kept when empty (a pointer)
              k  the same for a list that validation demands, so that the rules need not tell null from absent
              n  null when absent (a list when empty, too)
    list=     map, set or atomic; keys=a,b: what makes the entries of a list map differ
    map=      atomic: the object has one owner as a whole
    merge=    strategic merge joins this list by that key; merge alone: a list of scalars is joined as a set
    retain    $retainKeys is understood here
    go=       what error messages call the type, where that does not follow from it
    in=       the embedded struct that the field belongs to, which error messages name
    default=  what an absent key of a list entry counts as
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate

VERSION = "v1.37.0-local"
SOURCE = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / VERSION / "_definitions.json"
TARGET = Path(__file__).parent.parent / "src/eachnode/server/schema/tables.json"

PACKAGES = {
    "core": "io.k8s.api.core.v1",
    "apps": "io.k8s.api.apps.v1",
    "authentication": "io.k8s.api.authentication.v1",
    "authorization": "io.k8s.api.authorization.v1",
    "coordination": "io.k8s.api.coordination.v1",
    "events": "io.k8s.api.events.v1",
    "policy": "io.k8s.api.policy.v1",
    "rbac": "io.k8s.api.rbac.v1",
    "scheduling": "io.k8s.api.scheduling.v1",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1",
}
SERVED = {
    "core": "Pod Node Namespace Event ConfigMap Secret ServiceAccount Service Endpoints ResourceQuota LimitRange "
    "Binding PodTemplate",
    "apps": "DaemonSet ControllerRevision",
    "authentication": "TokenReview SelfSubjectReview TokenRequest",
    "authorization": "SubjectAccessReview LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview",
    "coordination": "Lease",
    "events": "Event",
    "policy": "PodDisruptionBudget Eviction",
    "rbac": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "scheduling": "PriorityClass",
    "apiextensions": "CustomResourceDefinition",
    "meta": "DeleteOptions Status ObjectMeta",
}
# Definitions that are a value, not a struct.
VALUES = {
    "Time": "time",
    "MicroTime": "micro_time",
    "Quantity": "quantity",
    "IntOrString": "int_or_string",
    "FieldsV1": "any",
    "RawExtension": "any",
    "JSON": "any",
    "JSONSchemaPropsOrBool": "schema_or_bool",
    "JSONSchemaPropsOrArray": "schema_or_array",
    "JSONSchemaPropsOrStringArray": "schema_or_strings",
}

# definition: field[:presence][=Go type] ...   (a leading dot stands for `v1.`)
# Without a fact, a required field is always written, an optional struct is a pointer, and anything else is left out
# when empty. `metadata`, `spec` and `status` structs are always written.
FACTS = {
    "apiextensions": """
        CustomResourceConversion: strategy=.ConversionStrategyType
        CustomResourceDefinitionCondition: type=.CustomResourceDefinitionConditionType status=.ConditionStatus
          lastTransitionTime:a
        CustomResourceDefinitionSpec: scope=.ResourceScope
        CustomResourceDefinitionStatus: conditions:n acceptedNames:a storedVersions:n
        CustomResourceDefinitionVersion: deprecationWarning:p
        CustomResourceSubresourceScale: labelSelectorPath:p
        CustomResourceSubresources: status:p
        JSONSchemaProps: $schema=.JSONSchemaURL $ref:p maximum:p minimum:p maxLength:p minLength:p maxItems:p
          minItems:p multipleOf:p maxProperties:p minProperties:p dependencies=.JSONSchemaDependencies
          definitions=.JSONSchemaDefinitions x-kubernetes-preserve-unknown-fields:p x-kubernetes-list-type:p
          x-kubernetes-map-type:p x-kubernetes-validations=.ValidationRules
        ServiceReference: path:p port:p
        ValidationRule: reason:p=.FieldValueErrorReason optionalOldSelf:p
        WebhookClientConfig: url:p
    """,
    "apps": """
        ControllerRevision: revision:a
        DaemonSetCondition: type:a=.DaemonSetConditionType status:a=.ConditionStatus lastTransitionTime:a
        DaemonSetSpec: selector:p updateStrategy:a revisionHistoryLimit:p
        DaemonSetStatus: collisionCount:p
        DaemonSetUpdateStrategy: type=.DaemonSetUpdateStrategyType
    """,
    "authentication": """
        BoundObjectReference: uid=types.UID
        SelfSubjectReviewStatus: userInfo:a
        TokenRequestSpec: audiences:n expirationSeconds:n boundObjectRef:n attestations=map[string].AttestationValue
        TokenRequestStatus: token:a expirationTimestamp:a
        TokenReviewSpec: token:o
        TokenReviewStatus: user:a
        UserInfo: extra=map[string].ExtraValue
    """,
    "authorization": """
        SubjectAccessReviewSpec: extra=map[string].ExtraValue
    """,
    "coordination": """
        LeaseSpec: holderIdentity:p leaseDurationSeconds:p leaseTransitions:p strategy:p=.CoordinatedLeaseStrategy
          preferredHolder:p
    """,
    "core": """
        AppArmorProfile: type=.AppArmorProfileType localhostProfile:p
        AttachedVolume: name=.UniqueVolumeName
        AzureDiskVolumeSource: cachingMode:p=.AzureDataDiskCachingMode fsType:p readOnly:p kind:p=.AzureDataDiskKind
        CSIVolumeSource: readOnly:p fsType:p
        Capabilities: add=[].Capability drop=[].Capability
        ClientIPConfig: timeoutSeconds:p
        ClusterTrustBundleProjection: name:p signerName:p optional:p user:p
        ConfigMap: immutable:p
        ConfigMapEnvSource: optional:p
        ConfigMapKeySelector: optional:p
        ConfigMapNodeConfigSource: uid=types.UID
        ConfigMapProjection: optional:p
        ConfigMapVolumeSource: defaultMode:p optional:p defaultUser:p
        Container: resources:a restartPolicy:p=.ContainerRestartPolicy
          terminationMessagePolicy=.TerminationMessagePolicy imagePullPolicy=.PullPolicy
        ContainerImage: names:n
        ContainerPort: protocol=.Protocol
        ContainerResizePolicy: resourceName=.ResourceName restartPolicy=.ResourceResizeRestartPolicy
        ContainerRestartRule: action:o=.ContainerRestartRuleAction
        ContainerRestartRuleOnExitCodes: operator:o=.ContainerRestartRuleOnExitCodesOperator
        ContainerStateRunning: startedAt:a
        ContainerStateTerminated: startedAt:a finishedAt:a
        ContainerStatus: state:a lastState:a started:p allocatedResources=.ResourceList stopSignal:p=.Signal
        DownwardAPIVolumeFile: mode:p user:p
        DownwardAPIVolumeSource: defaultMode:p defaultUser:p
        EmptyDirVolumeSource: medium=.StorageMedium mode:p
        EndpointAddress: nodeName:p
        EndpointPort: protocol=.Protocol appProtocol:p
        EphemeralContainer: resources:a restartPolicy:p=.ContainerRestartPolicy
          terminationMessagePolicy=.TerminationMessagePolicy imagePullPolicy=.PullPolicy
        Event: source:a firstTimestamp:a lastTimestamp:a eventTime:a reportingComponent:a reportingInstance:a
        EventSeries: lastObservedTime:a
        EvictionResponder: priority:n
        FCVolumeSource: lun:p
        FileKeySelector: optional:p
        GRPCAction: service:n mode:p=.GRPCProbeMode
        HTTPGetAction: scheme=.URIScheme protocol:p=.HTTPProtocol
        HostPathVolumeSource: type:p=.HostPathType
        ISCSIVolumeSource: initiatorName:p
        ImageVolumeSource: pullPolicy=.PullPolicy
        ImageVolumeStatus: imageRef:o
        KeyToPath: mode:p user:p
        Lifecycle: stopSignal:p=.Signal
        LimitRangeSpec: limits:n
        LimitRangeItem: type=.LimitType max=.ResourceList min=.ResourceList default=.ResourceList
          defaultRequest=.ResourceList maxLimitRequestRatio=.ResourceList
        LoadBalancerIngress: ipMode:p=.LoadBalancerIPMode
        NamespaceCondition: type=.NamespaceConditionType status=.ConditionStatus lastTransitionTime:a
        NamespaceSpec: finalizers=[].FinalizerName
        NamespaceStatus: phase=.NamespacePhase
        NodeAddress: type=.NodeAddressType
        NodeAllocatableMappedResources: name=.ResourceName quantity:n
        NodeAllocatableOverheadResources: name=.ResourceName
        NodeCondition: type=.NodeConditionType status=.ConditionStatus lastHeartbeatTime:a lastTransitionTime:a
        NodeDaemonEndpoints: kubeletEndpoint:a
        NodeFeatures: supplementalGroupsPolicy:p
        NodeRuntimeHandler: name:a
        NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts:p userNamespaces:p
        NodeSelectorRequirement: operator=.NodeSelectorOperator
        NodeStatus: capacity=.ResourceList allocatable=.ResourceList phase=.NodePhase daemonEndpoints:a nodeInfo:a
          volumesInUse=[].UniqueVolumeName
        NodeSwapStatus: capacity:p
        NodeSystemInfo: runningInUserNamespace:p
        ObjectReference: uid=types.UID
        PersistentVolumeClaimSpec: accessModes=[].PersistentVolumeAccessMode resources:a storageClassName:p
          volumeMode:p=.PersistentVolumeMode volumeAttributesClassName:p
        PodCertificateProjection: signerName:o keyType:o maxExpirationSeconds:p user:p
        PodCondition: type=.PodConditionType status=.ConditionStatus lastProbeTime:a lastTransitionTime:a
        PodDNSConfigOption: value:p
        PodOS: name=.OSName
        PodReadinessGate: conditionType=.PodConditionType
        PodResourceClaim: resourceClaimName:p resourceClaimTemplateName:p
        PodResourceClaimStatus: resourceClaimName:p
        PodSchedulingGroup: podGroupName:p
        PodSecurityContext: runAsUser:p runAsGroup:p runAsNonRoot:p
          supplementalGroupsPolicy:p=.SupplementalGroupsPolicy fsGroup:p
          fsGroupChangePolicy:p=.PodFSGroupChangePolicy seLinuxChangePolicy:p=.PodSELinuxChangePolicy
        PodSpec: restartPolicy=.RestartPolicy terminationGracePeriodSeconds:p activeDeadlineSeconds:p
          dnsPolicy=.DNSPolicy automountServiceAccountToken:p shareProcessNamespace:p priority:p runtimeClassName:p
          enableServiceLinks:p preemptionPolicy:p=.PreemptionPolicy overhead=.ResourceList setHostnameAsFQDN:p
          hostUsers:p hostnameOverride:p
        PodStatus: phase=.PodPhase qosClass=.PodQOSClass resize=.PodResizeStatus allocatedResources=.ResourceList
        PodTemplate: template:a
        PodVolumeHealth: lastTransitionTime:a
        PortStatus: protocol=.Protocol error:p
        Probe: terminationGracePeriodSeconds:p
        ProjectedVolumeSource: sources:n defaultMode:p defaultUser:p
        ResourceFieldSelector: divisor:a
        ResourceHealth: resourceID=.ResourceID health=.ResourceHealthStatus message:p
        ResourceQuotaSpec: hard=.ResourceList scopes=[].ResourceQuotaScope
        ResourceQuotaStatus: hard=.ResourceList used=.ResourceList
        ResourceRequirements: limits=.ResourceList requests=.ResourceList
        ResourceStatus: name=.ResourceName
        ScaleIOVolumeSource: secretRef:n
        ScopedResourceSelectorRequirement: scopeName=.ResourceQuotaScope operator=.ScopeSelectorOperator
        SeccompProfile: type=.SeccompProfileType localhostProfile:p
        Secret: immutable:p type=.SecretType
        SecretEnvSource: optional:p
        SecretKeySelector: optional:p
        SecretProjection: optional:p
        SecretVolumeSource: defaultMode:p optional:p defaultUser:p
        SecurityContext: privileged:p runAsUser:p runAsGroup:p runAsNonRoot:p readOnlyRootFilesystem:p
          allowPrivilegeEscalation:p procMount:p=.ProcMountType
        ServiceAccount: automountServiceAccountToken:p
        ServiceAccountTokenProjection: expirationSeconds:p user:p
        ServicePort: protocol=.Protocol appProtocol:p targetPort:a
        ServiceSpec: type=.ServiceType sessionAffinity=.ServiceAffinity
          externalTrafficPolicy=.ServiceExternalTrafficPolicy ipFamilies=[].IPFamily
          ipFamilyPolicy:p=.IPFamilyPolicy allocateLoadBalancerNodePorts:p loadBalancerClass:p
          internalTrafficPolicy:p=.ServiceInternalTrafficPolicy trafficDistribution:p
        ServiceStatus: loadBalancer:a
        Taint: effect=.TaintEffect
        Toleration: operator=.TolerationOperator effect=.TaintEffect tolerationSeconds:p
        TopologySpreadConstraint: whenUnsatisfiable=.UnsatisfiableConstraintAction minDomains:p
          nodeAffinityPolicy:p=.NodeInclusionPolicy nodeTaintsPolicy:p=.NodeInclusionPolicy
        TypedLocalObjectReference: apiGroup:n
        TypedObjectReference: apiGroup:n namespace:p
        VolumeHealthCondition: status=.VolumeHealthStatusType
        VolumeMount: recursiveReadOnly:p=.RecursiveReadOnlyMode mountPropagation:p=.MountPropagationMode
        VolumeMountStatus: recursiveReadOnly:p=.RecursiveReadOnlyMode
        VolumeResourceRequirements: limits=.ResourceList requests=.ResourceList
        WindowsSecurityContextOptions: gmsaCredentialSpecName:p gmsaCredentialSpec:p runAsUserName:p hostProcess:p
    """,
    "events": """
        Event: regarding:a deprecatedSource:a deprecatedFirstTimestamp:a deprecatedLastTimestamp:a
    """,
    "meta": """
        Condition: status=.ConditionStatus
        DeleteOptions: gracePeriodSeconds:p orphanDependents:p propagationPolicy:p=.DeletionPropagation
          ignoreStoreReadErrorWithClusterBreakingPotential:p
        FieldSelectorRequirement: operator=.FieldSelectorOperator
        LabelSelectorRequirement: operator=.LabelSelectorOperator
        ListMeta: remainingItemCount:p
        ManagedFieldsEntry: operation=.ManagedFieldsOperationType
        ObjectMeta: uid=types.UID creationTimestamp:o deletionGracePeriodSeconds:p managedFields:p
        OwnerReference: uid=types.UID controller:p blockOwnerDeletion:p
        Preconditions: uid:p=types.UID resourceVersion:p
        Status: reason=.StatusReason
        StatusCause: reason=.CauseType
        StatusDetails: uid=types.UID
    """,
    "policy": """
        PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy:p=.UnhealthyPodEvictionPolicyType
        PodDisruptionBudgetStatus: disruptionsAllowed:a currentHealthy:a desiredHealthy:a expectedPods:a
    """,
    "rbac": """
        ClusterRole: rules:n
        Role: rules:n
        RoleRef: apiGroup:a
    """,
    "scheduling": """
        PriorityClass: value:a preemptionPolicy:p=.PreemptionPolicy
    """,
}
# The fields a struct declares itself, where all its others come from one embedded struct.
EMBEDDED = {
    "core.ConfigMapEnvSource": ("LocalObjectReference", "optional"),
    "core.ConfigMapKeySelector": ("LocalObjectReference", "key optional"),
    "core.ConfigMapProjection": ("LocalObjectReference", "items optional"),
    "core.ConfigMapVolumeSource": ("LocalObjectReference", "defaultMode defaultUser items optional"),
    "core.EphemeralContainer": ("EphemeralContainerCommon", "targetContainerName"),
    "core.Probe": (
        "ProbeHandler",
        "failureThreshold initialDelaySeconds periodSeconds successThreshold terminationGracePeriodSeconds "
        "timeoutSeconds",
    ),
    "core.SecretEnvSource": ("LocalObjectReference", "optional"),
    "core.SecretKeySelector": ("LocalObjectReference", "key optional"),
    "core.SecretProjection": ("LocalObjectReference", "items optional"),
    "core.Volume": ("VolumeSource", "name"),
}
LIST_KEY_DEFAULTS = {
    "core.ContainerPort": {"protocol": "TCP"},
    "core.ServicePort": {"protocol": "TCP"},
    "core.LocalObjectReference": {"name": ""},
}

# Kinds that the reference still knows (it converts them) and whose schemas are not published.
UNPUBLISHED = {
    "v1": "List RangeAllocation SerializedReference",
    "apps/v1beta1": "ControllerRevision Deployment DeploymentRollback Scale StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
    "extensions/v1beta1": "DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy ReplicaSet Scale",
    "policy/v1beta1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "rbac.authorization.k8s.io/v1alpha1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "coordination.k8s.io/v1beta1": "Lease",
    "events.k8s.io/v1beta1": "Event",
    "authorization.k8s.io/v1beta1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
    "SubjectAccessReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "batch/v1beta1": "CronJob",
    "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
    "storage.k8s.io/v1beta1": "CSIDriver CSINode StorageClass VolumeAttachment",
    "storage.k8s.io/v1alpha1": "VolumeAttachment",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "admissionregistration.k8s.io/v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
}

Schema = dict[str, Any]


def main() -> int:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when the file differs")
    arguments = parser.parse_args()
    text = tables()
    if not arguments.check:
        TARGET.write_text(text)
        print(f"{TARGET.name}: {len(text)} bytes")
        return 0
    same = TARGET.exists() and TARGET.read_text() == text
    print("up to date" if same else f"{TARGET} is not what {Path(__file__).name} makes: run it")
    return 0 if same else 1


def tables() -> str:
    """The whole file."""
    definitions: dict[str, Schema] = json.loads(SOURCE.read_text())["$defs"]
    named = {name: _lines(name, definitions[name]) for name in sorted(_reachable(definitions))}
    document = {"definitions": named, "kinds": _kinds(definitions)}
    return json.dumps(document, indent=0, sort_keys=True) + "\n"


def _reachable(definitions: dict[str, Schema]) -> set[str]:
    """The structs that the served kinds consist of."""
    waiting = [f"{PACKAGES[package]}.{kind}" for package, kinds in SERVED.items() for kind in kinds.split()]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or name.rpartition(".")[2] in VALUES:
            continue
        found.add(name)
        waiting += _references(definitions[name].get("properties", {}))
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.rpartition("/")[2]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _lines(name: str, definition: Schema) -> dict[str, str]:
    """Each field of one definition as its line; the empty name stands for the struct itself."""
    package, _, short = name.rpartition(".")
    key = f"{next(k for k, v in PACKAGES.items() if v == package)}.{short}"
    facts = _facts().get(key, {})
    embedded, own = EMBEDDED.get(key, ("", ""))
    required = definition.get("required", [])
    lines = {}
    for field, schema in definition.get("properties", {}).items():
        words = _words(field, schema, field in required, facts.get(field, ""))
        if embedded and field not in own.split():
            words.append(f"in={embedded}")
        if field in LIST_KEY_DEFAULTS.get(key, {}):
            words.append(f"default={LIST_KEY_DEFAULTS[key][field]}")
        lines[field] = " ".join(words)
    unknown = set(facts) - set(lines)
    if unknown:
        raise SystemExit(f"facts about fields that {name} does not have: {sorted(unknown)}")
    if definition.get("x-kubernetes-map-type") == "atomic":
        lines[""] = "map=atomic"
    return lines


def _facts() -> dict[str, dict[str, str]]:
    """definition → field → `:presence=type`."""
    facts: dict[str, dict[str, str]] = {}
    for package, text in FACTS.items():
        current: dict[str, str] = {}
        for word in text.split():
            if word.endswith(":"):
                current = facts.setdefault(f"{package}.{word[:-1]}", {})
                continue
            cut = min((word.index(mark) for mark in ":=" if mark in word), default=len(word))
            current[word[:cut]] = word[cut:]
    return facts


def _words(field: str, schema: Schema, required: bool, fact: str) -> list[str]:
    """What the line of one field says."""
    presence, _, go_type = fact.removeprefix(":").partition("=")
    words = [_type(schema), presence or _presence(field, schema, required)]
    if list_type := schema.get("x-kubernetes-list-type"):
        words.append(f"list={list_type}")
    if keys := schema.get("x-kubernetes-list-map-keys"):
        words.append(f"keys={','.join(keys)}")
    if schema.get("x-kubernetes-map-type") == "atomic":
        words.append("map=atomic")
    strategy = schema.get("x-kubernetes-patch-strategy", "")
    if "merge" in strategy:
        merge_key = schema.get("x-kubernetes-patch-merge-key")
        words.append(f"merge={merge_key}" if merge_key else "merge")
    if "retainKeys" in strategy:
        words.append("retain")
    if go_type:
        words.append(f"go={go_type.replace('.', 'v1.', 1) if go_type[0] in '.[m' else go_type}")
    return words


def _presence(field: str, schema: Schema, required: bool) -> str:
    if required:
        return "k" if _first(schema.get("type")) in ("array", "object") else "a"
    if "$ref" not in schema:
        return "o"
    is_struct = schema["$ref"].rpartition(".")[2] not in VALUES
    return "a" if is_struct and field in ("metadata", "spec", "status") else "p"


def _type(schema: Schema) -> str:
    """The type as the tables write it."""
    if "$ref" in schema:
        name: str = schema["$ref"].rpartition("/")[2]
        return VALUES.get(name.rpartition(".")[2], name)
    kind = _first(schema.get("type"))
    if kind == "array":
        return f"[]{_type(schema['items'])}"
    if kind == "object":
        return f"{{}}{_type(schema['additionalProperties'])}" if "additionalProperties" in schema else "any"
    if kind == "integer":
        return str(schema.get("format", "int64"))
    if kind == "string" and schema.get("format") == "byte":
        return "bytes"
    return {"boolean": "bool", "number": "double", "string": "string", None: "any"}[kind]


def _first(kind: str | list[str] | None) -> str | None:
    """The type of a schema, which publishes nullable ones as [type, null]."""
    return kind[0] if isinstance(kind, list) else kind


def _kinds(definitions: dict[str, Schema]) -> dict[str, str]:
    """Every kind the reference registers, by apiVersion: it refuses those it knows in other words than strangers."""
    known = {version: set(kinds.split()) for version, kinds in UNPUBLISHED.items()}
    for definition in definitions.values():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
            known.setdefault(version, set()).add(kind["kind"])
    return {version: " ".join(sorted(kinds)) for version, kinds in sorted(known.items())}


if __name__ == "__main__":
    sys.exit(main())
