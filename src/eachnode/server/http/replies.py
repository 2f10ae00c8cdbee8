"""What goes back over the wire: objects, Status objects and plain text, in the form the client agreed to."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from aiohttp import web
from multidict import CIMultiDict, MutableMultiMapping

from eachnode.objects.status import ApiError
from eachnode.server.http.negotiation import JSON, PLAIN, YAML, Form, content_type

COMPRESSED_FROM = 128 << 10  # Bytes: below that, compressing costs more time than it saves.
NO_SNIFFING: Mapping[str, str] = {"X-Content-Type-Options": "nosniff"}
LONGEST_WARNINGS = 4 << 10


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer, before it knows about compression."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def unless_known(self, marks: str) -> Reply:
        """The answer, or only its head for those who have it already."""
        mark = self.headers.get("ETag", "")
        # Caches take over the headers: the type says in which of several shapes a document is.
        return Reply(304, b"", self.content_type, self.headers) if mark and mark in marks else self

    def response(self, accept_encoding: str | None, audit_id: str, warnings: Iterable[str] = ()) -> web.Response:
        """The answer as aiohttp sends it; big ones compressed when the client can read that."""
        headers: CIMultiDict[str] = CIMultiDict(self.headers)
        if self.content_type:
            headers["Content-Type"] = self.content_type
        headers.setdefault("Cache-Control", "no-cache, private")
        headers["Server"] = "eachnode"
        headers["Audit-Id"] = audit_id
        body = self.body
        if len(body) > COMPRESSED_FROM and accept_encoding and "gzip" in accept_encoding:
            body = gzipped(body)
            headers["Content-Encoding"] = "gzip"
            headers["Vary"] = "Accept-Encoding"
        add_warnings(headers, warnings)
        return web.Response(status=self.status, body=body, headers=headers)


def add_warnings(headers: MutableMultiMapping[str], warnings: Iterable[str]) -> None:
    """Puts warnings into the head of an answer."""
    for warning in bounded(tuple(warnings)):
        headers.add("Warning", warning_header(warning))


def json_reply(status: int, raw: bytes, form: Form = PLAIN, *, pretty: bool = False) -> Reply:
    """An answer whose JSON is at hand, turned into what the form asks for."""
    return Reply(status, rendered(raw, form, pretty=pretty), content_type(form))


def error_reply(error: ApiError, form: Form = PLAIN, *, pretty: bool = False) -> Reply:
    """The Status of a refusal."""
    headers = dict(NO_SNIFFING) if error.code in (401, 403) else {}
    if error.retry_after:
        headers["Retry-After"] = str(int(error.retry_after))
    body = rendered(msgspec.json.encode(error.status.tree()), form, pretty=pretty)
    return Reply(error.code, body, content_type(form), headers)


def text_reply(status: int, text: str, **headers: str) -> Reply:
    """Plain text."""
    return Reply(status, text.encode(), "text/plain; charset=utf-8", headers)


def unknown_page() -> Reply:
    """The 404 of a path at which nothing is served at all."""
    return text_reply(404, "404 page not found\n", **NO_SNIFFING)


def rendered(raw: bytes, form: Form, *, pretty: bool = False) -> bytes:
    """JSON text as the form wants it: as a line, indented, or as YAML."""
    if form.media == YAML:
        from eachnode.server.http.yaml_replies import as_yaml  # rarely asked for, and not free to import

        return as_yaml(msgspec.json.decode(raw))
    if pretty or form.pretty:
        return msgspec.json.format(raw, indent=2) + b"\n"
    return raw if raw.endswith(b"\n") else raw + b"\n"


def gzipped(body: bytes) -> bytes:
    """Compressed quickly rather than well, as the reference does."""
    packer = zlib.compressobj(level=1, wbits=31)
    return packer.compress(body) + packer.flush()


def warning_header(text: str) -> str:
    """One warning as RFC 7234 writes it; what could break the header is replaced."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def bounded(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """As many different warnings as fit into the head of an answer."""
    kept: list[str] = []
    room = LONGEST_WARNINGS
    for warning in dict.fromkeys(warnings):
        room -= len(warning.encode())
        if room < 0:
            break
        kept.append(warning)
    return tuple(kept)
