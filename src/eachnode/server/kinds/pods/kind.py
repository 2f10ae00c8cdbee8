"""Pods as a kind.

The pods of one owner differ in name and node only. What was found sound of the last one need not be judged again: then
only the parts in which they differ are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eachnode.objects import formats
from eachnode.objects.resources import PODS
from eachnode.server.field_errors import FieldError
from eachnode.server.kind import Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.pods.defaults import default_pod
from eachnode.server.kinds.pods.parts import inner
from eachnode.server.kinds.pods.preparation import prepare_create, prepare_status, prepare_update
from eachnode.server.kinds.pods.rows import COLUMNS, row
from eachnode.server.kinds.pods.status import validate_pod_status
from eachnode.server.kinds.pods.subresources import SUBRESOURCES
from eachnode.server.kinds.pods.update import validate_pod_update
from eachnode.server.kinds.pods.validation.spec import validate_new_pod, validate_placement, validate_pod
from eachnode.server.kinds.pods.warnings import warnings_for

_VARYING = ("affinity", "nodeName")


@dataclass(slots=True)
class SoundPods:
    """The last sound pod of each owner, without what differs from pod to pod."""

    most: int = 256  # Owners to remember.
    _known: OrderedDict[str, tuple[Any, Any]] = field(default_factory=OrderedDict)

    def validate(self, tree: Tree) -> Iterator[FieldError]:
        """Everything wrong with a new pod."""
        owner, spec = _controller(tree), tree.get("spec") or {}
        common = (
            {name: value for name, value in spec.items() if name not in _VARYING},
            tree["metadata"].get("annotations"),
        )
        if owner and self._known.get(owner) == common:
            yield from validate_placement(tree)
            return
        sound = True
        for error in (*validate_pod(tree), *validate_new_pod(tree)):
            sound = False
            yield error
        if sound and owner and not _depends_on_name(spec):
            self._remember(owner, common)

    def _remember(self, owner: str, common: tuple[Any, Any]) -> None:
        self._known[owner] = common
        self._known.move_to_end(owner)
        if len(self._known) > self.most:
            self._known.popitem(last=False)


def _controller(tree: Tree) -> str:
    owners = tree["metadata"].get("ownerReferences") or ()
    return next((owner.get("uid", "") for owner in owners if owner.get("controller")), "")


def _depends_on_name(spec: Tree) -> bool:
    """Whether a pod's name or node says more about it: names of claims, mirrors of static pods, gates."""
    ephemeral = any(volume.get("ephemeral") is not None for volume in spec.get("volumes") or ())
    return ephemeral or bool(spec.get("schedulingGates"))


def _warn(new: Tree, old: Tree | None) -> Iterator[str]:
    """People make pods; what changes them is mostly programs, which read no warnings."""
    if old is not None:
        return
    if problems := formats.dns_label(new["metadata"].get("name", "")):
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(problems)}]"
        )
    yield from warnings_for(new, "")


def grace(tree: Tree, asked: int | None) -> int:
    """How long a pod may take to end: no time at all when it never began or has ended."""
    if not inner(tree, "spec", "nodeName") or inner(tree, "status", "phase") in ("Failed", "Succeeded"):
        return 0
    wanted = inner(tree, "spec", "terminationGracePeriodSeconds") if asked is None else asked
    return 1 if (wanted or 0) < 0 else wanted or 0


def _address(tree: Tree) -> str:
    addresses = inner(tree, "status", "podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else ""


PODS_KIND = Kind(
    resource=PODS,
    singular="pod",
    definition="io.k8s.api.core.v1.Pod",
    short_names=("po",),
    categories=("all",),
    has_status=True,
    default=default_pod,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate=SoundPods().validate,
    validate_update=validate_pod_update,
    tells_empty=True,
    whole_update=True,
    validate_status=validate_pod_status,
    validate_name=name_rules.dns_subdomain,
    warn=_warn,
    grace=grace,
    returns_deleted=True,
    subresources=SUBRESOURCES,
    columns=COLUMNS,
    row=row,
    fields={
        "spec.nodeName": lambda tree: inner(tree, "spec", "nodeName") or "",
        "spec.restartPolicy": lambda tree: inner(tree, "spec", "restartPolicy") or "",
        "spec.schedulerName": lambda tree: inner(tree, "spec", "schedulerName") or "",
        "spec.serviceAccountName": lambda tree: inner(tree, "spec", "serviceAccountName") or "",
        "spec.hostNetwork": lambda tree: "true" if inner(tree, "spec", "hostNetwork") else "false",
        "status.phase": lambda tree: inner(tree, "status", "phase") or "",
        "status.podIP": _address,
        "status.nominatedNodeName": lambda tree: inner(tree, "status", "nominatedNodeName") or "",
    },
)
