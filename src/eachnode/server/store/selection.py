"""Which objects of a kind a list or a watch wants."""

from __future__ import annotations

from dataclasses import dataclass

from eachnode.objects.selectors import FieldRequirement, Selector
from eachnode.server.store.stored import Stored

EVERY_LABEL = Selector()


@dataclass(frozen=True, slots=True)
class Dimension:
    """One property of objects by which watchers are looked up instead of asked: a field or a label."""

    name: str
    label: bool = False

    def of(self, stored: Stored) -> str | None:
        """The object's value of it."""
        return stored.labels.get(self.name) if self.label else stored.field(self.name)


NAMESPACE = Dimension("metadata.namespace")


@dataclass(frozen=True, slots=True)
class Selection:
    """A namespace (empty: all), labels and fields."""

    namespace: str = ""
    labels: Selector = EVERY_LABEL
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether every object of the kind is wanted."""
        return not self.namespace and not self.fields and self.labels.empty

    @property
    def filtered(self) -> bool:
        """Whether objects of the namespace are left out."""
        return bool(self.fields) or not self.labels.empty

    def matches(self, stored: Stored) -> bool:
        """Whether this object is wanted."""
        if self.namespace and stored.namespace != self.namespace:
            return False
        for wanted in self.fields:
            if (stored.field(wanted.field) == wanted.value) is not wanted.equal:
                return False
        return self.labels.empty or self.labels.matches(stored.labels)

    def index(self) -> tuple[Dimension, str] | None:
        """A property, and the one value of it, that every wanted object has; the most telling one there is."""
        exact = {wanted.field: wanted.value for wanted in self.fields if wanted.equal}
        if "metadata.name" in exact:
            return Dimension("metadata.name"), exact["metadata.name"]
        for field, value in exact.items():
            return Dimension(field), value
        for requirement in self.labels.requirements:
            if requirement.operator == "in" and len(requirement.values) == 1:
                return Dimension(requirement.key, label=True), requirement.values[0]
        return (NAMESPACE, self.namespace) if self.namespace else None


EVERYTHING = Selection()
