"""What a namespace that is being removed says about itself, and when it may go.

Mirrors pkg/controller/namespace/deletion of Kubernetes: pods go first, then everything else; what remains, and which
finalizers hold it, is told in five conditions in the reference's words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eachnode.objects.meta import Metadata
from eachnode.objects.resources import Resource

# Condition type → the reason and the sentence while nothing is wrong.
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(frozen=True, slots=True)
class Remains:
    """What was found in a namespace after everything was asked to go."""

    objects: Mapping[Resource, Sequence[Metadata]]
    failures: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the namespace may go."""
        return not self.failures and not any(self.objects.values())


def conditions(remains: Remains, before: Iterable[Mapping[str, Any]], now: str) -> list[dict[str, Any]]:
    """The namespace's conditions; a time of transition is kept while the status stays the same."""
    known = {condition["type"]: condition for condition in before}
    troubles = _troubles(remains)
    found = []
    for kind, (reason, message) in _FINE.items():
        status = "False"
        if kind in troubles:
            status, (reason, message) = "True", troubles[kind]
        old = known.get(kind, {})
        since = old.get("lastTransitionTime") if old.get("status") == status else now
        found.append(
            {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
        )
    return found


def _troubles(remains: Remains) -> dict[str, tuple[str, str]]:
    troubles = {}
    if remains.failures:
        told = ", ".join(sorted(remains.failures))
        sentence = f"Failed to delete all resource types, {len(remains.failures)} remaining: {told}"
        troubles["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", sentence)
    left = sorted(
        f"{resource.plural}.{resource.group} has {len(objects)} resource instances"
        for resource, objects in remains.objects.items()
        if objects
    )
    if left:
        sentence = f"Some resources are remaining: {', '.join(left)}"
        troubles["NamespaceContentRemaining"] = ("SomeResourcesRemain", sentence)
    held: Counter[str] = Counter()
    for objects in remains.objects.values():
        for metadata in objects:
            held.update(metadata.finalizers or ())
    if held:
        told = ", ".join(sorted(f"{finalizer} in {count} resource instances" for finalizer, count in held.items()))
        sentence = f"Some content in the namespace has finalizers remaining: {told}"
        troubles["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", sentence)
    return troubles
