"""The shapes of a pod spec in the reference's memory, and how its values are printed in error messages.

Messages about immutable fields show a diff of the internal objects, with the names and the order of their Go fields,
with nulls for what is not set. The table holds these facts: a line is a type and its fields in order; `Go=json:shape`,
where `json` is left out when only the first letter differs, and `shape` when it is a string. Shapes: `b` boolean, `i`
number, `o` number or text, `q` quantity, `p` anything that is null when absent, else a type of the table, alone (always
there), with `*` (null when absent) or `[]` (a list, null when absent). `+Type` stands for the fields of another type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from eachnode.server.kind import Tree

_FACTS = """
PodSpec Volumes:[]Volume InitContainers:[]Container Containers:[]Container
    EphemeralContainers:[]EphemeralContainer RestartPolicy TerminationGracePeriodSeconds:p ActiveDeadlineSeconds:p
    DNSPolicy=dnsPolicy NodeSelector:p ServiceAccountName DeprecatedServiceAccount=serviceAccount
    AutomountServiceAccountToken:p NodeName HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:p
    SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname Subdomain
    Affinity:*Affinity SchedulerName Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName Priority:p
    DNSConfig=dnsConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:p EnableServiceLinks:p
    PreemptionPolicy:p Overhead:p TopologySpreadConstraints:[]TopologySpreadConstraint SetHostnameAsFQDN:p
    OS=os:*PodOS HostUsers:p SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim
    Resources:*ResourceRequirements HostnameOverride:p SchedulingGroup:*PodSchedulingGroup
    EvictionResponders:[]EvictionResponder
Volume Name +VolumeSource
VolumeSource HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
    GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource
    AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource
    Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource ISCSI=iscsi:*ISCSIVolumeSource
    Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource
    RBD=rbd:*RBDVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource
    CephFS=cephfs:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource
    FC=fc:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
    VsphereVolume:*VsphereVirtualDiskVolumeSource Quobyte:*QuobyteVolumeSource AzureDisk:*AzureDiskVolumeSource
    PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource
    PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS=storageos:*StorageOSVolumeSource
    CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
HostPathVolumeSource Path Type:p
EmptyDirVolumeSource Medium SizeLimit:p Mode:p
GCEPersistentDiskVolumeSource PDName=pdName FSType=fsType Partition:i ReadOnly:b
AWSElasticBlockStoreVolumeSource VolumeID FSType=fsType Partition:i ReadOnly:b
GitRepoVolumeSource Repository Revision Directory
SecretVolumeSource SecretName Items:[]KeyToPath DefaultMode:p Optional:p DefaultUser:p
KeyToPath Key Path Mode:p User:p
NFSVolumeSource Server Path ReadOnly:b
ISCSIVolumeSource TargetPortal IQN=iqn Lun:i ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:b Portals:p
    DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*LocalObjectReference
    InitiatorName:p
LocalObjectReference Name
GlusterfsVolumeSource EndpointsName=endpoints Path ReadOnly:b
PersistentVolumeClaimVolumeSource ClaimName ReadOnly:b
RBDVolumeSource CephMonitors=monitors:p RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring
    SecretRef:*LocalObjectReference ReadOnly:b
FlexVolumeSource Driver FSType=fsType SecretRef:*LocalObjectReference ReadOnly:b Options:p
CinderVolumeSource VolumeID FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference
CephFSVolumeSource Monitors:p Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:b
FlockerVolumeSource DatasetName DatasetUUID
DownwardAPIVolumeSource Items:[]DownwardAPIVolumeFile DefaultMode:p DefaultUser:p
DownwardAPIVolumeFile Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:p User:p
ObjectFieldSelector APIVersion=apiVersion FieldPath
ResourceFieldSelector ContainerName Resource Divisor:q
FCVolumeSource TargetWWNs:p Lun:p FSType=fsType ReadOnly:b WWIDs=wwids:p
AzureFileVolumeSource SecretName ShareName ReadOnly:b
ConfigMapVolumeSource +LocalObjectReference Items:[]KeyToPath DefaultMode:p Optional:p DefaultUser:p
VsphereVirtualDiskVolumeSource VolumePath FSType=fsType StoragePolicyName StoragePolicyID
QuobyteVolumeSource Registry Volume ReadOnly:b User Group Tenant
AzureDiskVolumeSource DiskName DataDiskURI=diskURI CachingMode:p FSType=fsType:p ReadOnly:p Kind:p
PhotonPersistentDiskVolumeSource PdID FSType=fsType
ProjectedVolumeSource Sources:[]VolumeProjection DefaultMode:p DefaultUser:p
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
    ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
    PodCertificate:*PodCertificateProjection
