"""What a pod's operating system allows, and the options that only Windows has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import containers_with_paths, inner
from eachnode.server.kinds.pods.validation import fields

_LONGEST_SPEC = 64 * 1024
_DNS_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_IS_DNS_DOMAIN = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*").fullmatch
_IS_NETBIOS_DOMAIN = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""").fullmatch
_HAS_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
_HAS_BAD_CHARACTER = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""").search
_NOTHING_BUT_DOTS = re.compile("[. ]+").fullmatch
_LINUX_POD_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_LINUX_CONTAINER_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_NOT_FOR_WINDOWS = "cannot be set for a windows pod"
_NOT_FOR_LINUX = "windows options cannot be set for a linux pod"

Errors = Iterator[FieldError]


def validate_os(spec: Tree, path: str) -> Errors:
    """The operating system a pod says it is for, and what is then out of place."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name", "")
    if not name:
        yield required(f"{path}.os.name")
    elif name == "linux":
        yield from _validate_linux(spec, path)
    elif name == "windows":
        yield from _validate_windows(spec, path)
    else:
        yield not_supported(f"{path}.os", name, ("linux", "windows"))


def _validate_linux(spec: Tree, path: str) -> Errors:
    if inner(spec, "securityContext", "windowsOptions") is not None:
        yield forbidden(f"{path}.securityContext.windowsOptions", _NOT_FOR_LINUX)
    for container, place in containers_with_paths(spec, path):
        if inner(container, "securityContext", "windowsOptions") is not None:
            yield forbidden(f"{place}.securityContext.windowsOptions", _NOT_FOR_LINUX)


def _validate_windows(spec: Tree, path: str) -> Errors:
    yield from _unset(spec.get("securityContext"), f"{path}.securityContext", _LINUX_POD_FIELDS)
    if spec.get("hostUsers") is not None:
        yield forbidden(f"{path}.hostUsers", _NOT_FOR_WINDOWS)
    for name in ("hostPID", "hostIPC"):
        if spec.get(name):
            yield forbidden(f"{path}.{name}", _NOT_FOR_WINDOWS)
    if spec.get("shareProcessNamespace") is not None:
        yield forbidden(f"{path}.shareProcessNamespace", _NOT_FOR_WINDOWS)
    for container, place in containers_with_paths(spec, path):
        yield from _unset(container.get("securityContext"), f"{place}.securityContext", _LINUX_CONTAINER_FIELDS)


def _unset(context: Tree | None, path: str, names: tuple[str, ...]) -> Errors:
    for name in names:
        if (context or {}).get(name) is not None:
            yield forbidden(f"{path}.{name}", _NOT_FOR_WINDOWS)


def validate_host_process(spec: Tree, path: str) -> Errors:
    """Windows containers that run as processes of the node: all of them or none."""
    of_pod = inner(spec, "securityContext", "windowsOptions", "hostProcess")
    containers = hosted = 0
    for container, place in containers_with_paths(spec, path):
        containers += 1
        own = inner(container, "securityContext", "windowsOptions", "hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            sentence = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield invalid(f"{place}.securityContext.windowsOptions.hostProcess", own, sentence)
        hosted += bool(of_pod if own is None else own)
    if not hosted:
        return
    if hosted != containers:
        sentence = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", sentence)
    if not spec.get("hostNetwork"):
        sentence = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{path}.hostNetwork", False, sentence)


def validate_windows_options(options: Tree | None, path: str) -> Errors:
    """The Windows part of a security context."""
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        yield from fields.wrong(f"{path}.gmsaCredentialSpecName", name, formats.dns_subdomain(name))
    if (text := options.get("gmsaCredentialSpec")) is not None:
        if not text:
            yield invalid(f"{path}.gmsaCredentialSpec", text, "gmsaCredentialSpec cannot be an empty string")
        elif len(text.encode()) > _LONGEST_SPEC:
            yield invalid(f"{path}.gmsaCredentialSpec", text, "gmsaCredentialSpec size must be under 64 KiB")
    if (name := options.get("runAsUserName")) is not None:
        problems = (f"runAsUserName{problem}" for problem in _user_problems(name))
        yield from fields.wrong(f"{path}.runAsUserName", name, problems)


def _user_problems(name: str) -> Iterator[str]:
    """What is wrong with `DOMAIN\\user`."""
    if not name:
        yield " cannot be an empty string"
    elif _HAS_CONTROL(name):
        yield " cannot contain control characters"
    elif name.count("\\") > 1:
        yield " cannot contain more than one backslash"
    else:
        domain, backslash, user = name.rpartition("\\")
        if len(domain.encode()) >= 256:
            yield "'s Domain length must be under 256 characters"
        if backslash and not (_IS_NETBIOS_DOMAIN(domain) or _IS_DNS_DOMAIN(domain)):
            yield "'s Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "'s User cannot be empty"
        elif len(user.encode()) > 104:
            yield "'s User length must not be longer than 104 characters"
        if _NOTHING_BUT_DOTS(user):
            yield "'s User cannot contain only periods or spaces"
        if _HAS_BAD_CHARACTER(user):
            yield """'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]"""
