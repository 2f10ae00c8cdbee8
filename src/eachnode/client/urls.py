"""The URLs that a configuration names: where a server is, and through which proxy it is reached."""

from __future__ import annotations

import ipaddress
import urllib.parse
import urllib.request
from collections.abc import Mapping

from eachnode.client.credentials import ConfigError


def checked(url: str, what: str) -> urllib.parse.SplitResult:
    """The parts of a URL that HTTP can be spoken to; raises ConfigError, which calls it by `what`."""
    try:
        parts = urllib.parse.urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # A port that is none, an address in brackets that is none.
        right = False
    if not right:
        raise ConfigError(f"{what} must be an http or https URL: {url}")
    return parts


def proxy_for(server: urllib.parse.SplitResult, environment: Mapping[str, str]) -> str:
    """The proxy that the environment names for this server; empty when it is to be reached directly."""
    variable = next((each for each in _variables(server.scheme) if environment.get(each)), "")
    host = server.hostname or ""
    if not variable or _is_here(host) or _is_spared(server, environment):
        return ""
    named = environment[variable]
    proxy = named if "://" in named else f"http://{named}"
    checked(proxy, f"the proxy in the variable {variable}")
    return proxy


def _variables(scheme: str) -> tuple[str, str]:
    return f"{scheme.upper()}_PROXY", f"{scheme}_proxy"


def _is_here(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _is_spared(server: urllib.parse.SplitResult, environment: Mapping[str, str]) -> bool:
    """Whether NO_PROXY names this server: by its name, the end of it, its address, or a range that holds it."""
    spared = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    place = server.netloc.rpartition("@")[2]
    if urllib.request.proxy_bypass_environment(place, {"no": spared}):  # type: ignore[attr-defined] # missing in typeshed
        return True
    try:
        address = ipaddress.ip_address(server.hostname or "")
    except ValueError:
        return False
    return any(_holds(each.strip(), address) for each in spared.split(","))


def _holds(spared: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(spared.strip("[]"), strict=False)
    except ValueError:
        return False  # A name.
