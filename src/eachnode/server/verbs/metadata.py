"""What all kinds have in common in `metadata`: what the server sets there, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from eachnode.objects import formats
from eachnode.objects.go_text import go_json
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.kinds.labels import validate_annotations, validate_labels
from eachnode.server.kinds.name_rules import domainless_finalizer
from eachnode.server.verbs.refusals import wrong_namespace
from eachnode.server.verbs.registry import Served

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_SET_BY_THE_SERVER = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_KEPT_FROM_BEFORE = ("generation", "creationTimestamp", "deletionTimestamp")
_FILLED_FROM_BEFORE = ("uid", "deletionGracePeriodSeconds")
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_LONGEST_MANAGER, _LONGEST_SUBRESOURCE = 128, 256


def wipe(about: Tree) -> None:
    """Takes out of a new object's metadata what only the server may say."""
    for key in _SET_BY_THE_SERVER:
        about.pop(key, None)


def settle_namespace(about: Tree, served: Served, namespace: str) -> None:
    """Puts the object into the namespace of the request; raises BadRequest when it says another."""
    said = about.get("namespace", "")
    if not served.resource.namespaced:
        about.pop("namespace", None)
    elif said and said != namespace:
        raise wrong_namespace()
    else:
        about["namespace"] = namespace


def drop_repeated_owners(about: Tree, call: Call) -> None:
    """Keeps each owner reference once, and warns of the others."""
    owners: list[Any] = about.get("ownerReferences") or []
    kept: list[Any] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if repeated:
        about["ownerReferences"] = kept
        call.warnings.append(
            f".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
            f"and may reject such requests as early as 1.24; please fix your requests; "
            f"duplicate UID(s) observed: {', '.join(repeated)}"
        )


def keep(new: Tree, old: Tree) -> None:
    """Restores in an update's metadata what an update cannot change."""
    for key in _KEPT_FROM_BEFORE:
        if key in old:
            new[key] = old[key]
        elif key == "generation":
            new.pop(key, None)
    new.pop("selfLink", None)
    for key in _FILLED_FROM_BEFORE:
        if key in old and new.get(key) in (None, ""):
            new[key] = old[key]


def validate(about: Tree, kind: Kind) -> Iterator[FieldError]:
    """Everything wrong with a new object's metadata."""
    yield from _validate_names(about, kind)
    namespace = about.get("namespace", "")
    if kind.resource.namespaced:
        if not namespace:
            yield required("metadata.namespace")
        yield from (
            invalid("metadata.namespace", namespace, problem)
            for problem in (formats.dns_label(namespace) if namespace else ())
        )
    elif namespace:
        yield forbidden("metadata.namespace", "not allowed on this type")
    yield from _validate_common(about)
    yield from _validate_domains(about, kind)


def validate_update(new: Tree, old: Tree, kind: Kind) -> Iterator[FieldError]:
    """Everything wrong with how metadata is to change."""
    if not new.get("name"):
        yield required("metadata.name", "name or generateName is required")
    yield from _validate_common(new)
    if "deletionTimestamp" in old:
        yield from _validate_no_new_finalizers(new.get("finalizers") or (), old.get("finalizers") or ())
    if new.get("generation", 0) < old.get("generation", 0):
        yield invalid("metadata.generation", new.get("generation", 0), "must not be decremented")
    for key in _IMMUTABLE:
        if new.get(key) != old.get(key):
            missing = None if key.startswith("deletion") else ""
            yield invalid(f"metadata.{key}", new.get(key, missing), "field is immutable")
    yield from _validate_domains(new, kind)


def _validate_names(about: Tree, kind: Kind) -> Iterator[FieldError]:
    if prefix := about.get("generateName", ""):
        yield from (invalid("metadata.generateName", prefix, said) for said in _name_problems(kind, prefix, True))
    if name := about.get("name", ""):
        yield from (invalid("metadata.name", name, problem) for problem in _name_problems(kind, name, False))
    else:
        yield required("metadata.name", "name or generateName is required")


