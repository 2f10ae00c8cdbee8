"""CustomResourceDefinitions: kinds that users bring.

A definition is judged here; `server.custom_kinds` serves what it defines. Its names are accepted, and it is
established, once it is seen that nobody in its group has them; deleting it waits until its objects are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects import formats
from eachnode.objects.clock import timestamp
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds.api_approval import validate_approval
from eachnode.server.kinds.custom_versions import validate_shared_parts, validate_versions
from eachnode.server.kinds.rows import at, name_of
from eachnode.server.schema import value_formats
from eachnode.server.schema.structural import has_rules

Errors = Iterator[FieldError]

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_IMMUTABLE = "field is immutable"


def condition(tree: Tree, kind: str) -> Tree | None:
    """A condition of a definition."""
    found: list[Tree] = [one for one in tree["status"].get("conditions") or () if one["type"] == kind]
    return found[0] if found else None


def is_true(tree: Tree, kind: str) -> bool:
    """Whether a condition of a definition holds."""
    found = condition(tree, kind)
    return found is not None and found["status"] == "True"


def set_condition(tree: Tree, kind: str, status: str, reason: str, message: str, now: float) -> None:
    """Sets a condition; its time is that of the last change of its status."""
    conditions = tree["status"].get("conditions") or []
    tree["status"]["conditions"] = conditions
    made = {"type": kind, "status": status, "lastTransitionTime": timestamp(now), "reason": reason, "message": message}
    for index, known in enumerate(conditions):
        if known["type"] == kind:
            if known["status"] == status:
                made["lastTransitionTime"] = known.get("lastTransitionTime", made["lastTransitionTime"])
            conditions[index] = made
            return
    conditions.append(made)


def _default(tree: Tree) -> None:
    spec = tree.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})
    webhook = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
    if webhook.get("service"):
        webhook["service"].setdefault("port", 443)
    status = tree.setdefault("status", {})
    if not status.get("storedVersions"):
        status["storedVersions"] = _storage_versions(tree)[:1]


def _storage_versions(tree: Tree) -> list[str]:
    return [version.get("name", "") for version in tree["spec"].get("versions", ()) if version.get("storage")]


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["metadata"]["generation"] = 1
    tree["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
    tree["status"]["storedVersions"] = _storage_versions(tree)[:1]


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    new["status"] = dict(old["status"])
    if new["spec"] != old["spec"]:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    stored = list(new["status"].get("storedVersions") or ())
    new["status"]["storedVersions"] = stored + [name for name in _storage_versions(new)[:1] if name not in stored]


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    new["spec"] = old["spec"]


def _prepare_delete(tree: Tree) -> None:
    about = tree["metadata"]
    if CLEANUP not in about.setdefault("finalizers", []):
        about["finalizers"].append(CLEANUP)
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    made = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "message": message}
    made["lastTransitionTime"] = about["deletionTimestamp"]
    tree["status"]["conditions"] = [*(tree["status"].get("conditions") or ()), made]


def _validate(tree: Tree) -> Errors:
    spec = tree["spec"]
    names = spec["names"]
    name = tree["metadata"].get("name", "")
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _validate_group(spec)
    yield from validate_versions(spec)
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    yield from _validate_names(names, "spec.names")
    yield from validate_shared_parts(spec)
    yield from _validate_conversion(spec["conversion"])
    yield from _validate_stored(tree)


def _validate_new(tree: Tree) -> Errors:
    yield from _validate(tree)
    yield from validate_approval(tree)


def _validate_group(spec: Tree) -> Errors:
    group = spec.get("group", "")
    if not group:
        yield required("spec.group")
    elif problems := formats.dns_subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        yield invalid(
            "spec.preserveUnknownFields",
            True,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        )


def _validate_names(names: Tree, path: str) -> Errors:
    for field in ("plural", "singular"):
        value = names.get(field, "")
        if value and (problems := formats.dns_1035_label(value)):
            yield invalid(f"{path}.{field}", value, ",".join(problems))
    for field in ("kind", "listKind"):
        value = names.get(field, "")
        if value and (problems := formats.dns_1035_label(value.lower())):
            sentence = "may have mixed case, but should otherwise match: " + ",".join(problems)
            yield invalid(f"{path}.{field}", value, sentence)
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            if problems := formats.dns_1035_label(value):
                yield invalid(f"{path}.{field}[{index}]", value, ",".join(problems))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")


def _validate_conversion(conversion: Tree) -> Errors:
    strategy = conversion.get("strategy", "")
    if not strategy:
        yield required("spec.conversion.strategy")
    elif strategy not in ("None", "Webhook"):
        yield not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    elif strategy == "Webhook":
        yield forbidden("spec.conversion.strategy", "conversion by webhook is not supported by this server: use None")
    elif conversion.get("webhook"):
        sentence = "should not be set when strategy is not set to Webhook"
        yield forbidden("spec.conversion.webhookClientConfig", sentence)


def _validate_stored(tree: Tree) -> Errors:
    stored: list[str] = tree["status"].get("storedVersions") or []
    if not stored:
        yield invalid("status.storedVersions", stored, "must have at least one stored version")
        return
    names = [version.get("name", "") for version in tree["spec"].get("versions") or ()]
    for name in _storage_versions(tree):
        if name not in stored:
            yield invalid("status.storedVersions", stored, f"must have the storage version {name}")
    for index, name in enumerate(stored):
        if name not in names:
            sentence = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{index}]", name, sentence)


def _validate_update(new: Tree, old: Tree) -> Errors:
    pairs: list[tuple[str, Any, Any]] = []
    if is_true(old, "Established"):
        pairs.append(("spec.scope", new["spec"].get("scope"), old["spec"].get("scope")))
        pairs.append(("spec.names.kind", new["spec"]["names"].get("kind"), old["spec"]["names"].get("kind")))
    pairs.append(("spec.group", new["spec"].get("group"), old["spec"].get("group")))
    pairs.append(("spec.names.plural", new["spec"]["names"].get("plural"), old["spec"]["names"].get("plural")))
    yield from _validate(new)
    for path, now, before in pairs:
        if now != before:
            yield invalid(path, now, _IMMUTABLE)
    yield from validate_approval(new, old)


def _validate_status(new: Tree, _old: Tree) -> Errors:
    yield from _validate_names(new["status"].get("acceptedNames") or {}, "status.acceptedNames")


def _warn(new: Tree, old: Tree | None) -> Iterator[str]:
    for version in new["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for name in sorted(_unknown_formats(schema)):
            if old is None:
                yield f'unrecognized format "{name}"'
        if has_rules(schema):
            yield (
                f"spec.versions[{version.get('name', '')}]: x-kubernetes-validations are kept, "
                "but this server does not evaluate them"
            )


def _unknown_formats(schema: Any) -> set[str]:
    """The formats in a schema that restrict nothing."""
    found: set[str] = set()
    if isinstance(schema, dict):
        name = schema.get("format")
        if isinstance(schema.get("type"), str) and isinstance(name, str) and name and not value_formats.is_known(name):
            found.add(name)
        for inner in schema.values():
            found |= _unknown_formats(inner)
    elif isinstance(schema, list):
        for inner in schema:
            found |= _unknown_formats(inner)
    return found


def _row(tree: Tree, _now: float) -> list[Any]:
    spec = tree.get("spec", {})
    names = spec.get("names", {})
    served = (version for version in spec.get("versions") or () if version.get("served"))
    return [
        name_of(tree),
        spec.get("scope", ""),
        ",".join(sorted(f"{each['name']}(storage)" if each.get("storage") else each["name"] for each in served)),
        at(tree, "metadata", "creationTimestamp"),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        bool(tree.get("status")) and is_true(tree, "Established"),
    ]


CUSTOM_RESOURCE_DEFINITION = Kind(
    any_finalizers=True,
    resource=CUSTOM_RESOURCE_DEFINITIONS,
    singular="customresourcedefinition",
    definition="io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    has_status=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    prepare_delete=_prepare_delete,
    held=lambda _tree: False,  # Its finalizer holds it, and the first DELETE is what adds it.
    validate=_validate_new,
    validate_update=_validate_update,
    whole_update=True,
    validate_status=_validate_status,
    warn=_warn,
    unconditional_update=False,
    columns=(
        Column("Name", format="name", description="Name must be unique within a namespace."),
        Column("Scope", description="Whether its objects are in namespaces."),
        Column("Versions", description="The versions that are served."),
        Column("Created At", "date", description="When the object was created."),
        Column("Group", description="The group of its kind.", priority=1),
        Column("Kind", description="The kind of its objects.", priority=1),
        Column("ShortNames", description="What its kind is called in short.", priority=1),
        Column("Established", "boolean", description="Whether its kind is served.", priority=1),
    ),
    row=_row,
)
