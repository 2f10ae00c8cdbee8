"""What a pod as a whole asks for when only some of it was said, and the class of service that follows.

A pod that states requests or limits of its own has the missing ones filled in from its containers.
"""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects.quantities import nano
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import containers_of
from eachnode.server.kinds.pods.resource_sums import Amounts, sum_of_containers
from eachnode.server.kinds.pods.validation.resources import HUGE_PAGES, may_overcommit

_COMPUTE = ("cpu", "memory")


def default_pod_resources(spec: Tree) -> None:
    """Fills in a pod's own requests and limits, if it has some."""
    resources = spec.get("resources") or {}
    if not resources.get("limits") and not resources.get("requests"):
        return
    limits: Amounts = dict(resources.get("limits") or {})
    requests: Amounts = dict(resources.get("requests") or {})
    in_use = sum_of_containers(spec, "limits")
    for name, amount in in_use.items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, amount)
    for name, amount in sum_of_containers(spec, "requests").items():
        if _is_supported(name) and may_overcommit(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if _is_supported(name):
            requests.setdefault(name, amount)
    for name in [name for name in requests if _is_supported(name) and name not in limits]:
        if _all_limited(spec, name) and name in in_use:
            limits[name] = max(in_use[name], requests[name], key=nano)
    for part, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            resources[part] = amounts


def quality_of_service(spec: Tree) -> str:
    """Guaranteed when all limits are requested, BestEffort when nothing is, else Burstable."""
    own = spec.get("resources") or {}
    if any(_is_supported(name) for part in ("requests", "limits") for name in own.get(part) or ()):
        return _class_of(own)
    parts = ("initContainers", "containers")
    classes = {_class_of(item.get("resources") or {}) for part in parts for item in spec.get(part) or ()}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _class_of(resources: Tree) -> str:
    classes = set(_classes(resources))
    return classes.pop() if len(classes) == 1 else "Burstable"


def _classes(resources: Tree) -> Iterator[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name in _COMPUTE:
        request, limit = nano(requests.get(name, "0")), nano(limits.get(name, "0"))
        yield "Burstable" if request != limit else "Guaranteed" if request else "BestEffort"


def _is_supported(name: str) -> bool:
    return name in _COMPUTE or name.startswith(HUGE_PAGES)


def _all_limited(spec: Tree, name: str) -> bool:
    return all(name in ((item.get("resources") or {}).get("limits") or {}) for item in containers_of(spec))
