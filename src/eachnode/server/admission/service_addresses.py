"""Services get an address within the cluster, and ports on the nodes where they want some.

An address is chosen by the service's name, so that the same objects always get the same addresses; where it is taken,
the next free one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network
from zlib import crc32

import msgspec

from eachnode.objects.resources import SERVICES
from eachnode.objects.status import InternalError
from eachnode.server.field_errors import invalid, refusal
from eachnode.server.kind import Call, Kind, Reader, Tree
from eachnode.server.kinds.service_updates import carry_over, needs_health_port, uses_node_ports
from eachnode.server.kinds.services import HEADLESS, is_headless, validate_addresses

ADDRESSES = IPv4Network("10.96.0.0/12")
NODE_PORTS = range(30000, 32768)


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    protocol: str = "TCP"
    node_port: int = 0


class _Spec(msgspec.Struct, frozen=True):
    cluster_ips: tuple[str, ...] = msgspec.field(default=(), name="clusterIPs")
    ports: tuple[_Port, ...] | None = None


class _Name(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class _Service(msgspec.Struct, frozen=True):
    metadata: _Name
    spec: _Spec = _Spec()


class ServiceAddresses:
    """Hands out what services need and nobody else has."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Fills in addresses and node ports; refuses those that are taken."""
        if kind.resource != SERVICES:
            return
        others = tuple(_others(tree, reader))
        spec = tree["spec"]
        if old is not None:
            carry_over(spec, old.get("spec", {}))
        if spec["type"] != "ExternalName":
            was = (old or {}).get("spec", {})
            _choose_families(tree, spec)
            _give_address(tree, spec, was, {ip for service in others for ip in service.spec.cluster_ips})
        if uses_node_ports(spec):
            taken = {(port.protocol, port.node_port) for service in others for port in service.spec.ports or ()}
            _give_node_ports(tree, spec, taken)
            if needs_health_port(spec) and not spec.get("healthCheckNodePort"):
                _give_health_port(tree, spec, taken)


def _others(tree: Tree, reader: Reader) -> Iterator[_Service]:
    about = tree["metadata"]
    for document in reader.documents(SERVICES):
        service = document.read(_Service)
        if (service.metadata.namespace, service.metadata.name) != (about.get("namespace", ""), about.get("name", "")):
            yield service


def _give_address(tree: Tree, spec: Tree, was: Tree, taken: set[str]) -> None:
    asked = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    if not asked:
        first = crc32(_key(tree).encode()) % (ADDRESSES.num_addresses - 512)
        asked = [_first_free(lambda index: str(ADDRESSES[256 + index]), first, ADDRESSES.num_addresses - 512, taken)]
    elif asked[0] != HEADLESS and asked != was.get("clusterIPs"):
        for ip in asked:
            if problem := _problem_of(ip, taken):
                error = invalid("spec.clusterIPs", asked, f"failed to allocate IP {ip}: {problem}")
                raise refusal(SERVICES, tree["metadata"].get("name", ""), [error])
    spec["clusterIP"], spec["clusterIPs"] = asked[0], asked


def _problem_of(ip: str, taken: set[str]) -> str:
    if ip in taken:
        return "provided IP is already allocated"
    try:
        inside = IPv4Address(ip) in ADDRESSES
    except ValueError:
        return ""  # Validation says what is wrong with it.
    return "" if inside else f"the provided IP ({ip}) is not in the valid range. The range of valid IPs is {ADDRESSES}"


def _choose_families(tree: Tree, spec: Tree) -> None:
    """Fills in the families; this cluster has IPv4 only, but a headless service without pods may name both."""
    both = is_headless(spec) and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")
    families = spec.get("ipFamilies") or []
    errors = [*validate_addresses(spec)]
    if not errors and policy == "SingleStack" and len(families) > 1:
        sentence = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
        errors = [invalid("spec.ipFamilyPolicy", policy, sentence)]
    if not errors and not both:
        if policy == "RequireDualStack":
            sentence = "this cluster is not configured for dual-stack services"
            errors.append(invalid("spec.ipFamilyPolicy", policy, sentence))
        elsewhere = ((index, family) for index, family in enumerate(families) if family != "IPv4")
        for index, family in elsewhere:
            errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
        asked = spec.get("clusterIPs") or []
        for index in (index for index, ip in enumerate(asked) if ":" in ip and not families):
            errors.append(invalid(f"spec.clusterIPs[{index}]", asked, "IPv6 is not configured on this cluster"))
    if errors:
        raise refusal(SERVICES, tree["metadata"].get("name", ""), errors)
    families = families or ["IPv4"]
    if both and policy != "SingleStack" and len(families) == 1:
        families = [*families, "IPv6" if families == ["IPv4"] else "IPv4"]
    spec["ipFamilies"] = families


def _give_node_ports(tree: Tree, spec: Tree, taken: set[tuple[str, int]]) -> None:
    used = set(taken)
    for index, port in enumerate(spec.get("ports") or ()):
        protocol, number = port["protocol"], port.get("nodePort", 0)
        if not number:
            first = crc32(f"{_key(tree)}/{port.get('port')}".encode()) % len(NODE_PORTS)
            busy = {str(number) for known, number in used if known == protocol}
            number = int(_first_free(lambda index: str(NODE_PORTS[index]), first, len(NODE_PORTS), busy))
            port["nodePort"] = number
        elif problem := _port_problem(protocol, number, taken):
            error = invalid(f"spec.ports[{index}].nodePort", number, problem)
            raise refusal(SERVICES, tree["metadata"].get("name", ""), [error])
        used.add((protocol, number))


def _give_health_port(tree: Tree, spec: Tree, taken: set[tuple[str, int]]) -> None:
    own = {port.get("nodePort", 0) for port in spec.get("ports") or ()}
    busy = {str(number) for number in own | {number for _, number in taken}}
    first = crc32(f"{_key(tree)}/health".encode()) % len(NODE_PORTS)
    spec["healthCheckNodePort"] = int(_first_free(lambda index: str(NODE_PORTS[index]), first, len(NODE_PORTS), busy))


def _port_problem(protocol: str, number: int, taken: set[tuple[str, int]]) -> str:
    if (protocol, number) in taken:
        return "provided port is already allocated"
    if number in NODE_PORTS:
        return ""
    return f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"


def _first_free(candidate: Callable[[int], str], first: int, count: int, taken: set[str]) -> str:
    for step in range(count):
        found = candidate((first + step) % count)
        if found not in taken:
            return found
    raise InternalError("failed to allocate a serviceIP: range is full")


def _key(tree: Tree) -> str:
    about = tree["metadata"]
    return f"{about.get('namespace', '')}/{about.get('name', '')}"
