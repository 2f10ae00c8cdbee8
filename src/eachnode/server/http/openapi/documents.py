"""The OpenAPI documents: one for each group and version (v3), and one for everything (v2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS
from eachnode.server.http.cluster_state import ClusterState
from eachnode.server.http.discovery import Discovery
from eachnode.server.http.negotiation import JSON, not_acceptable, prefers
from eachnode.server.http.openapi.operations import paths_of
from eachnode.server.http.openapi.schemas import Definitions
from eachnode.server.http.openapi.swagger_bytes import ASKED_AS, swagger_bytes
from eachnode.server.http.openapi.swagger_bytes import MEDIA as SWAGGER_BYTES
from eachnode.server.http.replies import Reply
from eachnode.server.kind import Kind, Tree

_FOREVER = "public, immutable"


class _Version(msgspec.Struct, frozen=True):
    name: str
    schema: dict[str, Tree] | None = None


class _Names(msgspec.Struct, frozen=True):
    kind: str = ""


class _Spec(msgspec.Struct, frozen=True):
    group: str = ""
    names: _Names = _Names()
    versions: tuple[_Version, ...] = ()


class _CustomDefinition(msgspec.Struct, frozen=True):
    spec: _Spec


@dataclass(frozen=True, slots=True)
class _Text:
    body: bytes
    mark: str


class OpenApi:
    """Makes the documents when they are first asked for, and again when kinds come or go."""

    def __init__(self, discovery: Discovery, state: ClusterState, release: str) -> None:
        self._discovery = discovery
        self._state = state
        self._release = release
        self._made: dict[str, _Text] = {}
        self._seen: tuple[object, ...] = ()

    def reply(self, words: Sequence[str], accept: str, mark: str = "") -> Reply | None:
        """The document at a path that begins with openapi; None when there is none.

        Who names the document by its mark may keep it for good, and is led to the present one if that is another.
        """
        self._forget_if_changed()
        match list(words):
            case ["openapi", "v2"]:
                return self._swagger(accept)
            case ["openapi", "v3"]:
                return _sent(self._text("v3", self._index), "")
            case ["openapi", "v3", "api", version]:
                return self._group_version("", version, accept, mark)
            case ["openapi", "v3", "apis", group, version] if group:
                return self._group_version(group, version, accept, mark)
            case ["openapi", "v3", *_]:
                return Reply(404, b"", "")
            case _:
                return None

    def _forget_if_changed(self) -> None:
        seen = (self._state.changes(CUSTOM_RESOURCE_DEFINITIONS), *map(id, self._discovery.groups().values()))
        if seen != self._seen:
            self._made, self._seen = {}, seen

    def _group_version(self, group: str, version: str, accept: str, mark: str) -> Reply:
        known = self._discovery.groups().get(group)
        if known is None or version not in known.versions:
            return Reply(404, b"", "")
        name = f"{'apis/' + group if group else 'api'}/{version}"
        text = self._text(name, lambda: self._v3(known.versions[version]))
        if mark not in ("", text.mark):
            return Reply(301, b"", JSON, {"Location": f"/openapi/v3/{name}?hash={text.mark}", "Vary": "Accept"})
        return _sent(text, accept, cached=_FOREVER if mark else "")

    def _swagger(self, accept: str) -> Reply:
        media = prefers(accept, (JSON, ASKED_AS, SWAGGER_BYTES))
        if media is None:
            raise not_acceptable((JSON, SWAGGER_BYTES))
        text = self._text("v2", self._v2)
        if media == JSON:
            return _sent(text, accept)
        packed = self._made.get("v2 bytes")
        if packed is None:
            packed = self._made["v2 bytes"] = _Text(swagger_bytes(msgspec.json.decode(text.body)), text.mark)
        return Reply(200, packed.body, SWAGGER_BYTES, {"ETag": f'"{packed.mark}"', "Vary": "Accept"})

    def _text(self, name: str, make: Callable[[], Tree]) -> _Text:
        known = self._made.get(name)
        if known is None:
            body = msgspec.json.encode(make())
            known = self._made[name] = _Text(body, sha256(body).hexdigest().upper())
        return known

    def _index(self) -> Tree:
        """Where the documents of the groups are; the mark lets clients keep what has not changed."""
        paths: Tree = {}
        for group in self._discovery.groups().values():
            for version, kinds in group.versions.items():
                name = f"apis/{group.name}/{version}" if group.name else f"api/{version}"
                mark = self._text(name, lambda kinds=kinds: self._v3(kinds)).mark  # type: ignore[misc]  # bound at once
                paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={mark}"}
        return {"paths": paths}

    def _v3(self, kinds: Sequence[Kind]) -> Tree:
        definitions = Definitions(3, self._custom_schema)
        paths = {path: item for kind in kinds for path, item in paths_of(kind, definitions)}
        return {
            "openapi": "3.0.0",
            "info": self._info(),
            "paths": paths,
            "components": {"schemas": dict(sorted(definitions.found.items()))},
        }

    def _v2(self) -> Tree:
        definitions = Definitions(2, self._custom_schema)
        groups = self._discovery.groups().values()
        kinds = [kind for group in groups for version in group.versions.values() for kind in version]
        paths = {path: item for kind in kinds for path, item in paths_of(kind, definitions)}
        return {
            "swagger": "2.0",
            "info": self._info(),
            "paths": paths,
            "definitions": dict(sorted(definitions.found.items())),
        }

    def _info(self) -> Tree:
        return {"title": "Kubernetes", "version": self._release}

    def _custom_schema(self, kind: Kind) -> Tree | None:
        """The schema in the definition of a custom kind."""
        for document in self._state.documents(CUSTOM_RESOURCE_DEFINITIONS):
            spec = document.read(_CustomDefinition).spec
            if (spec.group, spec.names.kind) != (kind.resource.group, kind.resource.kind):
                continue
            for version in spec.versions:
                if version.name == kind.resource.version and version.schema:
                    return version.schema.get("openAPIV3Schema")
        return None


def _sent(text: _Text, accept: str, *, cached: str = "") -> Reply:
    if prefers(accept, (JSON,)) is None:
        raise not_acceptable((JSON,))
    headers = {"ETag": f'"{text.mark}"', "Vary": "Accept"}
    if cached:
        headers["Cache-Control"] = cached
    return Reply(200, text.body, JSON, headers)
