"""Limit ranges: what containers of a namespace ask for when they do not say, and how little or much they may ask for.

Two steps: one completes new pods, the other, after validation, refuses those that are out of range. A pod that is
there is left alone, for what it asks for cannot change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eachnode.objects.quantities import nano
from eachnode.objects.resources import LIMIT_RANGES, PODS
from eachnode.server.admission.refusals import forbidden
from eachnode.server.kind import Call, Kind, Reader, Tree
from eachnode.server.kinds.pods.resource_sums import sum_of_containers

ANNOTATION = "kubernetes.io/limit-ranger"
_POD_LEVEL = ("cpu", "memory")
Amounts = Mapping[str, str]


class LimitDefaults:
    """Gives containers the requests and limits that the namespace has for those that say nothing."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Fills in what is missing, and notes it in an annotation."""
        if kind.resource != PODS or old is not None:
            return
        for limits in _limits(tree, reader):
            containers = [limit for limit in limits if limit.get("type") == "Container"]
            requests = _joined(containers, "defaultRequest")
            most = _joined(containers, "default")
            if notes := [*_complete(tree, requests, most)]:
                annotations = tree["metadata"].setdefault("annotations", {})
                annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


class LimitCheck:
    """Refuses pods that ask for less or more than the namespace allows."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Raises Forbidden with everything that one limit range minds."""
        if kind.resource != PODS or old is not None:
            return
        for limits in _limits(tree, reader):
            problems = dict.fromkeys(problem for limit in limits for problem in _out_of_range(limit, tree["spec"]))
            if problems:
                listed = ", ".join(problems)
                raise forbidden(
                    kind.resource, tree["metadata"]["name"], listed if len(problems) == 1 else f"[{listed}]"
                )


def _limits(tree: Tree, reader: Reader) -> Iterator[list[Tree]]:
    """The limits of each limit range in the pod's namespace."""
    for document in reader.documents(LIMIT_RANGES, tree["metadata"].get("namespace", "")):
        yield document.tree().get("spec", {}).get("limits") or []


def _joined(limits: list[Tree], part: str) -> dict[str, str]:
    return {name: amount for limit in limits for name, amount in (limit.get(part) or {}).items()}


def _complete(tree: Tree, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """Sets what each container leaves out, and says so."""
    for part, called in (("containers", "container"), ("initContainers", "init container")):
        for container in tree["spec"].get(part) or ():
            resources = container.setdefault("resources", {})
            new_limits = _fill(resources, "limits", limits)
            new_requests = _fill(resources, "requests", requests)
            for names, what in ((new_requests, "request"), (new_limits, "limit")):
                if names:
                    yield f"{', '.join(names)} {what} for {called} {container.get('name', '')}"


def _fill(resources: Tree, part: str, defaults: Amounts) -> list[str]:
    missing = sorted(defaults.keys() - (resources.get(part) or {}).keys())
    if missing:
        resources[part] = {**(resources.get(part) or {}), **{name: defaults[name] for name in missing}}
    return missing


def _out_of_range(limit: Tree, spec: Tree) -> Iterator[str]:
    kind = limit.get("type", "")
    if kind == "Pod":
        yield from _judge(limit, _of_pod(spec, "requests"), _of_pod(spec, "limits"))
    elif kind == "Container":
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources: dict[str, Any] = container.get("resources") or {}
            yield from _judge(limit, resources.get("requests") or {}, resources.get("limits") or {})


def _of_pod(spec: Tree, part: str) -> Amounts:
    """What all containers together ask for, unless the pod itself says it."""
    own = (spec.get("resources") or {}).get(part) or {}
    return sum_of_containers(spec, part) | {name: own[name] for name in _POD_LEVEL if name in own}


def _judge(limit: Tree, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """What one limit minds about these requests and limits."""
    kind = limit.get("type", "")
    for name, least in sorted((limit.get("min") or {}).items()):
        said = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{said}.  No request is specified"
        elif nano(requests[name]) < nano(least):
            yield f"{said}, but request is {requests[name]}"
        elif name in limits and nano(limits[name]) < nano(least):
            yield f"{said}, but limit is {limits[name]}"
    for name, most in sorted((limit.get("max") or {}).items()):
        said = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{said}.  No limit is specified"
        elif nano(limits[name]) > nano(most):
            yield f"{said}, but limit is {limits[name]}"
        elif name in requests and nano(requests[name]) > nano(most):
            yield f"{said}, but request is {requests[name]}"
    for name, ratio in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _judge_ratio(
            f"{name} max limit to request ratio per {kind} is {ratio}", name, ratio, requests, limits
        )


def _judge_ratio(said: str, name: str, most: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    request, limit = (nano(amounts.get(name, "0")) for amounts in (requests, limits))
    if not request:
        yield f"{said}, but no request is specified or request is 0"
    elif not limit:
        yield f"{said}, but no limit is specified or limit is 0"
    elif limit * 10**9 > nano(most) * request:
        yield f"{said}, but provided ratio is {limit / request:f}"
