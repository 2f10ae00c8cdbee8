"""Where values of variables and files may come from: fields and resources of the pod, keys of other objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eachnode.objects import formats
from eachnode.objects.quantities import canonical, nano
from eachnode.server.field_errors import FieldError, invalid, not_supported, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.validation import fields

RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_READABLE_FIELDS = frozenset(
    (
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    )
)
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")

Errors = Iterator[FieldError]


def validate_field_ref(tree: Tree, allowed: Sequence[str], path: str) -> Errors:
    """A reference to a field of the pod: one of those allowed here, or an entry of its labels or annotations."""
    version, field = tree.get("apiVersion"), tree.get("fieldPath")
    if not version:
        yield required(f"{path}.apiVersion")
    elif not field:
        yield required(f"{path}.fieldPath")
    elif problem := _field_problem(version, field):
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif (entry := _entry(field)) is not None:
        owner, key = entry
        name = key.lower() if owner == "metadata.annotations" else key
        yield from fields.wrong(path, name, formats.qualified_name(name))
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in allowed:
            yield not_supported(f"{path}.fieldPath", field, allowed)


def _field_problem(version: str, field: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if (entry := _entry(field)) is not None:
        named = entry[0] in ("metadata.annotations", "metadata.labels")
        return "" if named else f"field label does not support subscript: {field}"
    known = field in _READABLE_FIELDS or field == "spec.host"
    return "" if known else f"field label not supported: {field}"


def _entry(field: str) -> tuple[str, str] | None:
    """`metadata.labels['a']` as (`metadata.labels`, `a`)."""
    owner, bracket, key = field.removesuffix("']").partition("['")
    return (owner, key) if field.endswith("']") and bracket and owner else None


def validate_resource_ref(tree: Tree, path: str, *, in_volume: bool) -> Errors:
    """A reference to a limit or request of a container; in volumes it must say of which."""
    resource = tree.get("resource", "")
    if in_volume and not tree.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in RESOURCE_FIELDS and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, RESOURCE_FIELDS)
    yield from _validate_divisor(resource, tree.get("divisor"), f"{path}.divisor")


def _validate_divisor(resource: str, divisor: str | None, path: str) -> Errors:
    if divisor is None or nano(divisor) == 0:
        return
    if resource.startswith(_HUGE_PAGES):
        what = "hugepages"
    else:
        what = resource.partition(".")[2] if resource in RESOURCE_FIELDS else ""
    name = {"ephemeral-storage": "local ephemeral storage"}.get(what, what)
    if what == "cpu":
        if canonical(divisor) not in ("1m", "1"):
            yield invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")
    elif what in ("memory", "ephemeral-storage", "hugepages") and canonical(divisor) not in _BYTE_DIVISORS:
        known = ", ".join(_BYTE_DIVISORS)
        yield invalid(path, resource, f"only divisor's values {known} are supported with the {name} resource")


def validate_key_ref(tree: Tree, path: str) -> Errors:
    """A key of a ConfigMap or Secret."""
    yield from fields.dns_subdomain(f"{path}.name", tree.get("name", ""))
    if key := tree.get("key"):
        yield from fields.wrong(f"{path}.key", key, formats.config_key(key))
    else:
        yield required(f"{path}.key")


def validate_file_key_ref(tree: Tree, path: str) -> Errors:
    """A variable in a file that an init container wrote."""
    if key := tree.get("key"):
        yield from fields.wrong(f"{path}.key", key, formats.environment_name(key))
    else:
        yield required(f"{path}.key")
    yield from fields.name_or_required(f"{path}.volumeName", tree.get("volumeName"))
    if target := tree.get("path"):
        yield from fields.no_backsteps(f"{path}.path", target)
    else:
        yield required(f"{path}.path")
