"""The few protobuf bodies that kubectl's own commands, and kube-scheduler, send without being told to.

Since v1.32 `kubectl create namespace`, `auth can-i`, `create token`, `drain` and the like speak protobuf without asking
what the server reads; a scheduler does so with its bindings, events and lease. Their objects are small, so these are
read; everything else in protobuf is refused with a Status that says to use JSON. A message is read by its field numbers
here and by the types in the field tables.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from eachnode.objects.clock import micro_timestamp, timestamp
from eachnode.objects.status import UnsupportedMediaType
from eachnode.server.kind import Tree
from eachnode.server.schema.shapes import Field, Shape, Sort, shape

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# Field names and numbers of each message. Structs that are not listed are left out: the server fills them in itself.
_NUMBERS: Mapping[str, str] = {
    "coordination.v1.Lease": "metadata=1 spec=2",
    "coordination.v1.LeaseSpec": (
        "holderIdentity=1 leaseDurationSeconds=2 acquireTime=3 renewTime=4 leaseTransitions=5 strategy=6 "
        "preferredHolder=7"
    ),
    "core.v1.Binding": "metadata=1 target=2",
    "core.v1.ConfigMap": "metadata=1 data=2 binaryData=3 immutable=4",
    "core.v1.Event": (
        "metadata=1 involvedObject=2 reason=3 message=4 source=5 firstTimestamp=6 lastTimestamp=7 count=8 type=9 "
        "eventTime=10 series=11 action=12 related=13 reportingComponent=14 reportingInstance=15"
    ),
    "core.v1.EventSeries": "count=1 lastObservedTime=2",
    "core.v1.EventSource": "component=1 host=2",
    "core.v1.LocalObjectReference": "name=1",
    "core.v1.Namespace": "metadata=1 spec=2 status=3",
    "core.v1.NamespaceSpec": "finalizers=1",
    "core.v1.ObjectReference": "kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7",
    "core.v1.ResourceQuota": "metadata=1 spec=2 status=3",
    "core.v1.ResourceQuotaSpec": "hard=1 scopes=2 scopeSelector=3",
    "core.v1.ScopeSelector": "matchExpressions=1",
    "core.v1.ScopedResourceSelectorRequirement": "scopeName=1 operator=2 values=3",
    "core.v1.Secret": "metadata=1 data=2 type=3 stringData=4 immutable=5",
    "core.v1.Service": "metadata=1 spec=2 status=3",
    "core.v1.ServiceAccount": "metadata=1 secrets=2 imagePullSecrets=3 automountServiceAccountToken=4",
    "core.v1.ServicePort": "name=1 protocol=2 port=3 targetPort=4 nodePort=5 appProtocol=6",
    "core.v1.ServiceSpec": (
        "ports=1 selector=2 clusterIP=3 type=4 externalIPs=5 sessionAffinity=7 loadBalancerIP=8 "
        "loadBalancerSourceRanges=9 externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12 "
        "publishNotReadyAddresses=13 ipFamilyPolicy=17 clusterIPs=18 ipFamilies=19 allocateLoadBalancerNodePorts=20 "
        "loadBalancerClass=21 internalTrafficPolicy=22 trafficDistribution=23"
    ),
    "events.v1.Event": (
        "metadata=1 eventTime=2 series=3 reportingController=4 reportingInstance=5 action=6 reason=7 regarding=8 "
        "related=9 note=10 type=11 deprecatedSource=12 deprecatedFirstTimestamp=13 deprecatedLastTimestamp=14 "
        "deprecatedCount=15"
    ),
    "events.v1.EventSeries": "count=1 lastObservedTime=2",
    "rbac.v1.AggregationRule": "clusterRoleSelectors=1",
    "rbac.v1.ClusterRole": "metadata=1 rules=2 aggregationRule=3",
    "rbac.v1.ClusterRoleBinding": "metadata=1 subjects=2 roleRef=3",
    "rbac.v1.PolicyRule": "verbs=1 apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5",
    "rbac.v1.Role": "metadata=1 rules=2",
    "rbac.v1.RoleBinding": "metadata=1 subjects=2 roleRef=3",
    "rbac.v1.RoleRef": "apiGroup=1 kind=2 name=3",
    "rbac.v1.Subject": "kind=1 apiGroup=2 name=3 namespace=4",
    "policy.v1.Eviction": "metadata=1 deleteOptions=2",
    "policy.v1.PodDisruptionBudget": "metadata=1 spec=2 status=3",
    "policy.v1.PodDisruptionBudgetSpec": "minAvailable=1 selector=2 maxUnavailable=3 unhealthyPodEvictionPolicy=4",
    "scheduling.v1.PriorityClass": "metadata=1 value=2 globalDefault=3 description=4 preemptionPolicy=5",
    "authorization.v1.NonResourceAttributes": "path=1 verb=2",
    "authorization.v1.ResourceAttributes": "namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7",
    "authorization.v1.SelfSubjectAccessReview": "metadata=1 spec=2 status=3",
    "authorization.v1.SelfSubjectAccessReviewSpec": "resourceAttributes=1 nonResourceAttributes=2",
    "authorization.v1.SelfSubjectRulesReview": "metadata=1 spec=2 status=3",
    "authorization.v1.SelfSubjectRulesReviewSpec": "namespace=1",
    "authentication.v1.BoundObjectReference": "kind=1 apiVersion=2 name=3 uid=4",
    "authentication.v1.SelfSubjectReview": "metadata=1 status=2",
    "authentication.v1.TokenRequest": "metadata=1 spec=2 status=3",
    "authentication.v1.TokenRequestSpec": "audiences=1 boundObjectRef=3 expirationSeconds=4",
    "meta.v1.DeleteOptions": "gracePeriodSeconds=1 preconditions=2 orphanDependents=3 propagationPolicy=4 dryRun=5",
    "meta.v1.LabelSelector": "matchLabels=1 matchExpressions=2",
    "meta.v1.LabelSelectorRequirement": "key=1 operator=2 values=3",
    "meta.v1.ObjectMeta": (
        "name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7 creationTimestamp=8 "
        "deletionTimestamp=9 deletionGracePeriodSeconds=10 labels=11 annotations=12 ownerReferences=13 finalizers=14 "
        "managedFields=17"
    ),
    "meta.v1.OwnerReference": "kind=1 name=3 uid=4 apiVersion=5 controller=6 blockOwnerDeletion=7",
    "meta.v1.Preconditions": "uid=1 resourceVersion=2",
}
_PACKAGES = {
    "core": "v1",
    "coordination": "coordination.k8s.io/v1",
    "events": "events.k8s.io/v1",
    "rbac": "rbac.authorization.k8s.io/v1",
    "policy": "policy/v1",
    "scheduling": "scheduling.k8s.io/v1",
    "authorization": "authorization.k8s.io/v1",
    "authentication": "authentication.k8s.io/v1",
}


class _Unreadable(Exception):
    """Not a message we know."""


def json_from_protobuf(body: bytes) -> bytes:
    """The body as JSON; raises UnsupportedMediaType for what is not among those few."""
    try:
        if not body.startswith(_MAGIC):
            raise _Unreadable
        envelope = dict(_fields(body[len(_MAGIC) :]))
        about = {number: _bytes(value).decode() for number, value in _fields(_bytes(envelope.get(1, b"")))}
        api_version, kind = about.get(1, ""), about.get(2, "")
        tree = _struct(_bytes(envelope.get(2, b"")), shape(_definition(api_version, kind)))
    except (_Unreadable, IndexError, UnicodeDecodeError, KeyError):
        raise refused() from None
    return msgspec.json.encode({**tree, "apiVersion": api_version, "kind": kind})


def refused() -> UnsupportedMediaType:
    """The 415 that says what to do instead."""
    return UnsupportedMediaType(
        f"this server does not read {PROTOBUF}: send application/json (clients of the official libraries: "
        'set the content type to "application/json")'
    )


def _definition(api_version: str, kind: str) -> str:
    if kind == "DeleteOptions":  # Every group has it.
        return _full("meta.v1.DeleteOptions")
    for package, known in _PACKAGES.items():
        if known == api_version and f"{package}.v1.{kind}" in _NUMBERS:
            return _full(f"{package}.v1.{kind}")
    raise _Unreadable


def _full(name: str) -> str:
    home = "io.k8s.apimachinery.pkg.apis" if name.startswith("meta.") else "io.k8s.api"
    return f"{home}.{name}"


@cache
def _members(definition: str) -> Mapping[int, Field] | None:
    """The fields of a struct by number, or None when it is one that the server fills in itself."""
    for prefix in ("io.k8s.apimachinery.pkg.apis.", "io.k8s.api."):
        numbers = _NUMBERS.get(definition.removeprefix(prefix))
        if numbers is not None:
            known = shape(definition).fields
            return {int(number): known[name] for name, _, number in (word.partition("=") for word in numbers.split())}
    return None


def _struct(data: bytes, known: Shape) -> Tree:
    members = _members(known.name)
    if members is None:
        raise _Unreadable
    tree: Tree = {}
    for number, value in _fields(data):
        member = members.get(number)
        if member is None:
            raise _Unreadable
        if not _is_filled_in(member.shape):
            _take(tree, member, value)
    return tree


def _is_filled_in(known: Shape) -> bool:
    """Whether it is a struct, or a list of structs, that the server fills in itself."""
    inner = known.item if known.sort is Sort.LIST and known.item is not None else known
    return inner.sort is Sort.STRUCT and _members(inner.name) is None


def _take(tree: Tree, member: Field, value: bytes | int) -> None:
    """Adds one field of a message to the tree; lists and maps come entry by entry."""
    known = member.shape
    if known.sort is Sort.LIST:
        assert known.item is not None
        tree.setdefault(member.name, []).append(_value(known.item, value))
    elif known.sort is Sort.MAP:
        assert known.item is not None
        entry = dict(_fields(_bytes(value)))
        key = _bytes(entry.get(1, b"")).decode()
        tree.setdefault(member.name, {})[key] = _value(known.item, entry.get(2, b""))
    else:
        found = _value(known, value)
        if found is not None:
            tree[member.name] = found


def _value(known: Shape, value: bytes | int) -> Any:
    match known.sort:
        case Sort.STRING:
            return _bytes(value).decode()
        case Sort.BYTES:
            return b64encode(_bytes(value)).decode()
        case Sort.BOOLEAN:
            return bool(_number(value))
        case Sort.INTEGER:
            return _number(value)
        case Sort.STRUCT:
            return _struct(_bytes(value), known)
        case Sort.QUANTITY:
            parts = dict(_fields(_bytes(value)))
            return _bytes(parts.get(1, b"0")).decode()
        case Sort.INTEGER_OR_STRING:
            parts = dict(_fields(_bytes(value)))
            is_text = parts.get(1, 0) == 1
            return _bytes(parts.get(3, b"")).decode() if is_text else _number(parts.get(2, 0))
        case Sort.TIME | Sort.MICRO_TIME:
            return _moment(_bytes(value), known.sort)
        case _:
            raise _Unreadable


def _moment(data: bytes, sort: Sort) -> str | None:
    """A time; one that was not set is an empty message, or the beginning of Go's own era."""
    parts = {number: _number(part) for number, part in _fields(data)}
    seconds = parts.get(1, 0)
    if seconds <= 0:
        return None
    return timestamp(seconds) if sort is Sort.TIME else micro_timestamp(seconds + parts.get(2, 0) / 1e9)


def _bytes(value: bytes | int) -> bytes:
    if isinstance(value, int):
        raise _Unreadable
    return value


def _number(value: bytes | int) -> int:
    """A signed number of 64 bits."""
    if isinstance(value, bytes):
        raise _Unreadable
    return value - (1 << 64) if value >= 1 << 63 else value


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Number and value of each field of a message."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        wire = tag & 7
        if wire == _VARINT:
            number, place = _varint(data, place)
            yield tag >> 3, number
            continue
        if wire == _BYTES:
            length, place = _varint(data, place)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise _Unreadable
        if place + length > len(data):
            raise _Unreadable
        yield tag >> 3, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & (1 << 64) - 1, place
        shift += 7
        if shift > 63:
            raise _Unreadable
