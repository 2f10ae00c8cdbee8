"""What the writer of a service is told although it is legal: fields that mean nothing here, or soon nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address, IPv6Network

from eachnode.server.field_errors import shown
from eachnode.server.kind import Tree
from eachnode.server.kinds.addresses import parse_address, parse_range

_OLD_HINTS, _NEW_HINTS = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def warn(new: Tree, old: Tree | None) -> Iterator[str]:  # noqa: ARG001  # the shape of a kind's warnings
    """The warnings for a new or changed service, in the reference's order."""
    spec = new["spec"]
    is_external = spec["type"] == "ExternalName"
    is_headless = spec["type"] == "ClusterIP" and spec.get("clusterIP") == "None"
    if _OLD_HINTS in (new["metadata"].get("annotations") or {}):
        yield f"annotation {_OLD_HINTS} is deprecated, please use {_NEW_HINTS} instead"
    if not is_headless:
        yield from _addresses(spec, "clusterIPs")
    if is_headless:
        yield from _ignored_when_headless(spec)
    yield from _addresses(spec, "externalIPs")
    if spec.get("externalIPs") and not is_headless and not is_external:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if address := spec.get("loadBalancerIP"):
        yield from _misspelt(address, "spec.loadBalancerIP")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from _misspelt_range(text, f"spec.loadBalancerSourceRanges[{index}]")
    if is_external and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not is_external and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _ignored_when_headless(spec: Tree) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _addresses(spec: Tree, field: str) -> Iterator[str]:
    for index, text in enumerate(spec.get(field) or ()):
        yield from _misspelt(text, f"spec.{field}[{index}]")


def _misspelt(text: str, path: str) -> Iterator[str]:
    address = parse_address(text)
    if address is None:
        return
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and str(address) != text:
            yield f"{path}: IPv6 address {shown(text)} should be in RFC 5952 canonical format ({shown(str(address))})"
    else:
        mapped = address if str(address) != text else None
    if mapped is not None:
        yield f"{path}: non-standard IP address {shown(text)} is invalid: use {shown(str(mapped))}"


def _misspelt_range(text: str, path: str) -> Iterator[str]:
    network = parse_range(text.strip())
    if isinstance(network, IPv6Network) and str(network) != text:
        yield f"{path}: IPv6 CIDR value {shown(text)} should be in RFC 5952 canonical format ({shown(str(network))})"
