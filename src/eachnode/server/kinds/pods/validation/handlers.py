"""What the kubelet does to containers: probes, and the hooks of their life."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, forbidden, invalid, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import HOOKS, PROBES
from eachnode.server.kinds.pods.validation import fields

SCHEMES = ("HTTP", "HTTPS")
_PROBE_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE_ACTIONS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_ACTIONS = ("exec", "httpGet", "tcpSocket", "sleep")

Errors = Iterator[FieldError]


def validate_probes(container: Tree, path: str, grace: int | None) -> Errors:
    """The liveness, readiness and startup probe of a container."""
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            yield from _validate_probe(probe, f"{path}.{name}", name, grace)


def _validate_probe(probe: Tree, path: str, name: str, grace: int | None) -> Errors:
    yield from _validate_action(probe, _PROBE_ACTIONS, grace, path)
    for count in _PROBE_COUNTS:
        yield from fields.not_negative(f"{path}.{count}", probe.get(count))
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", own_grace, "must be greater than 0")
    if name == "readinessProbe":
        if own_grace is not None:
            place = f"{path}.terminationGracePeriodSeconds"
            yield invalid(place, own_grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 0) != 1:
        yield invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def validate_lifecycle(lifecycle: Tree, path: str, grace: int | None) -> Errors:
    """What is done after a container starts and before it stops."""
    for hook in HOOKS:
        if (handler := lifecycle.get(hook)) is not None:
            yield from _validate_action(handler, _HOOK_ACTIONS, grace, f"{path}.{hook}")


def _validate_action(handler: Tree, actions: tuple[str, ...], grace: int | None, path: str) -> Errors:
    given = [name for name in actions if handler.get(name) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    first, *others = given
    yield from _validate_one(first, handler[first], grace, f"{path}.{first}")
    for name in others:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _validate_one(name: str, action: Tree, grace: int | None, path: str) -> Errors:
    match name:
        case "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _validate_request(action, path)
        case "tcpSocket":
            yield from _validate_port(action.get("port", 0), f"{path}.port")
        case "grpc":
            yield from _validate_port(action.get("port", 0), f"{path}.port")
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace is not None and not 0 <= seconds <= grace:
                sentence = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid(path, seconds, sentence)


def _validate_request(action: Tree, path: str) -> Errors:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from _validate_port(action.get("port", 0), f"{path}.port")
    yield from fields.one_of(f"{path}.scheme", action.get("scheme", ""), SCHEMES)
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        yield from fields.wrong(f"{path}.httpHeaders", name, formats.http_header_name(name))


def _validate_port(port: Any, path: str) -> Errors:
    problems = formats.port_name(port) if isinstance(port, str) else formats.port_number(port)
    yield from fields.wrong(path, port, problems)
