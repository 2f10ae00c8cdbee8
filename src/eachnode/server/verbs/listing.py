"""GET of a collection: a consistent page of objects, in order.

A page is the beginning of all objects at one version; the pages that follow show that same version, however much has
changed meanwhile, as long as the history reaches back to it.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from posixpath import normpath

import msgspec

from eachnode.objects.status import ApiError, BadRequest, Cause, Details, Gone, Unavailable
from eachnode.objects.watching import Page
from eachnode.server.field_errors import shown
from eachnode.server.schema import json_text
from eachnode.server.schema.json_text import NotJson
from eachnode.server.store import Selection, Stored
from eachnode.server.verbs.registry import Registry, Served
from eachnode.server.verbs.writing import show

_NEWEST = -1  # In a token: go on with whatever is there now.
_TOKEN_FORM = "meta.k8s.io/v1"  # noqa: S105  # no secret: the first word of every token
_TOO_OLD = "The resourceVersion for the provided list is too old."
_CONTINUED_TOO_LATE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which page, and of which version."""

    limit: int = 0
    after: str = ""
    version: str = ""
    match: str = ""


def list_page(registry: Registry, served: Served, selection: Selection, options: ListOptions) -> Page:
    """A page of the objects that are selected."""
    return choose(registry, served, selection, options)[1]


def choose(registry: Registry, served: Served, selection: Selection, options: ListOptions) -> tuple[list[Stored], Page]:
    """The objects of a page, and the page."""
    newest = registry.store.committed
    version, start = _beginning(options, newest)
    objects = _objects(served, selection, start, version)
    at = newest if version is None else version
    limit = 0 if options.version == "0" else max(options.limit, 0)
    found, left = _first(objects, selection, limit)
    page = Page(
        documents=tuple(show(served, stored) for stored in found),
        version=str(at),
        continues=_token(_within(found[-1], selection) + "\0", at) if left else "",
        remaining=left if left and not selection.filtered else None,
    )
    return found, page


def parsed_version(text: str) -> int:
    """The number of a resourceVersion parameter, 0 for none; raises what the reference says of one that is none."""
    if wrong := _version_problem(text):
        raise ApiError(wrong, reason="")  # The reference has no better code for it.
    return int(text or "0")


def _version_problem(text: str) -> str:
    reason = "" if re.fullmatch("[0-9]*", text) else "invalid syntax"
    if not reason and int(text or "0") >= 1 << 64:
        reason = "value out of range"
    said = shown(text)
    return f"resourceVersion: Invalid value: {said}: strconv.ParseUint: parsing {said}: {reason}" if reason else ""


def require_reached(registry: Registry, text: str) -> None:
    """Raises what the reference says to a reader of one object who has seen a version that there is not."""
    if (version := parsed_version(text)) > registry.store.committed:
        raise _too_large(version, registry.store.committed)


def _beginning(options: ListOptions, newest: int) -> tuple[int | None, str]:
    """The version to show (None: the newest), and the path where the page begins."""
    if options.after:
        token = _read_token(options.after)
        if options.version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
        return (None if token.rv < 0 else token.rv), token.start
    if wrong := _version_problem(options.version):
        raise BadRequest(f"invalid resource version: {wrong}")
    version = int(options.version or "0")
    if version > newest:
        raise _too_large(version, newest)
    exact = options.match == "Exact" or (not options.match and options.limit > 0 and version > 0)
    return (version if exact else None), ""


def _objects(served: Served, selection: Selection, start: str, version: int | None) -> list[Stored]:
    path = f"{selection.namespace}/{start}" if selection.namespace and start else start
    try:
        return [*served.shelf.listed(selection.namespace, path, version)]
    except Gone:
        error = Gone(_CONTINUED_TOO_LATE if start else _TOO_OLD)
        if start:
            error.continues = _token(start, _NEWEST)
        raise error from None


def _first(objects: list[Stored], selection: Selection, limit: int) -> tuple[list[Stored], int]:
    """The selected objects up to a limit, and how many objects there are behind them, selected or not."""
    found: list[Stored] = []
    for passed, stored in enumerate(objects, 1):
        if selection.matches(stored):
            found.append(stored)
            if len(found) == limit:
                return found, len(objects) - passed
    return found, 0


def _within(stored: Stored, selection: Selection) -> str:
    return stored.name if selection.namespace else stored.path


class _Token(msgspec.Struct):
    """Where a list goes on, in the reference's own form."""

    v: str = ""
    rv: int = 0
    start: str = ""


def _token(start: str, version: int) -> str:
    text = msgspec.json.encode(_Token(_TOKEN_FORM, version, start))
    return urlsafe_b64encode(text).decode().rstrip("=")


def _read_token(text: str) -> _Token:
    """What a continue token says; raises BadRequest when it says nothing sensible."""
    refused = "invalid continue token: continue key is not valid"
    if foreign := re.search("[^A-Za-z0-9_-]", text):
        raise BadRequest(f"{refused}: illegal base64 data at input byte {foreign.start()}")
    try:
        said = json_text.read(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        token = msgspec.convert(said, _Token)
    except binascii.Error:
        raise BadRequest(f"{refused}: illegal base64 data at input byte {len(text) - 1}") from None
    except (NotJson, msgspec.ValidationError) as error:
        raise BadRequest(f"{refused}: {error}") from None
    if token.v != _TOKEN_FORM:
        raise BadRequest(f"{refused}: server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise BadRequest(f"{refused}: incorrect encoded start resourceVersion (version {_TOKEN_FORM})")
    if not token.start:
        raise BadRequest(f"{refused}: encoded start key empty (version {_TOKEN_FORM})")
    path = token.start if token.start.startswith("/") else f"/{token.start}"
    if normpath(path) != path:
        raise BadRequest(f"{refused}: {token.start}")
    return token


def _too_large(version: int, newest: int) -> Unavailable:
    details = Details(
        retry_after_seconds=1,
        causes=(Cause(reason="ResourceVersionTooLarge", message="Too large resource version"),),
    )
    sentence = f"Timeout: Too large resource version: {version}, current: {newest}"
    return Unavailable(sentence, code=504, reason="Timeout", details=details)
