"""One request as it comes in: its words, its options, and its body, read within limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Literal
from uuid import uuid4

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from eachnode.objects.status import ApiError, BadRequest, Details, TooLarge, UnsupportedMediaType
from eachnode.server.http.connections import Patience
from eachnode.server.http.negotiation import JSON, YAML
from eachnode.server.http.paths import segments
from eachnode.server.http.protobuf_bodies import PROTOBUF, json_from_protobuf
from eachnode.server.http.queries import NO_QUERY, Query, parsed, wants_pretty

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETERS = re.compile(rf'\s*(?:{_WORD}\s*=\s*(?:{_WORD}|"(?:[^"\\]|\\.)*")\s*(?:;\s*|$))*')
LARGEST_BODY = 3 << 20
DEEPEST_NESTING = 200  # Far more than any object has, far less than what exhausts a stack.


class Incoming:
    """What a request asks for."""

    __slots__ = (
        "_request",
        "audit_id",
        "headers",
        "method",
        "path",
        "query",
        "query_text",
        "resource",
        "verb",
        "warnings",
        "words",
    )

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self.headers = request.headers
        self.method = request.method
        self.path, _, self.query_text = request.raw_path.partition("?")
        self.words = segments(self.path)
        self.audit_id = self.headers.get("Audit-ID") or str(uuid4())  # By which logs of several servers find together.
        self.query: Query = NO_QUERY
        self.warnings: list[str] = []  # For the head of the answer, whatever it will be.
        self.verb, self.resource = request.method, ""  # For the metrics, until more is known.

    def read_query(self) -> None:
        """Takes the options of the query apart; raises BadRequest when they cannot be."""
        if self.query_text:
            self.query = parsed(self.query_text)

    @property
    def accept(self) -> str:
        """What forms of answer the client accepts."""
        return self.headers.get("Accept", "")

    @property
    def user_agent(self) -> str:
        """What the client program calls itself."""
        return self.headers.get("User-Agent", "")

    async def object_body(self, patience: Patience) -> tuple[bytes, Literal["json", "yaml"]]:
        """The body that is an object, and how it is written; raises UnsupportedMediaType."""
        media = self.media
        if media == PROTOBUF:
            return json_from_protobuf(await self.body(patience)), "json"
        if not _PARAMETERS.fullmatch(self.headers.get("Content-Type", "").partition(";")[2]):
            raise unknown_format((JSON, YAML))
        written = body_format(media)
        return await self.body(patience), written

    @property
    def pretty(self) -> bool:
        """Whether a human reads the answer."""
        return wants_pretty(self.query, self.user_agent)

    @property
    def media(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def has_body(self) -> bool:
        """Whether anything comes after the head."""
        return self._request.body_exists

    async def body(self, patience: Patience) -> bytes:
        """The whole body; raises TooLarge, and BadRequest when the rest of it does not come."""
        request = self._request
        length = request.content_length
        if length is not None and length > LARGEST_BODY:
            raise _too_large()
        if self.headers.get("Content-Encoding", "identity") != "identity":
            raise UnsupportedMediaType("compressed request bodies are not accepted")
        if not request.body_exists:
            return b""
        if self.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        if request.content.is_eof():
            return _checked(request.content.read_nowait())
        try:
            async with asyncio.timeout(patience.body):
                return _checked(await _read(request))
        except TimeoutError:
            raise _too_slow() from None
        except (web.RequestPayloadError, HttpProcessingError) as error:
            raise BadRequest(f"the body cannot be read: {error}") from None


def body_format(media: str) -> Literal["json", "yaml"]:
    """How a body of this media type is written; raises UnsupportedMediaType."""
    if media in ("", JSON):
        return "json"
    if media == YAML:
        return "yaml"
    raise unknown_format((JSON, YAML))


def unknown_format(known: Sequence[str]) -> UnsupportedMediaType:
    """The 415 that names what can be read."""
    accepted = ", ".join(known)
    return UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    )


async def _read(request: web.BaseRequest) -> bytes:
    parts = bytearray()
    while part := await request.content.readany():
        parts += part
        if len(parts) > LARGEST_BODY:
            raise _too_large()
    return bytes(parts)


def _checked(body: bytes) -> bytes:
    """The body, unless its brackets nest too deeply for anything that would read it."""
    if len(body) > LARGEST_BODY:
        raise _too_large()
    if body.count(b"{") + body.count(b"[") > DEEPEST_NESTING and _nesting(body) > DEEPEST_NESTING:
        raise BadRequest(f"the body nests deeper than {DEEPEST_NESTING} levels")
    return body


def _nesting(body: bytes) -> int:
    """How deeply brackets nest, those within JSON strings not counted."""
    depth = deepest = 0
    for outside in body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]:
        for char in outside:
            if char in b"{[":
                depth += 1
                deepest = max(deepest, depth)
            elif char in b"}]":
                depth -= 1
    return deepest


def _too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {LARGEST_BODY}")


def _too_slow() -> ApiError:
    return ApiError("the body did not arrive in time", code=408, reason="Timeout", details=Details())
