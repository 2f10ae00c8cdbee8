"""From a path and a method to one of the server's verbs, and from what it says to an answer.

A path that no kind serves is a 404, one that is served but not for this method a 405. As in the reference, the former
is plain text where not even the group is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from aiohttp import web

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.go_text import go_quoted
from eachnode.objects.resources import Resource
from eachnode.objects.status import (
    BadRequest,
    Details,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from eachnode.server.api_server import ApiServer
from eachnode.server.http.connections import Patience
from eachnode.server.http.incoming import Incoming, unknown_format
from eachnode.server.http.negotiation import YAML, accepted_form, content_type, not_acceptable, require_match
from eachnode.server.http.paths import Target
from eachnode.server.http.queries import (
    ListQuery,
    WriteQuery,
    delete_query,
    flag,
    included,
    list_query,
    manager_or_agent,
    write_query,
)
from eachnode.server.http.replies import Reply, json_reply
from eachnode.server.http.shapes import Shaper
from eachnode.server.http.watches import Batches, Watches, close, shaped_line
from eachnode.server.kind import Answer, Call, Caller, Verb
from eachnode.server.kinds.absent import ABSENT
from eachnode.server.kinds.name_rules import path_segment
from eachnode.server.request_options import delete_options
from eachnode.server.schema import canonical, json_text, yaml_text
from eachnode.server.schema.canonical_form import Unreadable
from eachnode.server.schema.decoding import said_to_be
from eachnode.server.schema.json_text import NotJson
from eachnode.server.schema.yaml_text import NotYaml
from eachnode.server.verbs.listing import ListOptions, require_reached
from eachnode.server.verbs.refusals import not_found
from eachnode.server.verbs.registry import Served
from eachnode.server.verbs.watch import WatchOptions

Wish = Verb | Literal[""]  # Empty: a method that means nothing there.

APPLY = "application/apply-patch+yaml"
CUSTOM_PATCHES = ("application/json-patch+json", "application/merge-patch+json", APPLY)
PATCHES = (*CUSTOM_PATCHES[:2], "application/strategic-merge-patch+json", APPLY)
STATUS_VERBS: frozenset[Verb] = frozenset(("get", "patch", "update"))
_META_SCHEME = go_quoted("pkg/apis/meta/internalversion/scheme/register.go:27")  # Part of the reference's message.
_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
# As in the reference, HEAD is for pages only, not for objects.
_NAMED: Mapping[str, Wish] = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION: Mapping[str, Wish] = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
LONGEST_WATCH = 3600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request wants done, before it is known whether there is such a thing."""

    target: Target
    verb: Wish


class UnknownPage(Exception):
    """Nothing at all is served at this path: the answer is the plain 404 page."""


def wanted(incoming: Incoming, target: Target) -> Wanted:
    """The verb a request means."""
    if target.name and not target.watch:
        return Wanted(target, _NAMED.get(incoming.method, ""))
    verb = _COLLECTION.get(incoming.method, "")
    if verb == "list" and (target.watch or flag(incoming.query, "watch")):
        verb = "watch"
    return Wanted(target, verb)


def _listing(incoming: Incoming, target: Target) -> ListQuery:
    """The options of a list; raises what is wrong with them."""
    listing = list_query(incoming.query, watch=target.watch)
    if not target.name:
        return listing
    if listing.fields and f"metadata.name={target.name}" not in listing.fields.replace("==", "=").split(","):
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return replace(listing, fields=listing.fields or f"metadata.name={target.name}")