SecretProjection +LocalObjectReference Items:[]KeyToPath Optional:p
DownwardAPIProjection Items:[]DownwardAPIVolumeFile
ConfigMapProjection +LocalObjectReference Items:[]KeyToPath Optional:p
ServiceAccountTokenProjection Audience ExpirationSeconds:p Path User:p
ClusterTrustBundleProjection Name:p SignerName:p LabelSelector:*LabelSelector Optional:p Path User:p
PodCertificateProjection SignerName KeyType MaxExpirationSeconds:p CredentialBundlePath KeyPath
    CertificateChainPath UserAnnotations:p User:p
PortworxVolumeSource VolumeID FSType=fsType ReadOnly:b
ScaleIOVolumeSource Gateway System SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:b ProtectionDomain
    StoragePool StorageMode VolumeName FSType=fsType ReadOnly:b
StorageOSVolumeSource VolumeName VolumeNamespace FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference
CSIVolumeSource Driver ReadOnly:p FSType=fsType:p VolumeAttributes:p NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate:*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate +ObjectMeta Spec:PersistentVolumeClaimSpec
PersistentVolumeClaimSpec AccessModes:p Selector:*LabelSelector Resources:VolumeResourceRequirements VolumeName
    StorageClassName:p VolumeMode:p DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference
    VolumeAttributesClassName:p
VolumeResourceRequirements Limits:p Requests:p
TypedLocalObjectReference APIGroup=apiGroup:p Kind Name
TypedObjectReference APIGroup=apiGroup:p Kind Name Namespace:p
ImageVolumeSource Reference PullPolicy
Container Name Image Command:p Args:p WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar
    Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:p
    RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
    LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
    TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b
ContainerPort Name HostPort:i ContainerPort:i Protocol HostIP
EnvFromSource Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
ConfigMapEnvSource +LocalObjectReference Optional:p
SecretEnvSource +LocalObjectReference Optional:p
EnvVar Name Value ValueFrom:*EnvVarSource
EnvVarSource FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
    ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ConfigMapKeySelector +LocalObjectReference Key Optional:p
SecretKeySelector +LocalObjectReference Key Optional:p
FileKeySelector VolumeName Path Key Optional:p
ResourceRequirements Limits:p Requests:p Claims:[]ResourceClaim
ResourceClaim Name Request
ContainerResizePolicy ResourceName RestartPolicy
ContainerRestartRule Action ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes Operator Values:p
VolumeMount Name ReadOnly:b RecursiveReadOnly:p MountPath SubPath MountPropagation:p SubPathExpr
    BindMountOptions:p
VolumeDevice Name DevicePath
Probe +ProbeHandler InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i
    TerminationGracePeriodSeconds:p
ProbeHandler Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
    GRPC=grpc:*GRPCAction
ExecAction Command:p
HTTPGetAction Path Port:o Host Scheme HTTPHeaders=httpHeaders:[]HTTPHeader Protocol:p
HTTPHeader Name Value
TCPSocketAction Port:o Host
GRPCAction Port:i Service:p Mode:p
Lifecycle PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:p
LifecycleHandler Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
    Sleep:*SleepAction
SleepAction Seconds:i
SecurityContext Capabilities:*Capabilities Privileged:p SELinuxOptions=seLinuxOptions:*SELinuxOptions
    WindowsOptions:*WindowsSecurityContextOptions RunAsUser:p RunAsGroup:p RunAsNonRoot:p ReadOnlyRootFilesystem:p
    AllowPrivilegeEscalation:p ProcMount:p SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
Capabilities Add:p Drop:p
SELinuxOptions User Role Type Level
WindowsSecurityContextOptions GMSACredentialSpecName=gmsaCredentialSpecName:p
    GMSACredentialSpec=gmsaCredentialSpec:p RunAsUserName:p HostProcess:p
SeccompProfile Type LocalhostProfile:p
AppArmorProfile Type LocalhostProfile:p
EphemeralContainer +EphemeralContainerCommon TargetContainerName
EphemeralContainerCommon Name Image Command:p Args:p WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource
    Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:p
    RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
    LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath
    TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b
