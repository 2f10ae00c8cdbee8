"""Which nodes a pod may use: `nodeSelector` and node affinity.

Terms are alternatives; the requirements inside a term must all hold. A term that says nothing, or that is malformed,
matches nothing, and does not spoil the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from eachnode.objects.formats import label_value, qualified_name
from eachnode.objects.selectors import whole_number

NODE_NAME_FIELD = "metadata.name"

Labels = Mapping[str, str]


class NodeRequirement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One requirement on a label (or, in `matchFields`, on the name) of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None

    def holds(self, labels: Labels) -> bool:
        """Whether a node with these labels (or fields) satisfies it."""
        present, values = labels.get(self.key), self.values or ()
        match self.operator:
            case "In":
                return present in values
            case "NotIn":
                return present not in values
            case "Exists":
                return present is not None
            case "DoesNotExist":
                return present is None
            case "Gt" | "Lt":
                number, bound = whole_number(present or ""), whole_number(values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator == "Gt" else number < bound
        return False

    @property
    def problem(self) -> str:
        """What makes it malformed as a requirement on labels; empty when nothing does."""
        count = len(self.values or ())
        wrong: Iterable[str] = qualified_name(self.key)
        if self.operator in ("In", "NotIn"):
            if not count:
                return f"{self} has no values"
        elif self.operator in ("Exists", "DoesNotExist"):
            if count:
                return f"{self} must have no values"
        elif self.operator in ("Gt", "Lt"):
            if count != 1 or whole_number((self.values or ("",))[0]) is None:
                return f"{self} must have one whole number"
        else:
            return f"{self} has no known operator"
        for error in (*wrong, *(error for value in self.values or () for error in label_value(value))):
            return f"{self}: {error}"
        return ""

    @property
    def field_problem(self) -> str:
        """What makes it malformed as a requirement on fields; empty when nothing does."""
        if self.operator not in ("In", "NotIn"):
            return f"{self}: fields know In and NotIn only"
        return "" if len(self.values or ()) == 1 else f"{self} must have exactly one value"

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
        return f"{self.key} {self.operator} [{' '.join(self.values or ())}]"


class NodeSelectorTerm(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One alternative: all its requirements must hold."""

    match_expressions: tuple[NodeRequirement, ...] | None = None
    match_fields: tuple[NodeRequirement, ...] | None = None

    @property
    def problem(self) -> str:
        """Why it matches no node at all; empty when it may match one."""
        if not self.match_expressions and not self.match_fields:
            return "a term without requirements matches nothing"
        problems = (
            *(requirement.problem for requirement in self.match_expressions or ()),
            *(requirement.field_problem for requirement in self.match_fields or ()),
        )
        return next(filter(None, problems), "")

    def unmet(self, name: str, labels: Labels) -> Iterator[NodeRequirement]:
        """The requirements of a well-formed term that a node does not satisfy."""
        for requirement in self.match_expressions or ():
            if not requirement.holds(labels):
                yield requirement
        for requirement in self.match_fields or ():
            if not requirement.holds({NODE_NAME_FIELD: name}):
                yield requirement

    def __str__(self) -> str:
        return " and ".join(map(str, (*(self.match_expressions or ()), *(self.match_fields or ()))))


class NodeSelector(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """Alternatives; none means that no node matches."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredTerm(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An alternative that is wished for, and how much."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`spec.affinity.nodeAffinity`."""

    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredTerm, ...] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


@dataclass(frozen=True, slots=True)
class RequiredNodes:
    """What `nodeSelector` and required node affinity together ask of a node; both must hold."""

    labels: tuple[tuple[str, str], ...]
    terms: tuple[NodeSelectorTerm, ...] | None  # The well-formed alternatives; None when no affinity is required.
    malformed: tuple[str, ...] = ()  # What is wrong with the others.

    @classmethod
    def of(cls, node_selector: Labels | None, affinity: NodeAffinity | None) -> RequiredNodes:
        """The requirements of a pod (or of a pod template)."""
        labels = tuple((node_selector or {}).items())
        if affinity is None or affinity.required is None:
            return cls(labels, None)
        all_terms = affinity.required.node_selector_terms or ()
        return cls(
            labels,
            tuple(term for term in all_terms if not term.problem),
            tuple(term.problem for term in all_terms if term.problem),
        )

    def match(self, name: str, labels: Labels) -> bool:
        """Whether a node may be used."""
        for key, value in self.labels:
            if labels.get(key) != value:
                return False
        return self.affinity_holds(name, labels)

    def affinity_holds(self, name: str, labels: Labels) -> bool:
        """Whether one of the alternatives holds, or none is required."""
        return self.terms is None or any(_holds(term, name, labels) for term in self.terms)

    def explain(self, name: str, labels: Labels) -> str:
        """Why none of the alternatives holds, each with the first of its requirements that does not."""
        described = []
        for term in self.terms or ():
            missed = next(term.unmet(name, labels), None)
            if missed is not None:
                described.append(f"{missed} ({_what_is(missed.key, name, labels)})")
        described += self.malformed
        return "; ".join(described) or "the required node affinity has no terms, so it matches nothing"


def _holds(term: NodeSelectorTerm, name: str, labels: Labels) -> bool:
    return next(term.unmet(name, labels), None) is None


def _what_is(key: str, name: str, labels: Labels) -> str:
    if key == NODE_NAME_FIELD and key not in labels:
        return f"the node is {name}"
    return f"{key} is {labels[key] or 'empty'}" if key in labels else f"the node has no label {key}"
