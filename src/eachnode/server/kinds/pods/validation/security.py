"""Security contexts: who the processes are, what they may do, and which profiles hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.parts import containers_with_paths
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext
from eachnode.server.kinds.pods.validation.windows import validate_windows_options

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE = 4095
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_IS_SYSCTL = re.compile(_SYSCTL).fullmatch
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)

Errors = Iterator[FieldError]


def validate_pod_security(context: Tree, path: str, pod: PodContext) -> Errors:
    """The security context of a pod."""
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _validate_id(f"{path}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _validate_id(f"{path}.supplementalGroups[{index}]", group)
    yield from _validate_sysctls(context, path, pod)
    change = context.get("fsGroupChangePolicy")
    yield from fields.one_of(f"{path}.fsGroupChangePolicy", change, ("Always", "OnRootMismatch"))
    yield from _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    groups = context.get("supplementalGroupsPolicy")
    yield from fields.one_of(f"{path}.supplementalGroupsPolicy", groups, ("Merge", "Strict"))
    labels = context.get("seLinuxChangePolicy")
    yield from fields.one_of(f"{path}.seLinuxChangePolicy", labels, ("MountOption", "Recursive"))


def validate_container_security(context: Tree | None, path: str, pod: PodContext) -> Errors:
    """The security context of a container."""
    if context is None:
        return
    yield from _validate_id(f"{path}.runAsUser", context.get("runAsUser"))
    yield from _validate_id(f"{path}.runAsGroup", context.get("runAsGroup"))
    mask = context.get("procMount")
    yield from fields.one_of(f"{path}.procMount", mask, ("Default", "Unmasked"))
    if mask == "Unmasked" and pod.host_users:
        yield invalid(f"{path}.procMount", mask, "`hostUsers` must be false to use `Unmasked`")
    yield from _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from _validate_escalation(context, path, pod)
    yield from validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _validate_id(path: str, value: int | None) -> Errors:
    return fields.wrong(path, value, () if value is None else formats.user_id(value))


def _validate_escalation(context: Tree, path: str, pod: PodContext) -> Errors:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    refused = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        yield invalid(path, as_go("SecurityContext", context), f"{refused} `privileged` to true")
    if not pod.lenient.admin_without_escalation:
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                yield invalid(path, as_go("SecurityContext", context), f"{refused} `capabilities.Add` CAP_SYS_ADMIN")


def _validate_seccomp(profile: Tree | None, path: str) -> Errors:
    if profile is None:
        return
    kind, file = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in PROFILE_TYPES:
        yield not_supported(f"{path}.type", kind, PROFILE_TYPES)
    if kind != "Localhost":
        if file is not None:
            shown = as_go("SeccompProfile", profile)
            yield invalid(f"{path}.localhostProfile", shown, "can only be set when seccomp type is Localhost")
    elif file is None:
        yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    else:
        yield from fields.descending(f"{path}.localhostProfile", file)


def validate_app_armor(profile: Tree | None, path: str) -> Errors:
    """An AppArmor profile."""
    if profile is None:
        return
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    place = f"{path}.localhostProfile"
    if not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in PROFILE_TYPES:
        yield not_supported(f"{path}.type", kind, PROFILE_TYPES)
    elif kind != "Localhost":
        if name is not None:
            yield invalid(place, name, "can only be set when AppArmor type is Localhost")
    elif name is None:
        yield required(place, "must be set when AppArmor type is Localhost")
    else:
        if name != name.strip():
            yield invalid(place, name, "must not be padded with whitespace")
        elif not name:
            yield required(place, "must be set when AppArmor type is Localhost")
        if len(name.encode()) > _LONGEST_PROFILE:
            yield too_long(place, _LONGEST_PROFILE)


def _validate_sysctls(context: Tree, path: str, pod: PodContext) -> Errors:
    names: set[str] = set()
    for sysctl, entry in fields.each(context, "sysctls", path):
        name, place = sysctl.get("name", ""), f"{entry}.name"
        if not name:
            yield required(place)
        elif len(name.encode()) > 253 or not _IS_SYSCTL(name):
            yield invalid(place, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$")
        elif name in names:
            yield duplicate(place, name)
        names.add(name)
        if not pod.lenient.host_sysctls and (sharing := shared_by_host(name, pod.spec)):
            yield invalid(place, name, f"may not be specified when '{sharing}' is true")


def shared_by_host(sysctl: str, spec: Tree) -> str:
    """The field by which the pod shares the namespace of a sysctl with its node; empty when it does not."""
    name = _dotted(sysctl).partition("*")[0]
    if spec.get("hostNetwork") and name.startswith("net."):
        return "hostNetwork"
    if spec.get("hostIPC") and (name in _IPC_SYSCTLS or name.startswith("fs.mqueue.")):
        return "hostIPC"
    return ""


def _dotted(sysctl: str) -> str:
    """Sysctls may be written with slashes; then dots and slashes change places."""
    first = re.search(r"[./]", sysctl)
    if first is None or first[0] == ".":
        return sysctl
    return sysctl.translate(str.maketrans("./", "/."))


def validate_sharing(spec: Tree, path: str) -> Errors:
    """A pod that sees the node's processes has none of its own to share."""
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        sentence = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, sentence)


def validate_user_namespace(spec: Tree, path: str, pod: PodContext) -> Errors:
    """A pod with users of its own may not share other namespaces of the node."""
    if pod.host_users:
        return
    refused = "when `hostUsers` is false"
    if spec.get("hostNetwork") and not pod.lenient.host_network_in_user_namespace:
        yield forbidden(f"{path}.hostNetwork", refused)
    if spec.get("hostPID"):
        yield forbidden(f"{path}.HostPID", refused)
    if spec.get("hostIPC"):
        yield forbidden(f"{path}.HostIPC", refused)
    if not pod.lenient.devices_in_user_namespace:
        for container, place in containers_with_paths(spec, path):
            if container.get("volumeDevices"):
                yield forbidden(f"{place}.volumeDevices", refused)
