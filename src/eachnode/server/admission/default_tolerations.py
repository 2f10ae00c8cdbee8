"""A pod stays for five minutes on a node that is not ready or cannot be reached, unless it says otherwise."""

from __future__ import annotations

from typing import Any

from eachnode.objects.resources import PODS
from eachnode.server.kind import Call, Kind, Reader, Tree

SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerations:
    """Adds the two tolerations with a time limit that every pod has."""

    def admit(self, kind: Kind, tree: Tree, old: Tree | None, call: Call, reader: Reader) -> None:  # noqa: ARG002  # the shape of admission
        """Adds each toleration unless the pod has one for the same taint."""
        if kind.resource != PODS:
            return
        spec = tree.setdefault("spec", {})
        given = spec.get("tolerations") or []
        missing = [_toleration(taint) for taint in _TAINTS if not any(_speaks_of(entry, taint) for entry in given)]
        if missing:
            spec["tolerations"] = [*given, *missing]


def _speaks_of(toleration: dict[str, Any], taint: str) -> bool:
    return toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")


def _toleration(taint: str) -> dict[str, Any]:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