class Dispatch:
    """Calls the verbs of the server and shapes what they answer."""

    def __init__(self, api: ApiServer, watches: Watches, patience: Patience) -> None:
        self._api = api
        self._watches = watches
        self._patience = patience
        self._resources: dict[tuple[str, str, str], Resource] = {}

    def served(self, target: Target) -> Served:
        """The kind a path names; raises the 404 that fits."""
        key = (target.group, target.version, target.resource)
        resource = self._resources.get(key)
        if resource is not None:
            try:
                return self._api.registry.served(resource)
            except NotFound:
                del self._resources[key]  # It was a custom kind, and has gone.
        found = self._api.registry.find(*key)
        if found is not None:
            self._resources[key] = found.resource
            return found
        built_in = any(one.resource.group == target.group and one.kind.definition for one in self._api.registry)
        if not built_in:
            raise UnknownPage
        raise no_such_resource()

    async def answer(
        self, request: web.BaseRequest, incoming: Incoming, ask: Wanted, caller: Caller
    ) -> Reply | web.StreamResponse:
        """Carries out what was asked; a watch is streamed from within."""
        target = ask.target
        served = self.served(target)
        verb = _check_served(served, target, ask.verb)
        require_match(incoming.accept)
        if verb == "patch" and incoming.media not in PATCHES and served.kind.definition:
            raise UnsupportedMediaType("415: Unsupported Media Type", details=Details())
        call = Call(caller, self._api.registry.now(), verb, warnings=incoming.warnings)
        if served.kind.deprecation:
            call.warnings.append(served.kind.deprecation)
        form = accepted_form(incoming.accept)
        if target.name and (wrong := path_segment(target.name, False)):
            raise BadRequest(f"Name parameter invalid: {go_quoted(target.name)}: {';'.join(wrong)}")
        shaper = Shaper(served.kind, form, included(incoming.query) if form.shape == "Table" else "")
        match verb:
            case "watch":
                return await self._watch(request, incoming, call, served, target, shaper)
            case "list":
                return await self._list(incoming, call, served, target, shaper)
            case "deletecollection":
                return await self._delete_collection(incoming, call, served, target, shaper)
            case "get":
                require_reached(self._api.registry, incoming.query.get("resourceVersion", [""])[0])
                answer = await self._api.get_as(
                    call,
                    served.resource,
                    target.name,
                    target.namespace,
                    subresource=target.subresource,
                    query={name: values[0] for name, values in incoming.query.items() if values},
                )
            case _:
                answer = await self._write(incoming, call, served, target)
        return self._reply(incoming, call, answer, shaper)

    async def _list(self, incoming: Incoming, call: Call, served: Served, target: Target, shaper: Shaper) -> Reply:
        query = _listing(incoming, target)
        page = await self._api.list_as(
            call,
            served.resource,
            target.namespace,
            labels=query.labels,
            fields=query.fields,
            limit=query.limit,
            after=query.continues,
            version=query.version,
            match=query.match,
        )
        return json_reply(200, shaper.many(page, call.now), shaper.form, pretty=incoming.pretty)

    async def _watch(
        self,
        request: web.BaseRequest,
        incoming: Incoming,
        call: Call,
        served: Served,
        target: Target,
        shaper: Shaper,
    ) -> web.StreamResponse:
        query = _listing(incoming, target)
        if shaper.form.media == YAML:
            raise not_acceptable(("application/json;stream=watch",))
        chance = self._api.registry.chance.random()
        timeout = float(query.timeout) if query.timeout else LONGEST_WATCH / 2 * (1 + chance)
        version = query.version
        if query.initial is False and version in ("", "0"):
            version = str(self._api.store.committed)  # From now on, and nothing of what is there.
        options = WatchOptions(version=version, initial=bool(query.initial), bookmarks=query.bookmarks, timeout=timeout)
        batches = self._api.watch_as(
            call,
            served.resource,
            target.namespace,
            labels=query.labels,
            fields=query.fields,
            options=options,
        )
        line = shaped_line(shaper, self._api.registry.now)
        return await self._watches.serve(
            request,
            batches if query.bookmarks else _without_bookmarks(batches),
            line,
            content_type(shaper.form),
            incoming.audit_id,
            call.warnings,
        )

    async def _write(self, incoming: Incoming, call: Call, served: Served, target: Target) -> Answer:
        """POST, PUT, PATCH and DELETE of one object or subresource."""
        if call.verb == "delete":
            options = await self._delete_options(incoming, call)
            return await self._api.delete_as(call, served.resource, target.name, target.namespace, options=options)
        if call.verb == "patch":
            return await self._patch(incoming, call, served, target)
        body, media = await incoming.object_body(self._patience)
        kind = "CreateOptions" if call.verb == "create" else "UpdateOptions"
        _take_options(call, write_query(incoming.query, kind), incoming)
        if call.verb == "update":
            return await self._api.update_as(
                call, served.resource, target.name, body, target.namespace, subresource=target.subresource, media=media
            )
        return await self._api.create_as(
            call,
            served.resource,
            body,
            target.namespace,
            name=target.name,
            subresource=target.subresource,
            media=media,
        )

    async def _patch(self, incoming: Incoming, call: Call, served: Served, target: Target) -> Answer:
        language = incoming.media
        if language not in (PATCHES if served.kind.definition else CUSTOM_PATCHES):
            raise unknown_format(CUSTOM_PATCHES)
        body = await incoming.body(self._patience)
        options = write_query(incoming.query, "PatchOptions", apply=language == APPLY)
        _take_options(call, options, incoming)
        return await self._api.patch_as(
            call,
            served.resource,
            target.name,
            body,
            language,
            target.namespace,
            subresource=target.subresource,
        )

    async def _delete_collection(
        self, incoming: Incoming, call: Call, served: Served, target: Target, shaper: Shaper
    ) -> Reply:
        listing = _listing(incoming, target)
        options = await self._delete_options(incoming, call)
        page = await self._api.delete_collection_as(
            call,
            served.resource,
            target.namespace,
            labels=listing.labels,
            fields=listing.fields,
            options=options,
            part=ListOptions(listing.limit, listing.continues, listing.version, listing.match),
        )
        return json_reply(200, shaper.many(page, call.now), shaper.form, pretty=incoming.pretty)

    async def _delete_options(self, incoming: Incoming, call: Call) -> DeleteOptions:
        if not incoming.has_body:
            options = delete_query(incoming.query)
        else:
            body, media = await incoming.object_body(self._patience)
            options = delete_options(_delete_tree(body, media)) if body else delete_query(incoming.query)
        call.dry_run = bool(options.dry_run)
        return options

    def _reply(self, incoming: Incoming, call: Call, answer: Answer, shaper: Shaper) -> Reply:
        if answer.media != "application/json":
            return Reply(answer.code, bytes(answer.document.raw), answer.media)
        if shaper.form.shape and _is_status(answer):
            raw = bytes(answer.document.raw)
        else:
            raw = shaper.one(answer.document, call.now)
        return json_reply(answer.code, raw, shaper.form, pretty=incoming.pretty)