PodSecurityContext SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions
    RunAsUser:p RunAsGroup:p RunAsNonRoot:p SupplementalGroups:p SupplementalGroupsPolicy:p FSGroup=fsGroup:p
    Sysctls:[]Sysctl FSGroupChangePolicy=fsGroupChangePolicy:p SeccompProfile:*SeccompProfile
    AppArmorProfile:*AppArmorProfile SELinuxChangePolicy=seLinuxChangePolicy:p
Sysctl Name Value
Affinity NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
    PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector NodeSelectorTerms:[]NodeSelectorTerm
NodeSelectorTerm MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
NodeSelectorRequirement Key Operator Values:p
PreferredSchedulingTerm Weight:i Preference:NodeSelectorTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm LabelSelector:*LabelSelector Namespaces:p TopologyKey NamespaceSelector:*LabelSelector
    MatchLabelKeys:p MismatchLabelKeys:p
WeightedPodAffinityTerm Weight:i PodAffinityTerm:PodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
Toleration Key Operator Value Effect TolerationSeconds:p
HostAlias IP=ip Hostnames:p
PodDNSConfig Nameservers:p Searches:p Options:[]PodDNSConfigOption
PodDNSConfigOption Name Value:p
PodReadinessGate ConditionType
TopologySpreadConstraint MaxSkew:i TopologyKey WhenUnsatisfiable LabelSelector:*LabelSelector MinDomains:p
    NodeAffinityPolicy:p NodeTaintsPolicy:p MatchLabelKeys:p
PodOS Name
PodSchedulingGate Name
PodResourceClaim Name ResourceClaimName:p ResourceClaimTemplateName:p
PodSchedulingGroup PodGroupName:p
EvictionResponder Name Priority:p
DaemonSetUpdateStrategy Type RollingUpdate:*RollingUpdateDaemonSet
RollingUpdateDaemonSet MaxUnavailable:o MaxSurge:o
PodIP IP=ip
HostIP IP=ip
"""
_ZERO: dict[str, Any] = {"s": "", "b": False, "i": 0, "o": 0, "q": "0", "p": None}


@dataclass(frozen=True, slots=True)
class GoField:
    """One field of a Go type: its name there, its name in JSON, and its shape."""

    go: str
    json: str
    shape: str


def as_go(type_name: str, tree: Tree) -> Tree:
    """An object of the API as the reference's internal type of that name prints it."""
    if type_name == "LabelSelector":
        return _label_selector(tree)
    printed: Tree = {}
    for field in fields_of(type_name):
        if field.shape == "ObjectMeta":
            printed.update(tree.get("metadata") or {})
        else:
            printed[field.go] = _value(field.shape, tree.get(field.json))
    return printed


@lru_cache(maxsize=512)
def fields_of(type_name: str) -> tuple[GoField, ...]:
    """The fields of a type, those of the types within it in their places."""
    return tuple(_parsed(_types()[type_name]))


@lru_cache(maxsize=1)
def _types() -> dict[str, tuple[str, ...]]:
    lines: list[list[str]] = []
    for line in _FACTS.strip().splitlines():
        if line.startswith(" "):
            lines[-1] += line.split()
        else:
            lines.append(line.split())
    return {name: tuple(fields) for name, *fields in lines}


def _parsed(texts: tuple[str, ...]) -> Iterator[GoField]:
    for text in texts:
        if text == "+ObjectMeta":
            yield GoField("", "metadata", "ObjectMeta")
        elif text.startswith("+"):
            yield from fields_of(text[1:])
        else:
            names, _, shape = text.partition(":")
            go, _, json = names.partition("=")
            yield GoField(go, json or go[0].lower() + go[1:], shape or "s")


def _value(shape: str, value: Any) -> Any:
    if shape in _ZERO:
        given = _ZERO[shape] if value is None else value
        return {key: given[key] for key in sorted(given)} if isinstance(given, dict) else given
    if shape.startswith("[]"):
        return None if value is None else [as_go(shape[2:], item) for item in value]
    if shape.startswith("*"):
        return None if value is None else as_go(shape[1:], value)
    return as_go(shape, value or {})


def _label_selector(tree: Tree) -> Tree:
    """Selectors are the same type inside and outside, and keep their JSON names."""
    printed: Tree = {}
    if labels := tree.get("matchLabels"):
        printed["matchLabels"] = {key: labels[key] for key in sorted(labels)}
    if expressions := tree.get("matchExpressions"):
        printed["matchExpressions"] = [
            {key: item[key] for key in ("key", "operator", "values") if key in item} for item in expressions
        ]
    return printed
