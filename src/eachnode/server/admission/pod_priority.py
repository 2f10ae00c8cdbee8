"""A pod names a priority class; the number behind it is looked up here and written into the pod."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.meta import Metadata
from eachnode.objects.resources import PODS, PRIORITY_CLASSES
from eachnode.server.admission.refusals import forbidden, name_before_generation
from eachnode.server.kind import Call, Kind, Reader, Tree

_WITHOUT_CLASS = 0
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"
_GIVEN = "from the given PriorityClass name"


class PriorityClass(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A priority class, as pods see it."""

    metadata: Metadata
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class PodPriority:
    """Resolves the priority class of every new pod."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Fills in `priority` and `preemptionPolicy`; an update keeps them."""
        if kind.resource != PODS:
            return
        if old is None:
            _resolve(tree, reader)
            return
        for field in ("priority", "preemptionPolicy"):
            if field in old.get("spec", {}):
                tree.setdefault("spec", {}).setdefault(field, old["spec"][field])


def default_class(documents: Iterable[Document]) -> PriorityClass | None:
    """The class of pods that name none; should there be several, the one with the lowest value."""
    defaults = [found for found in (document.read(PriorityClass) for document in documents) if found.global_default]
    return min(defaults, key=lambda found: found.value, default=None)


def _resolve(tree: Tree, reader: Reader) -> None:
    spec = tree.setdefault("spec", {})
    chosen = _class_of(tree, spec.get("priorityClassName", ""), reader)
    if chosen is not None:
        spec["priorityClassName"] = chosen.metadata.name
    value = _WITHOUT_CLASS if chosen is None else chosen.value
    policy = "PreemptLowerPriority" if chosen is None else chosen.preemption_policy
    given, given_policy = spec.get("priority"), spec.get("preemptionPolicy")
    if given is not None and given != value:
        reason = f"the integer value of priority ({given}) {_COMPUTED} {value} {_GIVEN}"
        raise forbidden(PODS, name_before_generation(tree), reason)
    if given_policy is not None and given_policy != policy:
        reason = f"the string value of PreemptionPolicy ({given_policy}) {_COMPUTED} {policy} {_GIVEN}"
        raise forbidden(PODS, name_before_generation(tree), reason)
    spec["priority"], spec["preemptionPolicy"] = value, policy


def _class_of(tree: Tree, name: str, reader: Reader) -> PriorityClass | None:
    if not name:
        return default_class(reader.documents(PRIORITY_CLASSES))
    found = reader.get(PRIORITY_CLASSES, "", name)
    if found is None:
        raise forbidden(PODS, name_before_generation(tree), f"no PriorityClass with name {name} was found")
    return msgspec.convert(found, PriorityClass)
