"""The options that stand in a URL's query, read and validated as the reference does.

Numbers that do not parse and selectors that make no sense are a 400; options that contradict one another are a 422
whose Status names them as fields of `ListOptions`, `CreateOptions` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import parse_qs

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.status import BadRequest
from eachnode.server import field_errors
from eachnode.server.field_errors import FieldError
from eachnode.server.http.paths import is_escaped_well
from eachnode.server.request_options import delete_options, dry_run_errors, refuse

Query = Mapping[str, list[str]]
FieldValidation = Literal["Ignore", "Warn", "Strict"]

NO_QUERY: Query = {}
FIELD_MANAGER_LENGTH = 128


@dataclass(frozen=True, slots=True)
class ListQuery:
    """How to list or watch a collection."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continues: str = ""
    version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial: bool | None = None
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """How to carry out a create, update or patch."""

    field_manager: str = ""
    field_validation: FieldValidation = "Warn"
    dry_run: bool = False
    force: bool | None = None


PLAIN_LIST, PLAIN_WRITE = ListQuery(), WriteQuery()


def parsed(text: str) -> Query:
    """The query string's values by name."""
    # As in the reference, what cannot be read is as good as not there.
    pairs = [pair for pair in text.split("&") if ";" not in pair and is_escaped_well(pair)]
    try:
        return parse_qs("&".join(pairs), keep_blank_values=True, max_num_fields=100) if pairs else NO_QUERY
    except ValueError as error:
        raise BadRequest(f"the query cannot be read: {error}") from None


def list_query(query: Query, *, watch: bool = False) -> ListQuery:
    """The options of a list or watch; `watch` when the path already asks for one."""
    if not query:
        return ListQuery(watch=True, initial=True, match="NotOlderThan") if watch else PLAIN_LIST
    asked = flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    version, match = text_of(query, "resourceVersion"), text_of(query, "resourceVersionMatch")
    watch = watch or flag(query, "watch")
    from_nowhere = watch and asked is None and not match and version in ("", "0")
    timeout = _number(query, "timeoutSeconds") if "timeoutSeconds" in query else None
    options = ListQuery(
        labels=text_of(query, "labelSelector"),
        fields=text_of(query, "fieldSelector"),
        limit=_number(query, "limit"),
        continues=text_of(query, "continue"),
        version=version,
        match="NotOlderThan" if from_nowhere else match,
        watch=watch,
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial=from_nowhere or asked,
        timeout=timeout,
    )
    refuse("ListOptions", _watch_errors(options) if options.watch else _list_errors(options))
    return options


def included(query: Query) -> str:
    """What the rows of a Table are to carry of their objects."""
    asked = text_of(query, "includeObject") or "Metadata"
    if asked not in ("Metadata", "Object", "None"):
        sentence = f"includeObject: Invalid value: \"{asked}\": must be 'Metadata', 'Object', 'None', or empty"
        raise BadRequest(f"Unable to convert to Table as requested: {sentence}")
    return asked


def write_query(query: Query, options_kind: str, *, apply: bool = False) -> WriteQuery:
    """The options of a create, update or patch, under the name the reference gives them."""
    if not query and not apply:
        return PLAIN_WRITE
    manager, validation = text_of(query, "fieldManager"), text_of(query, "fieldValidation")
    force = flag(query, "force") if "force" in query and options_kind == "PatchOptions" else None
    dry_run = query.get("dryRun", [])
    errors: list[FieldError] = []
    if apply and not manager:
        errors.append(field_errors.required("fieldManager", "is required for apply patch"))
    if force is not None and not apply:
        errors.append(field_errors.forbidden("force", "may not be specified for non-apply patch"))
    errors += _manager_errors(manager)
    errors += dry_run_errors(dry_run)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        errors.append(field_errors.not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    refuse(options_kind, errors)
    return WriteQuery(manager, cast(FieldValidation, validation or "Warn"), bool(dry_run), force)


def delete_query(query: Query) -> DeleteOptions:
    """The options of a delete that came without a body."""
    if not query:
        return DeleteOptions()
    tree: dict[str, Any] = {}
    if "gracePeriodSeconds" in query:
        tree["gracePeriodSeconds"] = _number(query, "gracePeriodSeconds")
    if "orphanDependents" in query:
        tree["orphanDependents"] = flag(query, "orphanDependents")
    if "propagationPolicy" in query:
        tree["propagationPolicy"] = text_of(query, "propagationPolicy")
    if "dryRun" in query:
        tree["dryRun"] = query["dryRun"]
    if flag(query, "ignoreStoreReadErrorWithClusterBreakingPotential"):
        tree["ignoreStoreReadErrorWithClusterBreakingPotential"] = True
    preconditions = {key: text for key in ("uid", "resourceVersion") if (text := text_of(query, key))}
    if preconditions:
        tree["preconditions"] = preconditions
    return delete_options(tree)


def wants_pretty(query: Query, user_agent: str) -> bool:
    """Whether a human reads along: asked for, or a browser or command line tool that shows the answer as it is."""
    asked = text_of(query, "pretty") if "pretty" in query else ""
    if asked:
        return asked.lower() in ("1", "t", "true")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def manager_or_agent(manager: str, user_agent: str) -> str:
    """Who a write is attributed to in managedFields: the named manager, else the client program's name."""
    if manager:
        return manager
    agent = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return agent[:FIELD_MANAGER_LENGTH] or "unknown"


def _list_errors(options: ListQuery) -> Iterator[FieldError]:
    if options.match:
        if not options.version:
            sentence = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            yield field_errors.forbidden("resourceVersionMatch", sentence)
        if options.continues:
            sentence = "resourceVersionMatch is forbidden when continue is provided"
            yield field_errors.forbidden("resourceVersionMatch", sentence)
        if options.match not in ("Exact", "NotOlderThan"):
            yield field_errors.not_supported("resourceVersionMatch", options.match, ("Exact", "NotOlderThan", ""))
        if options.match == "Exact" and options.version == "0":
            sentence = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            yield field_errors.forbidden("resourceVersionMatch", sentence)
    if options.initial is not None:
        yield field_errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch_errors(options: ListQuery) -> Iterator[FieldError]:
    if options.initial is not None and options.match != "NotOlderThan":
        sentence = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        yield field_errors.forbidden("resourceVersionMatch", sentence)
    if options.match:
        if options.initial is None:
            sentence = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            yield field_errors.forbidden("resourceVersionMatch", sentence)
        if options.match != "NotOlderThan":
            yield field_errors.not_supported("resourceVersionMatch", options.match, ("NotOlderThan",))
        if options.continues:
            sentence = "resourceVersionMatch is forbidden when continue is provided"
            yield field_errors.forbidden("resourceVersionMatch", sentence)


def _manager_errors(manager: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > FIELD_MANAGER_LENGTH:
        errors.append(field_errors.too_long("fieldManager", FIELD_MANAGER_LENGTH))
    for position, char in enumerate(manager):
        if not char.isprintable():
            sentence = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(field_errors.invalid("fieldManager", manager, sentence))
    return errors


def text_of(query: Query, name: str) -> str:
    """The first value of an option, or nothing."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """Whether an option is on: everything but "0" and "false" means yes, an empty value too."""
    return name in query and text_of(query, name).lower() not in ("0", "false")


def _number(query: Query, name: str) -> int:
    text = text_of(query, name)
    if name not in query:
        return 0
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(digits) > 19 or not -(1 << 63) <= int(text) < 1 << 63:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)
