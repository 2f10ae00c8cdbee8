"""A kind is data and a few small rules; the verbs and the store are the same for all.

Each file in `kinds/` makes one or more `Kind` values. Rules get plain mutable trees (decoded JSON that already passed
the field tables: types right, unknown fields gone, empty optional fields dropped) and change them in place or yield
what is wrong with them. They run in this order:

    create   shape → default → admission → prepare_create → validate → judges
    update   shape → default → admission → prepare_update → validate (unless `whole_update`), validate_update → judges
    status   shape → default → prepare_status → validate_status
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource
from eachnode.server.field_errors import FieldError

Tree = dict[str, Any]
Verb = Literal["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
ALL_VERBS: frozenset[Verb] = frozenset(
    ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as authentication found out."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """The circumstances of one request, for rules that depend on them."""

    caller: Caller
    now: float
    verb: str = ""
    field_manager: str = ""
    field_validation: Literal["Ignore", "Warn", "Strict"] = "Warn"
    dry_run: bool = False
    force: bool = False
    warnings: list[str] = field(default_factory=list)
    # (holder, key, list or map) of what the body gives empty, and the tree does not hold.
    emptied: list[tuple[Tree, str, Any]] = field(default_factory=list)


class Reader(Protocol):
    """The part of the store that rules and admission may read: trees are fresh copies."""

    def get(self, resource: Resource, namespace: str, name: str) -> Tree | None:
        """One object, or None."""
        ...

    def list(self, resource: Resource, namespace: str = "") -> Iterable[Tree]:
        """All objects of a kind, in one namespace or in all."""
        ...

    def documents(self, resource: Resource, namespace: str = "") -> Iterable[Document]:
        """The same as they are stored: nothing is decoded, and a document stays the same until its object changes."""
        ...


def nothing(*_: Any) -> None:
    """The rule of a kind that has none."""


def no_errors(*_: Any) -> Iterator[FieldError]:
    """The validation of a kind that has none."""
    return iter(())


def no_warnings(*_: Any) -> Iterator[str]:
    """The warnings of a kind that has none."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: an object or a Status, or the bytes of another media type (logs)."""

    document: Document
    code: int = 200
    media: str = "application/json"


class Hands(Reader, Protocol):
    """What a subresource's handler may do. All of it happens at once; the answer waits for the commit by itself."""

    def modify(
        self, call: Call, resource: Resource, namespace: str, name: str, change: Callable[[Tree], None]
    ) -> Answer:
        """Changes the newest state of an object, without asking its kind's rules; raises NotFound."""
        ...

    def remove(
        self, call: Call, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> Answer:
        """A DELETE."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request to a subresource, or to a kind that is asked and not stored (`namespace` and `name` as in the path)."""

    kind: Kind
    subresource: str
    verb: Verb
    namespace: str = ""
    name: str = ""
    body: bytes = b""
    media: Literal["json", "yaml"] = "json"
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subresource:
    """Something that is asked of an object under a name of its own: `pods/binding`, `namespaces/finalize`.

    With `handle` it does as it likes; without, GET, PUT and PATCH work on the object itself by these rules
    (as they do on `status`, which a kind need not list here).
    """

    kind: str  # What it takes and gives, for discovery: `Binding`.
    group: str = ""  # Of that kind, where it is not the resource's own.
    version: str = ""
    verbs: frozenset[Verb] = frozenset(("get", "patch", "update"))
    handle: Callable[[Hands, Call, Asked], Answer] | None = None
    prepare: Callable[[Tree, Tree, Call], None] = nothing  # (new, old)
    validate: Callable[[Tree, Tree], Iterable[FieldError]] = no_errors  # (new, old)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """A kind whose objects are those of another, in another form (events of two groups, versions of custom kinds)."""

    of: Resource  # Where they are stored.
    shown: Callable[[Tree], Tree]  # From the stored form to this one.
    stored: Callable[[Tree], Tree]  # And back.


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; priority 1 is shown with `-o wide` only."""

    name: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    description: str = ""
    format: str = ""
    priority: int = 0


NAME_AND_AGE = (
    Column("Name", format="name", description="Name must be unique within a namespace."),
    Column("Created At", "date", description="When the object was created."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Everything the generic verbs need to know about one kind."""

    resource: Resource
    singular: str
    definition: str  # Its name in the field tables, `io.k8s.api.apps.v1.DaemonSet`; empty for custom kinds.
    structure: Any = None  # A custom kind's structural schema (schema.structural.Structure).
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[Verb] = ALL_VERBS
    has_status: bool = False

    default: Callable[[Tree], None] = nothing
    prepare_create: Callable[[Tree, Call], None] = nothing  # Clear the status, set the generation, …
    prepare_update: Callable[[Tree, Tree, Call], None] = nothing  # (new, old): status is not yours, generation grows, …
    prepare_status: Callable[[Tree, Tree, Call], None] = nothing  # (new, old): the spec is not yours.
    validate: Callable[[Tree], Iterable[FieldError]] = no_errors
    validate_update: Callable[[Tree, Tree], Iterable[FieldError]] = no_errors  # (new, old), besides validate
    tells_empty: bool = False  # For validation, a list or map that was given empty is not one that is absent.
    whole_update: bool = False  # validate_update says everything, in its own order; validate is for creation only.
    validate_status: Callable[[Tree, Tree], Iterable[FieldError]] = no_errors  # (new, old)
    # (name, is a prefix) → everything wrong with it; None: a DNS subdomain is wanted.
    validate_name: Callable[[str, bool], tuple[str, ...]] | None = None
    any_finalizers: bool = False  # Those without a domain too, not only Kubernetes' own.
    warn: Callable[[Tree, Tree | None], Iterable[str]] = no_warnings  # (new, old or None)

    # (tree, grace asked for or None) → seconds of grace; None: this kind knows no graceful deletion.
    grace: Callable[[Tree, int | None], int] | None = None
    # What a DELETE without a policy does to dependents.
    default_propagation: Literal["Background", "Orphan"] = "Background"
    unconditional_update: bool = True  # A PUT without resourceVersion overwrites.
    returns_deleted: bool = False  # DELETE answers with the object even when it is gone, not with a Status.
    prepare_delete: Callable[[Tree], None] = nothing  # When a deletion begins that is not done at once.
    held: Callable[[Tree], bool] | None = None  # Kept though its metadata.finalizers are gone (a namespace's spec).
    deprecation: str = ""  # Said to everybody who asks for it at all.
    lifetime: float | None = None  # Seconds after the last write at which objects go by themselves (events).
    # Annotations that stand for a field of the reference's own form: rows and bare metadata come without them.
    field_annotations: tuple[str, ...] = ()
    verbatim: str = ""  # A top-level field whose text is kept as it was written.
    create_on_update: bool = False  # A PUT to a missing name creates it (leases, events do not need it: nodes neither).

    subresources: Mapping[str, Subresource] = field(default_factory=dict)  # Besides `status`.
    alias: Alias | None = None

    columns: Sequence[Column] = NAME_AND_AGE
    row: Callable[[Tree, float], list[Any]] | None = None  # (tree, now) → cells; None: name and creationTimestamp
    # Field selectors beyond metadata.name and metadata.namespace.
    fields: Mapping[str, Callable[[Tree], str]] = field(default_factory=dict)
