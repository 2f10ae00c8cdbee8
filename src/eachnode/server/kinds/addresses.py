"""IP addresses and address ranges as the API accepts them: no leading zeros, no IPv4 dressed up as IPv6."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from eachnode.server.field_errors import FieldError, invalid

NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address, leading zeros forgiven, or None."""
    try:
        return ip_address(_without_leading_zeros(text))
    except ValueError:
        return None


def parse_range(text: str) -> IPv4Network | IPv6Network | None:
    """The range an address with a prefix length lies in, or None."""
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit():
        return None
    try:
        return ip_network(f"{_without_leading_zeros(address)}/{int(length)}", strict=False)
    except ValueError:
        return None


def validate_address(text: str, path: str) -> Iterator[FieldError]:
    """One IP address."""
    address = parse_address(text)
    if address is None:
        yield invalid(path, text, NOT_AN_ADDRESS)
        return
    if _without_leading_zeros(text) != text:
        yield invalid(path, text, "must not have leading 0s")
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def validate_range(text: str, path: str) -> Iterator[FieldError]:
    """One address range."""
    network = parse_range(text)
    if network is None:
        yield invalid(path, text, NOT_A_RANGE)
        return
    address, _, length = text.partition("/")
    parsed = parse_address(address)
    if _without_leading_zeros(address) != address or (len(length) > 1 and length.startswith("0")):
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif parsed != network.network_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def _without_leading_zeros(text: str) -> str:
    """`010.1.1.1` as `10.1.1.1`; the zeros of IPv6 groups are legal and stay."""
    if ":" in text:
        return text
    return ".".join(str(int(part)) if part.isascii() and part.isdigit() else part for part in text.split("."))
