"""What a pod has to do with the network: ports, names and name servers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.validation import fields

PROTOCOLS = ("SCTP", "TCP", "UDP")
_SEARCH_PART = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_SEARCH_PART}(\.{_SEARCH_PART})*"
_IS_SEARCH = re.compile(_SEARCH).fullmatch
_SEARCH_SENTENCE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LEADING_ZERO = re.compile(r"(^|[.:])0+(?=\d+(\.|$))")

Errors = Iterator[FieldError]


def validate_ports(container: Tree, path: str) -> Errors:
    """The ports of a container."""
    names: set[str] = set()
    for port, place in fields.each(container, "ports", path):
        if name := port.get("name"):
            problems = formats.port_name(name)
            yield from fields.wrong(f"{place}.name", name, problems)
            if name in names:
                yield duplicate(f"{place}.name", name)
            elif not problems:
                names.add(name)
        if number := port.get("containerPort"):
            yield from fields.wrong(f"{place}.containerPort", number, formats.port_number(number))
        else:
            yield required(f"{place}.containerPort")
        if number := port.get("hostPort"):
            yield from fields.wrong(f"{place}.hostPort", number, formats.port_number(number))
        protocol = port.get("protocol", "")
        if not protocol:
            yield required(f"{place}.protocol")
        elif protocol not in PROTOCOLS:
            yield not_supported(f"{place}.protocol", protocol, PROTOCOLS)


def validate_host_ports(containers: Iterable[Tree], path: str) -> Errors:
    """No two ports of these containers may be the same on the node."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for port, place in fields.each(container, "ports", f"{path}[{index}]"):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                yield duplicate(f"{place}.hostPort", key)
            taken.add(key)


def validate_host_network_ports(spec: Tree, path: str, *, is_pod: bool) -> Errors:
    """On the node's network a container's port is the node's."""
    if not spec.get("hostNetwork"):
        return
    for container, container_path in fields.each(spec, "containers", path):
        for port, place in fields.each(container, "ports", container_path):
            on_host = port.get("hostPort", 0)
            if (is_pod or on_host) and on_host != port.get("containerPort", 0):
                yield invalid(f"{place}.hostPort", on_host, "must match `containerPort` when `hostNetwork` is true")


def validate_address(path: str, text: str) -> Errors:
    """An IP address, written without leading zeros and not as an IPv4 address within IPv6."""
    address = parse_address(text)
    if address is None:
        yield invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
    elif ":" not in text and _LEADING_ZERO.search(text):
        yield invalid(path, text, "must not have leading 0s")
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address a text means; zeros in front of its numbers are overlooked, zones are not known."""
    try:
        return ipaddress.ip_address(_LEADING_ZERO.sub(r"\1", text) if "%" not in text else "")
    except ValueError:
        return None


def validate_dns(spec: Tree, path: str) -> Errors:
    """Name servers, search domains and options."""
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or ()
    if spec.get("dnsPolicy") == "None" and config is None:
        yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if spec.get("dnsPolicy") == "None" and not servers:
        sentence = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(f"{path}.nameservers", sentence)
        return
    if config is None:
        return
    if len(servers) > 3:
        yield invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from validate_address(f"{path}.nameservers[{index}]", server)
    yield from _validate_searches(config.get("searches") or (), f"{path}.searches")
    for option, place in fields.each(config, "options", path):
        if not option.get("name"):
            yield required(place, "must not be empty")


def _validate_searches(searches: list[str] | tuple[str, ...], path: str) -> Errors:
    if len(searches) > 32:
        yield invalid(path, searches, "must not have more than 32 search paths")
    if len(" ".join(searches).encode()) > 2048:
        sentence = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid(path, searches, sentence)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            yield from fields.wrong(f"{path}[{index}]", domain, _search_problems(domain))


def _search_problems(domain: str) -> Iterator[str]:
    if len(domain.encode()) > 253:
        yield "must be no more than 253 characters"
    if not _IS_SEARCH(domain):
        yield formats.mismatch(_SEARCH_SENTENCE, _SEARCH, "example.com")


def validate_host_aliases(spec: Tree, path: str) -> Errors:
    """Entries for the hosts file."""
    for alias, place in fields.each(spec, "hostAliases", path):
        yield from validate_address(f"{place}.ip", alias.get("ip", ""))
        for index, name in enumerate(alias.get("hostnames") or ()):
            yield from fields.dns_subdomain(f"{place}.hostnames[{index}]", name)


def validate_host_name_override(spec: Tree, path: str) -> Errors:
    """A host name that is the pod's whole name."""
    name = spec.get("hostnameOverride")
    if name is None:
        return
    place = f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(place, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(place, "may not be specified when hostNetwork is true")
    if len(name.encode()) > 64:
        yield too_long(place, 64)
    yield from fields.dns_subdomain(place, name)
