"""Namespaces: they begin Active with the finalizer `kubernetes`, and end when their content is gone.

`finalize` is the subresource through which the namespace loop takes that finalizer off; everybody else finds
`spec.finalizers` read-only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects.formats import qualified_name
from eachnode.objects.resources import NAMESPACES
from eachnode.objects.status import Details, Forbidden
from eachnode.server.field_errors import FieldError, invalid
from eachnode.server.kind import ALL_VERBS, Call, Column, Kind, Subresource, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, at, name_of

FINALIZER = "kubernetes"
IMMORTAL = ("default", "kube-system", "kube-public")  # kube-node-lease may go; it comes back when nodes need it.
NAME_LABEL = "kubernetes.io/metadata.name"


def _default(tree: Tree) -> None:
    metadata = tree["metadata"]
    status = tree.setdefault("status", {})
    status["phase"] = status.get("phase") or "Active"
    if name := metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = name


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["status"] = {"phase": "Active"}
    finalizers = tree.setdefault("spec", {}).setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    _default(tree)


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    _keep(new, old, "status")
    finalizers = at(old, "spec", "finalizers")
    spec = new.setdefault("spec", {})
    spec.pop("finalizers", None)
    if finalizers:
        spec["finalizers"] = finalizers


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    _keep(new, old, "spec")


def _prepare_finalize(new: Tree, old: Tree, _call: Call) -> None:
    _keep(new, old, "status")


def _keep(new: Tree, old: Tree, part: str) -> None:
    new.pop(part, None)
    if part in old:
        new[part] = old[part]


def _validate(tree: Tree) -> Iterator[FieldError]:
    for finalizer in at(tree, "spec", "finalizers", missing=()):
        yield from _validate_finalizer(finalizer, "spec.finalizers")


def _validate_finalize(new: Tree, _old: Tree) -> Iterator[FieldError]:
    for index, finalizer in enumerate(at(new, "spec", "finalizers", missing=())):
        yield from _validate_finalizer(finalizer, f"spec.finalizers[{index}]")


def _validate_finalizer(finalizer: str, path: str) -> Iterator[FieldError]:
    for problem in (*qualified_name(finalizer), *name_rules.domainless_finalizer(finalizer)):
        yield invalid(path, finalizer, problem)


def _validate_status(new: Tree, _old: Tree) -> Iterator[FieldError]:
    phase = at(new, "status", "phase", missing="")
    if new["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
    elif phase != "Active":
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


def _end(tree: Tree) -> None:
    if (name := name_of(tree)) in IMMORTAL:
        details = Details(name=name, kind=NAMESPACES.plural)
        raise Forbidden(f'namespaces "{name}" is forbidden: this namespace may not be deleted', details=details)
    tree.setdefault("status", {})["phase"] = "Terminating"


def _is_held(tree: Tree) -> bool:
    return bool(at(tree, "spec", "finalizers"))


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), at(tree, "status", "phase", missing=""), age_of(tree, now)]


NAMESPACE = Kind(
    resource=NAMESPACES,
    singular="namespace",
    definition="io.k8s.api.core.v1.Namespace",
    short_names=("ns",),
    verbs=ALL_VERBS - {"deletecollection"},
    has_status=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_status=_validate_status,
    validate_name=name_rules.dns_label,
    returns_deleted=True,
    prepare_delete=_end,
    held=_is_held,
    subresources={
        "finalize": Subresource(
            kind="Namespace", verbs=frozenset(("update",)), prepare=_prepare_finalize, validate=_validate_finalize
        )
    },
    columns=(NAME, Column("Status", description="The status of the namespace"), AGE),
    row=_row,
    fields={"status.phase": lambda tree: at(tree, "status", "phase", missing="")},
)