def no_such_resource() -> NotFound:
    """The 404 of a path within a known group."""
    return NotFound("the server could not find the requested resource", details=Details())


def method_not_allowed() -> MethodNotAllowed:
    """The 405 of a path that is served, but not for this method."""
    return MethodNotAllowed("the server does not allow this method on the requested resource", details=Details())


def _check_served(served: Served, target: Target, verb: Wish) -> Verb:
    """The verb, if this kind has such a path and this verb there; raises the 404 or 405 that fits."""
    if target.nowhere or (target.watch and target.subresource):
        raise no_such_resource()
    namespaced, is_custom = served.resource.namespaced, served.kind.structure is not None
    across = namespaced and not target.namespace
    if (target.namespace and not namespaced) or (across and target.name and not target.watch):
        # As in the reference, where nobody else is asked after whoever serves custom kinds.
        raise UnknownPage if is_custom else no_such_resource()
    if served.kind in ABSENT and (target.subresource or verb not in served.kind.verbs):
        raise no_such_resource()  # They are there for those who look only.
    if target.subresource:
        if is_custom and not (target.subresource == "status" and served.kind.has_status):
            raise not_found(served.resource, target.name)
        if not verb or verb not in _subresource_verbs(served, target.subresource):
            raise method_not_allowed()
        return verb
    if target.name and served.kind.verbs <= {"create"}:
        raise no_such_resource()  # What is only asked has no names.
    if across and verb in ("create", "deletecollection"):
        raise method_not_allowed()
    if not verb or verb not in served.kind.verbs or (target.name and verb == "create"):
        raise method_not_allowed()
    return verb


def _subresource_verbs(served: Served, name: str) -> frozenset[Verb]:
    rules = served.subresources.get(name)
    if rules is not None:
        return rules.verbs
    if name == "status" and served.kind.has_status:
        return STATUS_VERBS
    raise no_such_resource()


def _take_options(call: Call, options: WriteQuery, incoming: Incoming) -> None:
    call.field_manager = manager_or_agent(options.field_manager, incoming.user_agent)
    call.field_validation = options.field_validation
    call.dry_run = options.dry_run
    call.force = bool(options.force)


def _delete_tree(body: bytes, media: str) -> Mapping[str, object]:
    try:
        tree = yaml_text.read(body) if media == "yaml" else json_text.read(body)
        version, kind = said_to_be(tree)
    except NotJson as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from None
    except (NotYaml, Unreadable) as error:
        raise BadRequest(str(error)) from None
    if kind not in ("", "DeleteOptions"):
        version = go_quoted(version or "meta.k8s.io/v1")
        raise BadRequest(f"no kind {go_quoted(kind)} is registered for version {version} in scheme {_META_SCHEME}")
    if tree is None:
        return {}
    try:
        return canonical(_DELETE_OPTIONS, tree)
    except Unreadable as error:
        raise BadRequest(str(error)) from None


def _is_status(answer: Answer) -> bool:
    return answer.document.raw[:16] == b'{"kind":"Status"' or b'"kind":"Status"' in bytes(answer.document.raw[:60])


async def _without_bookmarks(batches: Batches) -> Batches:
    """The same watch for a client that did not ask for bookmarks."""
    try:
        async for batch in batches:
            if kept := [event for event in batch if event.type != "BOOKMARK"]:
                yield kept
    finally:
        await close(batches)
