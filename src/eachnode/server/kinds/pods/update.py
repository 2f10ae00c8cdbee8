"""What may be changed of a pod that exists: little. The refusal shows what would have changed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from copy import deepcopy

from eachnode.objects import formats
from eachnode.objects.go_text import go_json_indented
from eachnode.server.field_errors import FieldError, forbidden, invalid, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.equality import same
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.leniency import judged, leniency_for
from eachnode.server.kinds.pods.parts import inner
from eachnode.server.kinds.pods.validation.annotations import (
    validate_annotation_changes,
    validate_pod_annotations,
)
from eachnode.server.kinds.pods.validation.containers import validate_image_padding
from eachnode.server.kinds.pods.validation.fields import LARGEST_INT32, PodContext
from eachnode.server.kinds.pods.validation.placement import validate_tolerations
from eachnode.server.kinds.pods.validation.spec import validate_pod

_CHANGEABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS_PATH = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"

Errors = Iterator[FieldError]


def validate_pod_update(new: Tree, old: Tree) -> Errors:
    """Everything wrong with an update of a pod."""
    yield from judged(lambda lenient: validate_pod(new, lenient), old)
    yield from validate_kept_annotations(new, old)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    for part in ("containers", "initContainers"):
        containers = after.get(part) or ()
        if len(containers) != len(before.get(part) or ()):
            yield forbidden(f"spec.{part}", "pod updates may not add or remove containers")
            return
        yield from _validate_images(containers, f"spec.{part}")
    deadline = list(_validate_deadline(after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and after.get("activeDeadlineSeconds") is not None:
        return
    yield from _validate_added_tolerations(after.get("tolerations") or [], before.get("tolerations") or [])
    yield from _validate_removed_gates(after.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if not same(after, before):
        yield from _validate_rest(after, before)


def validate_kept_annotations(new: Tree, old: Tree) -> Errors:
    """The annotations of a pod that an update must keep, and the rules for all of them once more."""
    annotations = new["metadata"].get("annotations") or {}
    yield from validate_annotation_changes(
        annotations, old["metadata"].get("annotations") or {}, "metadata.annotations"
    )
    if annotations:
        pod = PodContext(new.get("spec") or {}, True, lenient=leniency_for(old))
        yield from validate_pod_annotations(annotations, "metadata.annotations", pod)


def diff_of(type_name: str, old: Tree, new: Tree) -> str:
    """The difference of two objects as the reference prints it: of their indented JSON, three lines around."""
    before, after = (
        [f"{line}\n" for line in go_json_indented(as_go(type_name, tree)).split("\n")] for tree in (old, new)
    )
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _validate_images(containers: list[Tree] | tuple[Tree, ...], path: str) -> Errors:
    for index, container in enumerate(containers):
        if not container.get("image"):
            yield required(f"{path}[{index}].image")
        yield from validate_image_padding(container, f"{path}[{index}]")


def _validate_deadline(new: int | None, old: int | None) -> Errors:
    """A deadline may be set, and brought forward."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= LARGEST_INT32:
        yield invalid(path, new, formats.between(0, LARGEST_INT32))
    elif old is not None and old < new:
        yield invalid(path, new, "must be less than or equal to previous value")


def _validate_added_tolerations(new: list[Tree], old: list[Tree]) -> Errors:
    """Tolerations may be added, and how long they last may change."""
    lasting = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in lasting for toleration in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        return
    yield from validate_tolerations(new, "spec.tolerations")


def _without_seconds(toleration: Tree) -> Tree:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_removed_gates(new: list[Tree], old: list[Tree]) -> Errors:
    known = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if (name := gate.get("name")) not in known:
            sentence = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", sentence)


def _validate_rest(new: Tree, old: Tree) -> Errors:
    """What is left after the changes that are allowed were taken back must be as it was."""
    reverted = _with_allowed_reverted(new, old)
    if old.get("schedulingGates"):
        yield from _validate_gated(reverted, old)
    if not same(reverted, old):
        sentence = f"pod updates may not change fields other than {','.join(_CHANGEABLE)}"
        yield forbidden("spec", f"{sentence}\n{diff_of('PodSpec', old, reverted)}")


def _with_allowed_reverted(new: Tree, old: Tree) -> Tree:
    reverted = deepcopy(new)
    for part in ("containers", "initContainers"):
        for container, before in zip(reverted.get(part) or (), old.get(part) or (), strict=True):
            container["image"] = before.get("image", "")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _revert(reverted, old, field)
    grace = "terminationGracePeriodSeconds"
    if (old.get(grace) or 0) < 0 and reverted.get(grace) == 1:
        _revert(reverted, old, grace)
    return reverted


def _revert(tree: Tree, old: Tree, field: str) -> None:
    tree.pop(field, None)
    if field in old:
        tree[field] = old[field]


def _validate_gated(reverted: Tree, old: Tree) -> Errors:
    """A pod that is held back from scheduling may still be narrowed down; what was allowed is reverted in place."""
    selector, before = reverted.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != before:
        if any(selector.get(key) != value for key, value in before.items()):
            sentence = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            yield invalid("spec.nodeSelector", selector or None, sentence)
        _revert(reverted, old, "nodeSelector")
    nodes, nodes_before = inner(reverted, "affinity", "nodeAffinity"), inner(old, "affinity", "nodeAffinity")
    if nodes != nodes_before:
        yield from _validate_narrowed(nodes, nodes_before)
        _revert_node_affinity(reverted, old)


def _validate_narrowed(new: Tree | None, old: Tree | None) -> Errors:
    terms_before = inner(old or {}, _REQUIRED, "nodeSelectorTerms") or []
    terms = inner(new or {}, _REQUIRED, "nodeSelectorTerms") or []
    if terms_before and len(terms) != len(terms_before):
        shown = [as_go("NodeSelectorTerm", term) for term in terms] or None
        yield invalid(_TERMS_PATH, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (term, before) in enumerate(zip(terms, terms_before, strict=False)):
        if not _only_added(term, before):
            shown_term = as_go("NodeSelectorTerm", term)
            sentence = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{_TERMS_PATH}[{index}]", shown_term, sentence)


def _only_added(new: Tree, old: Tree) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(old.get(part) for part in parts):
        return not any(new.get(part) for part in parts)
    return all((new.get(part) or [])[: len(old.get(part) or [])] == (old.get(part) or []) for part in parts)


def _revert_node_affinity(reverted: Tree, old: Tree) -> None:
    before = inner(old, "affinity", "nodeAffinity")
    affinity = reverted.get("affinity")
    if affinity is None:
        if before is not None:
            reverted["affinity"] = {"nodeAffinity": before}
    elif "affinity" not in old and not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        del reverted["affinity"]
    else:
        affinity.pop("nodeAffinity", None)
        if before is not None:
            affinity["nodeAffinity"] = before