def _name_problems(kind: Kind, name: str, is_prefix: bool) -> Iterable[str]:
    if kind.validate_name is None:
        return formats.dns_subdomain(formats.name_prefix(name) if is_prefix else name)
    return kind.validate_name(name, is_prefix)


def _validate_common(about: Tree) -> Iterator[FieldError]:
    """What is asked of metadata whether it is new or changed."""
    if about.get("generation", 0) < 0:
        yield invalid("metadata.generation", about["generation"], "must be greater than or equal to 0")
    yield from validate_labels(about.get("labels"), "metadata.labels")
    yield from validate_annotations(about.get("annotations"), "metadata.annotations")
    yield from _validate_owners(about.get("ownerReferences") or ())
    yield from _validate_finalizers(about.get("finalizers") or ())
    yield from _validate_managed_fields(about.get("managedFields") or ())


def _validate_owners(owners: Iterable[Tree]) -> Iterator[FieldError]:
    path, controller = "metadata.ownerReferences", ""
    for index, owner in enumerate(owners):
        yield from _validate_owner(owner, f"{path}[{index}]")
        if not owner.get("controller"):
            continue
        called = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            yield invalid(
                path,
                [_as_go_prints(each) for each in owners],
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {called}',
            )
        else:
            controller = called


def _validate_owner(owner: Tree, path: str) -> Iterator[FieldError]:
    version = owner.get("apiVersion", "")
    if not version:
        yield required(f"{path}.apiVersion", "must not be empty")
    elif version.count("/") > 1 or version.endswith("/"):
        yield invalid(f"{path}.apiVersion", version, "must be <group>/<version> or <version>")
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            yield required(f"{path}.{key}", "must not be empty")
    if (version, owner.get("kind")) == ("v1", "Event"):
        yield invalid(path, _as_go_prints(owner), "/v1, Kind=Event is disallowed from being an owner")


def _as_go_prints(owner: Tree) -> Tree:
    return {key: owner[key] for key in _OWNER_FIELDS if key in owner}


def _validate_finalizers(finalizers: Iterable[str]) -> Iterator[FieldError]:
    path, names = "metadata.finalizers", list(finalizers)
    for name in names:
        yield from (invalid(path, name, problem) for problem in formats.qualified_name(name))
    if ORPHAN in names and FOREGROUND in names:
        yield invalid(path, names, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set")


def _validate_domains(about: Tree, kind: Kind) -> Iterator[FieldError]:
    """Finalizers need a domain, of all but some kinds."""
    if not kind.any_finalizers:
        for index, name in enumerate(about.get("finalizers") or ()):
            for problem in domainless_finalizer(name):
                yield invalid(f"metadata.finalizers[{index}]", name, problem)


def _validate_no_new_finalizers(new: Iterable[str], old: Iterable[str]) -> Iterator[FieldError]:
    if added := sorted(set(new) - set(old)):
        shown = ", ".join(go_json(name).decode() for name in added)
        yield forbidden(
            "metadata.finalizers",
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}",
        )


def _validate_managed_fields(entries: Iterable[Tree]) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        operation = entry.get("operation", "")
        if not operation:
            yield required(f"{path}.operation", "must not be empty")
        elif operation not in ("Apply", "Update"):
            yield not_supported(f"{path}.operation", operation, ("Apply", "Update"))
        if entry.get("fieldsType", "FieldsV1") not in ("", "FieldsV1"):
            yield invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
        yield from _validate_manager(entry.get("manager", ""), f"{path}.manager")
        if len(entry.get("subresource", "").encode()) > _LONGEST_SUBRESOURCE:
            yield too_long(f"{path}.subresource", _LONGEST_SUBRESOURCE)


def _validate_manager(manager: str, path: str) -> Iterator[FieldError]:
    if len(manager.encode()) > _LONGEST_MANAGER:
        yield too_long(path, _LONGEST_MANAGER)
    for position, letter in enumerate(manager):
        if not letter.isprintable():
            shown = f"invalid character U+{ord(letter):04X} (at position {position})"
            yield invalid(path, manager, shown)
