"""Kinds and calls for tests of the schema package."""

from __future__ import annotations

import json
from typing import Any, Literal

from eachnode.objects.resources import CONFIG_MAPS, DAEMON_SETS, NODES, PODS, SECRETS, Resource
from eachnode.server.kind import Call, Caller, Kind
from eachnode.server.schema import decode
from eachnode.server.schema.structural import Structure

Tree = dict[str, Any]

POD = Kind(resource=PODS, singular="pod", definition="io.k8s.api.core.v1.Pod", has_status=True)
NODE = Kind(resource=NODES, singular="node", definition="io.k8s.api.core.v1.Node", has_status=True)
SECRET = Kind(resource=SECRETS, singular="secret", definition="io.k8s.api.core.v1.Secret")
CONFIG_MAP = Kind(resource=CONFIG_MAPS, singular="configmap", definition="io.k8s.api.core.v1.ConfigMap")
DAEMON_SET = Kind(
    resource=DAEMON_SETS, singular="daemonset", definition="io.k8s.api.apps.v1.DaemonSet", has_status=True
)


def custom(schema: Tree, *, has_status: bool = False) -> Kind:
    """A custom kind `Widget` with this schema."""
    resource = Resource("example.com", "v1", "widgets", "Widget")
    return Kind(resource=resource, singular="widget", definition="", structure=Structure(schema), has_status=has_status)


def a_call(
    manager: str = "tester",
    *,
    force: bool = False,
    strict: Literal["Ignore", "Warn", "Strict"] = "Warn",
    now: float = 0,
) -> Call:
    """The circumstances of a request."""
    return Call(Caller("tester"), now, field_manager=manager, force=force, field_validation=strict)


def read(kind: Kind, body: Tree | bytes, call: Call | None = None) -> Tree:
    """A body as the server understands it."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode(kind, raw, call or a_call())
