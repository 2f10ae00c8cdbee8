"""What happens to one request: who asks, what for, may they, and then it is done or refused with a Status."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web

from eachnode.objects.status import ApiError, BadRequest, Details, InternalError, TooManyRequests
from eachnode.server.http.authentication import Authenticator, acting_as
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.dispatch import Dispatch, UnknownPage, Wanted, wanted
from eachnode.server.http.incoming import Incoming
from eachnode.server.http.metrics import Metrics
from eachnode.server.http.negotiation import PLAIN, Form, accepted_plain
from eachnode.server.http.pages import Pages
from eachnode.server.http.paths import is_escaped_well, target_of
from eachnode.server.http.rbac import EVERYTHING, Ask
from eachnode.server.http.replies import Reply, error_reply, text_reply, unknown_page
from eachnode.server.kind import Caller

log = logging.getLogger(__name__)

_ONE_NAME = "metadata.name="


class _NoPath(Exception):
    """The path of the request cannot be read."""


class Handler:
    """Answers requests, each on its own."""

    def __init__(
        self,
        *,
        authenticator: Authenticator,
        authorizer: Authorizer,
        pages: Pages,
        dispatch: Dispatch,
        metrics: Metrics,
        max_in_flight: int,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._pages = pages
        self._dispatch = dispatch
        self._metrics = metrics
        self._max_in_flight = max_in_flight

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request; whatever goes wrong becomes a Status."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        incoming = Incoming(request)
        try:
            reply = await self._answer(request, incoming)
        except ApiError as error:
            reply = error_reply(error, _error_form(incoming), pretty=incoming.pretty)
        except UnknownPage:
            reply = unknown_page()
        except _NoPath:
            reply = text_reply(400, "400 Bad Request")
        except RecursionError:
            reply = error_reply(BadRequest("the request nests too deeply"))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("%s %s failed", request.method, request.raw_path)
            sentence = f"Internal error occurred: {type(error).__name__}: {error}"
            reply = error_reply(InternalError(sentence, details=Details()))
        streamed = isinstance(reply, web.StreamResponse)
        elapsed = None if streamed else loop.time() - started
        self._metrics.done(incoming.verb, incoming.resource, reply.status, elapsed)
        if isinstance(reply, web.StreamResponse):
            return reply
        reply = reply.unless_known(incoming.headers.get("If-None-Match", ""))
        return reply.response(incoming.headers.get("Accept-Encoding"), incoming.audit_id, incoming.warnings)

    async def _answer(self, request: web.BaseRequest, incoming: Incoming) -> Reply | web.StreamResponse:
        if not is_escaped_well(incoming.path):
            raise _NoPath
        caller = self._caller(request, incoming)
        incoming.read_query()
        target = target_of(incoming.words)
        if target is None:
            return self._page(incoming, caller)
        ask = wanted(incoming, target)
        incoming.verb, incoming.resource = ask.verb.upper() or incoming.method, target.resource
        self._require(caller, ask, incoming)
        if ask.verb == "watch":
            return await self._dispatch.answer(request, incoming, ask, caller)
        if self._metrics.in_flight >= self._max_in_flight:
            raise _too_many()
        self._metrics.in_flight += 1
        try:
            return await self._dispatch.answer(request, incoming, ask, caller)
        finally:
            self._metrics.in_flight -= 1

    def _caller(self, request: web.BaseRequest, incoming: Incoming) -> Caller:
        """Who asks, or as whom; raises Unauthorized."""
        authorization = incoming.headers.get("Authorization")
        certificate = None
        if authorization is None and request.transport is not None:
            certificate = request.transport.get_extra_info("peercert")
        caller = self._authenticator.caller(authorization, certificate)
        if any(name[:12].lower() == "impersonate-" for name in incoming.headers):
            return acting_as(caller, incoming.headers, self._authorizer)
        return caller

    def _page(self, incoming: Incoming, caller: Caller) -> Reply:
        verb = "get" if incoming.method == "HEAD" else incoming.method.lower()
        self._authorizer.require(caller, Ask(verb, path=incoming.path))
        return self._pages.reply(incoming)

    def _require(self, caller: Caller, ask: Wanted, incoming: Incoming) -> None:
        """Raises Forbidden unless the caller may do it."""
        if EVERYTHING in caller.groups:
            return
        target, name = ask.target, ask.target.name
        if not name and (fields := incoming.query.get("fieldSelector", [""])[0]).startswith(_ONE_NAME):
            name = fields.removeprefix(_ONE_NAME).partition(",")[0]
        is_namespace = target.resource == "namespaces" and not target.group
        needed = Ask(
            ask.verb,
            target.group,
            target.resource,
            target.subresource,
            target.name if is_namespace else target.namespace,
            name,
            version=target.version,
        )
        self._authorizer.require(caller, needed)


def _error_form(incoming: Incoming) -> Form:
    """The form of a refusal: as the client likes, and plain JSON when it likes nothing we have."""
    try:
        return accepted_plain(incoming.accept)
    except ApiError:
        return PLAIN


def _too_many() -> TooManyRequests:
    sentence = "too many requests, please try again later"
    return TooManyRequests(sentence, details=Details(retry_after_seconds=1))
