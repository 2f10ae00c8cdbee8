"""Role-based access control as pure rules: which rules apply to somebody, and what they allow.

A binding names subjects and a role; a role is a list of rules; rules only ever add. Cluster-wide bindings count
everywhere, the others within their namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import msgspec

from eachnode.objects.meta import Metadata
from eachnode.server.kind import Caller

EVERYTHING = "system:masters"


class Rule(msgspec.Struct, frozen=True, rename="camel"):
    """What may be done to what."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class Role(msgspec.Struct, frozen=True, rename="camel"):
    """A Role or ClusterRole."""

    metadata: Metadata
    rules: tuple[Rule, ...] | None = None


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """The role that a binding gives."""

    kind: str
    name: str
    api_group: str = ""


class Subject(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a binding gives it to."""

    kind: str
    name: str
    namespace: str = ""

    def means(self, caller: Caller, namespace: str) -> bool:
        """Whether the caller is this subject, in a binding of that namespace."""
        match self.kind:
            case "User":
                return caller.name == self.name
            case "Group":
                return self.name in caller.groups
            case "ServiceAccount":
                home = self.namespace or namespace
                return bool(home) and caller.name == f"system:serviceaccount:{home}:{self.name}"
            case _:
                return False


class Binding(msgspec.Struct, frozen=True, rename="camel"):
    """A RoleBinding or ClusterRoleBinding."""

    metadata: Metadata
    role_ref: RoleRef
    subjects: tuple[Subject, ...] | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing somebody wants to do: to a resource, or with a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    version: str = ""

    @property
    def combined(self) -> str:
        """The resource as rules name it: `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Given:
    """A binding that means somebody, the first of its subjects that does, and the namespace it counts in (or all)."""

    binding: Binding
    subject: Subject
    namespace: str

    def __str__(self) -> str:
        about, ref, subject = self.binding.metadata, self.binding.role_ref, self.subject
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{about.name}/{about.namespace}" if self.namespace else about.name
        home = f"/{subject.namespace or self.namespace}" if subject.kind == "ServiceAccount" else ""
        return f'{kind} "{name}" of {ref.kind} "{ref.name}" to {subject.kind} "{subject.name}{home}"'


@dataclass(frozen=True, slots=True)
class RoleBook:
    """All roles and bindings there are."""

    roles: Mapping[tuple[str, str], Role] = field(default_factory=dict)
    cluster_roles: Mapping[str, Role] = field(default_factory=dict)
    bindings: Mapping[str, tuple[Binding, ...]] = field(default_factory=dict)
    cluster_bindings: tuple[Binding, ...] = ()

    def rules_for(self, caller: Caller, namespace: str, missing: list[str] | None = None) -> Iterator[Rule]:
        """The rules that apply to somebody in a namespace; roles that bindings name in vain go to `missing`."""
        for given in self.given_to(caller, namespace):
            yield from self.rules_of(given.binding.role_ref, given.namespace, missing)

    def given_to(self, caller: Caller, namespace: str) -> Iterator[Given]:
        """The bindings that mean somebody in a namespace, those of the whole cluster first."""
        for binding in self.cluster_bindings:
            if (subject := _subject_of(binding, caller, "")) is not None:
                yield Given(binding, subject, "")
        for binding in self.bindings.get(namespace, ()) if namespace else ():
            if (subject := _subject_of(binding, caller, namespace)) is not None:
                yield Given(binding, subject, namespace)

    def rules_of(self, ref: RoleRef, namespace: str, missing: list[str] | None = None) -> Iterator[Rule]:
        """The rules of the role that a binding refers to."""
        cluster_wide = ref.kind == "ClusterRole"
        role = self.cluster_roles.get(ref.name) if cluster_wide else self.roles.get((namespace, ref.name))
        if role is not None:
            yield from role.rules or ()
        elif missing is not None:
            plural = "clusterrole" if cluster_wide else "role"
            missing.append(f'{plural}.rbac.authorization.k8s.io "{ref.name}" not found')


def allows(rule: Rule, ask: Ask) -> bool:
    """Whether one rule permits it."""
    if not _names(rule.verbs, ask.verb):
        return False
    if ask.path:
        return any(covers_path(pattern, ask.path) for pattern in rule.non_resource_urls)
    return (
        _names(rule.api_groups, ask.group)
        and _names_resource(rule.resources, ask)
        and (not rule.resource_names or ask.name in rule.resource_names)
    )


def uncovered(owned: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The permissions, one by one, that the wanted rules give and the owned ones do not."""
    have = list(owned)
    single = (piece for rule in wanted for piece in _pieces(rule))
    return [piece for piece in single if not any(_covers(rule, piece) for rule in have)]


def compacted(pieces: Iterable[Rule]) -> list[Rule]:
    """The same permissions with one rule for all that may be done to the same thing."""
    found: dict[Rule, list[str]] = {}
    for piece in pieces:
        thing = msgspec.structs.replace(piece, verbs=())
        found.setdefault(thing, []).extend(piece.verbs)
    return [msgspec.structs.replace(thing, verbs=tuple(verbs)) for thing, verbs in found.items()]


def covers_path(pattern: str, path: str) -> bool:
    """Whether a rule's path, which may end in a star, means this path."""
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def described(rule: Rule) -> str:
    """A rule on one line, as refusals print it."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.non_resource_urls),
        ("ResourceNames", rule.resource_names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


def quoted_list(values: Iterable[str]) -> str:
    """A list of words as refusals print it: `["a" "b"]`."""
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _subject_of(binding: Binding, caller: Caller, namespace: str) -> Subject | None:
    return next((subject for subject in binding.subjects or () if subject.means(caller, namespace)), None)


def _names(words: tuple[str, ...], word: str) -> bool:
    return word in words or "*" in words


def _names_resource(words: tuple[str, ...], ask: Ask) -> bool:
    return _names(words, ask.combined) or (bool(ask.subresource) and f"*/{ask.subresource}" in words)


def _pieces(rule: Rule) -> Iterator[Rule]:
    """The same permissions as rules of one verb and one thing each."""
    names: tuple[tuple[str, ...], ...] = tuple((name,) for name in rule.resource_names) or ((),)
    for group, resource, verb, name in product(rule.api_groups, rule.resources, rule.verbs, names):
        yield Rule((verb,), (group,), (resource,), name)
    for path, verb in product(rule.non_resource_urls, rule.verbs):
        yield Rule((verb,), non_resource_urls=(path,))


def _covers(rule: Rule, piece: Rule) -> bool:
    if not _names(rule.verbs, piece.verbs[0]):
        return False
    if piece.non_resource_urls:
        return any(covers_path(pattern, piece.non_resource_urls[0]) for pattern in rule.non_resource_urls)
    resource, _, subresource = piece.resources[0].partition("/")
    ask = Ask(piece.verbs[0], piece.api_groups[0], resource, subresource)
    return (
        _names(rule.api_groups, ask.group)
        and _names_resource(rule.resources, ask)
        and (not rule.resource_names or set(piece.resource_names) & set(rule.resource_names) != set())
    )
