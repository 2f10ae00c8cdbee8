"""The log of a container. Containers here are simulated: nothing runs in them, and their log says just that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eachnode.objects.clock import seconds
from eachnode.objects.document import Document
from eachnode.objects.resources import PODS, Resource
from eachnode.objects.status import BadRequest, Details, NotFound
from eachnode.server.field_errors import NOWHERE, FieldError, forbidden, invalid, refusal
from eachnode.server.kind import Answer, Asked, Call, Hands, Subresource, Tree
from eachnode.server.kinds.pods.parts import containers_of, inner
from eachnode.server.schema.go_values import moment

LOG_OPTIONS = Resource("", "v1", "pods", "PodLogOptions")
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_NUMBERS = ("sinceSeconds", "tailLines", "limitBytes")
_TRUE = ("", "1", "t", "T", "true", "TRUE", "True")
_PULLING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def read_log(hands: Hands, call: Call, asked: Asked) -> Answer:
    """GET pods/log."""
    numbers, since = _numbers(asked.query), _moment(asked.query.get("sinceTime", ""))
    if errors := list(_validate(asked.query, numbers)):
        raise refusal(LOG_OPTIONS, asked.name, errors)
    pod = hands.get(PODS, asked.namespace, asked.name)
    if pod is None:
        raise NotFound(f'pods "{asked.name}" not found', details=Details(name=asked.name, kind="pods"))
    container = _container(pod, asked.query.get("container", ""))
    if not inner(pod, "spec", "nodeName"):
        return _plain("", 204)
    status = _status(pod, container["name"], previous=_is_set(asked.query, "previous"))
    lines = list(_lines(pod, container, status, timestamps=_is_set(asked.query, "timestamps")))
    if "sinceSeconds" in numbers:
        since = call.now - numbers["sinceSeconds"]
    return _plain(_chosen(lines, status, since, numbers))


def _numbers(query: Mapping[str, str]) -> dict[str, int]:
    """The whole numbers of the query; raises BadRequest for what is none."""
    numbers: dict[str, int] = {}
    for name in _NUMBERS:
        if not (text := query.get(name, "")):
            continue
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        numbers[name] = int(text)
        if not -(1 << 63) <= numbers[name] < 1 << 63:
            raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return numbers


def _validate(query: Mapping[str, str], numbers: Mapping[str, int]) -> Iterator[FieldError]:
    if numbers.get("tailLines", 0) < 0:
        yield invalid("tailLines", numbers["tailLines"], "must be greater than or equal to 0")
    if numbers.get("limitBytes", 1) < 1:
        yield invalid("limitBytes", numbers["limitBytes"], "must be greater than 0")
    if "sinceSeconds" in numbers and query.get("sinceTime"):
        yield forbidden(NOWHERE, "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield invalid("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0")
    if query.get("stream"):
        yield forbidden("stream", "may not be specified")


def _container(pod: Tree, name: str) -> Tree:
    """The container that is meant; raises BadRequest when that is not clear."""
    spec, owner = pod["spec"], pod["metadata"]["name"]
    containers = spec.get("containers") or []
    if not name and len(containers) == 1:
        return dict(containers[0])
    if not name:
        known = " ".join(container.get("name", "") for container in containers_of(spec))
        choice = f", choose one of: [{known}]" if containers else ""
        raise BadRequest(f"a container name must be specified for pod {owner}{choice}")
    for container in containers_of(spec):
        if container.get("name") == name:
            return container
    raise BadRequest(f"container {name} is not valid for pod {owner}")


def _status(pod: Tree, name: str, *, previous: bool) -> Tree:
    """The state of the container whose log it is; raises BadRequest, in the kubelet's words, when it has no log."""
    owner, status = pod["metadata"]["name"], pod.get("status") or {}
    known = next((item for part in _LISTS for item in status.get(part) or () if item.get("name") == name), None)
    called = f'container "{name}" in pod "{owner}"'
    if known is None:
        raise BadRequest(f"{called} is not available")
    last: Tree | None = inner(known, "lastState", "terminated")
    if previous:
        if last is None:
            raise BadRequest(f"previous terminated {called} not found")
        return last
    state = known.get("state") or {}
    for found in (state.get("running"), state.get("terminated"), last):
        if found is not None:
            return dict(found)
    reason = inner(state, "waiting", "reason")
    if state.get("waiting") is None:
        raise BadRequest(f"{called} is waiting to start - no logs yet")
    raise BadRequest(f"{called} is waiting to start: {_PULLING.get(reason or '', reason or '')}")


def _lines(pod: Tree, container: Tree, state: Tree, *, timestamps: bool) -> Iterator[str]:
    began, ended = state.get("startedAt") or "", state.get("finishedAt") or ""
    node = inner(pod, "spec", "nodeName")
    first = (
        f'eachnode: container "{container["name"]}" ({container.get("image", "")}) is simulated on node "{node}": '
        "no process runs in it, and it writes no log."
    )
    yield f"{began} {first}" if timestamps and began else first
    if ended:
        last = f"eachnode: it ended with exit code {state.get('exitCode', 0)} ({state.get('reason') or 'no reason'})."
        yield f"{ended} {last}" if timestamps else last


def _chosen(lines: list[str], state: Tree, since: float | None, numbers: Mapping[str, int]) -> str:
    """The part of the log that is asked for."""
    moments = [state.get("startedAt") or "", state.get("finishedAt") or ""]
    if since is not None:
        dated = zip(lines, moments, strict=False)
        lines = [line for line, written in dated if written and seconds(written) >= since]
    if "tailLines" in numbers:
        lines = lines[len(lines) - min(numbers["tailLines"], len(lines)) :]
    text = "".join(f"{line}\n" for line in lines)
    return text.encode()[: numbers["limitBytes"]].decode(errors="ignore") if "limitBytes" in numbers else text


def _moment(text: str) -> float | None:
    """The moment that a query names, if it names one; raises BadRequest for what is none."""
    try:
        known = moment(text) if text else None
    except ValueError as refusal:
        raise BadRequest(str(refusal)) from None
    return seconds(known) if known is not None else None


def _is_set(query: Mapping[str, str], name: str) -> bool:
    return name in query and query[name] in _TRUE


def _plain(text: str, code: int = 200) -> Answer:
    return Answer(Document(text.encode()), code, "text/plain")


LOG = Subresource(kind="Pod", verbs=frozenset(("get",)), handle=read_log)
