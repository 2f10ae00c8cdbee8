"""Everything that is not a resource: discovery, OpenAPI, health, version, metrics, and the list of all of these."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import msgspec

from eachnode import __version__
from eachnode.server.api_server import ApiServer
from eachnode.server.http import health
from eachnode.server.http.discovery import Discovery
from eachnode.server.http.dispatch import method_not_allowed, no_such_resource
from eachnode.server.http.health import Check, health_reply
from eachnode.server.http.incoming import Incoming
from eachnode.server.http.metrics import TEXT_FORMAT, Metrics
from eachnode.server.http.negotiation import JSON, require_match
from eachnode.server.http.openapi import OpenApi
from eachnode.server.http.queries import text_of
from eachnode.server.http.replies import Reply, json_reply, unknown_page

# The Kubernetes release whose behaviour this is; clients choose features by it.
MAJOR, MINOR, RELEASE = "1", "37", "v1.37.0"


class Pages:
    """Answers for the paths that name no resource."""

    def __init__(self, api: ApiServer, discovery: Discovery, openapi: OpenApi, metrics: Metrics) -> None:
        self._api = api
        self._discovery = discovery
        self._openapi = openapi
        self._metrics = metrics
        self.checks: dict[str, Check] = {"ping": lambda: None, "storage": lambda: api.store.trouble}

    def reply(self, incoming: Incoming) -> Reply:
        """The page at a path; where none is, the 404 that fits."""
        words = incoming.words
        match words:
            case []:
                return self._index()
            case ["api" | "apis", *_]:
                return self._discovered(incoming)
            case ["version"]:
                _require_get(incoming)
                require_match(incoming.accept, (JSON,))
                return json_reply(200, msgspec.json.encode(version()), pretty=True)
        if incoming.path.endswith("/"):
            return unknown_page()
        match words:
            case ["healthz" | "livez" | "readyz", *_]:
                return health_reply(words, self.checks, incoming.query) or unknown_page()
            case ["openapi", *_]:
                return self._openapi.reply(words, incoming.accept, text_of(incoming.query, "hash")) or unknown_page()
            case ["metrics"]:
                return self._counted()
        return unknown_page()

    def _discovered(self, incoming: Incoming) -> Reply:
        words = incoming.words
        if words[0] == "api" or len(words) == 3:
            require_match(incoming.accept)
        reply = self._discovery.reply(words, incoming.accept, pretty=incoming.pretty)
        if reply is not None:
            if words[0] == "api" or len(words) == 3:  # As in the reference, the others do not mind.
                _require_get(incoming)
            return reply
        group = words[1] if words[0] == "apis" else ""
        if self._discovery.built_in(group):
            raise no_such_resource()
        return unknown_page()

    def _counted(self) -> Reply:
        objects = {served.resource.qualified: len(served.shelf) for served in self._api.registry}
        text = self._metrics.text(objects, self._api.store.committed)
        return Reply(200, text.encode(), TEXT_FORMAT)

    def _index(self) -> Reply:
        """All pages there are."""
        paths = ["/api", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/version"]
        paths += [f"/{page}" for page in health.PAGES] + [
            f"/{page}/{check}" for page in health.PAGES for check in self.checks
        ]
        for group in self._discovery.groups().values():
            root = f"/apis/{group.name}" if group.name else "/api"
            paths += [root] if group.name else []
            paths += [f"{root}/{name}" for name in group.versions]
        body = msgspec.json.encode({"paths": sorted(paths)})
        return json_reply(200, body, pretty=True)


def _require_get(incoming: Incoming) -> None:
    if incoming.method != "GET":
        raise method_not_allowed()


def version() -> Mapping[str, str]:
    """What the server says it is: a Kubernetes release by behaviour, and its own version as build."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": "36",
        "gitVersion": f"{RELEASE}+eachnode-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }
