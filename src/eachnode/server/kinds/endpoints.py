"""Endpoints: where a service's pods listen, as somebody wrote it down."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from eachnode.objects.formats import dns_label, dns_subdomain, port_number, qualified_name
from eachnode.objects.resources import ENDPOINTS as RESOURCE
from eachnode.server.field_errors import FieldError, invalid, not_supported, required
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.addresses import parse_address, validate_address
from eachnode.server.kinds.rows import AGE, NAME, NONE, age_of, name_of

PROTOCOLS = ("SCTP", "TCP", "UDP")
_SHOWN = 3


def _default(tree: Tree) -> None:
    for subset in tree.get("subsets") or ():
        for port in subset.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"


def validate_reachable(text: str, path: str) -> Iterator[FieldError]:
    """An address that others can reach: not a node's own."""
    address = parse_address(text)
    if address is None:
        yield invalid(path, text, "must be a valid IP address")
        return
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_local_multicast(address):
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def _is_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    first = address.packed
    return first[:3] == b"\xe0\x00\x00" if address.version == 4 else first[0] == 0xFF and first[1] & 0x0F == 0x02


def _validate(tree: Tree) -> Iterator[FieldError]:
    for index, subset in enumerate(tree.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(part) or ()):
                yield from _validate_endpoint(address, f"{path}.{part}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _validate_port(port, f"{path}.ports[{number}]", len(ports) > 1)


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    return iter(()) if new.get("subsets") == old.get("subsets") else _validate(new)


def _validate_endpoint(address: Tree, path: str) -> Iterator[FieldError]:
    ip, hostname, node = address.get("ip", ""), address.get("hostname", ""), address.get("nodeName")
    yield from validate_address(ip, f"{path}.ip")
    for problem in dns_label(hostname) if hostname else ():
        yield invalid(f"{path}.hostname", hostname, problem)
    for problem in dns_subdomain(node) if node is not None else ():
        yield invalid(f"{path}.nodeName", node, problem)
    yield from validate_reachable(ip, f"{path}.ip")


def _validate_port(port: Tree, path: str, named: bool) -> Iterator[FieldError]:
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if named and not name:
        yield required(f"{path}.name")
    for problem in dns_label(name) if name else ():
        yield invalid(f"{path}.name", name, problem)
    for problem in port_number(number):
        yield invalid(f"{path}.port", number, problem)
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, PROTOCOLS)
    application = port.get("appProtocol")
    for problem in qualified_name(application) if application is not None else ():
        yield invalid(f"{path}.appProtocol", application, problem)


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), _summary(tree.get("subsets") or ()), age_of(tree, now)]


def _summary(subsets: Any) -> str:
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_joined(ip, port.get("port", 0)) for port in ports for ip in addresses] if ports else addresses
    shown = ",".join(found[:_SHOWN])
    return f"{shown} + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else shown


def _joined(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


ENDPOINTS = Kind(
    resource=RESOURCE,
    singular="endpoints",
    definition="io.k8s.api.core.v1.Endpoints",
    short_names=("ep",),
    default=_default,
    validate=_validate,
    validate_update=_validate_update,
    whole_update=True,
    validate_name=name_rules.dns_subdomain,
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    create_on_update=True,
    columns=(NAME, Column("Endpoints", description="Where its pods listen."), AGE),
    row=_row,
)
