"""Which pods nobody will ever finish, so that they must be removed without their node's help.

Mirrors pkg/controller/podgc of Kubernetes: pods bound to a node that is gone, pods that are to leave a node which
somebody has declared out of service, pods that are deleted before they were bound, and finished pods beyond a
threshold, evicted ones first, then the oldest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from eachnode.objects.meta import Key, Metadata
from eachnode.objects.taints import OUT_OF_SERVICE, Taint
from eachnode.objects.workload import PodCondition


class _Spec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    phase: str = ""
    reason: str = ""


class MortalPod(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A pod, as far as its removal is concerned."""

    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_finished(self) -> bool:
        """Whether it ended by itself."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_going(self) -> bool:
        """Whether its deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def was_evicted(self) -> bool:
        """Whether its kubelet ended it because the node ran out of something."""
        return self.status.phase == "Failed" and self.status.reason == "Evicted"


class _NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] | None = None


class _NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    conditions: tuple[PodCondition, ...] | None = None


class CareNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node, as far as it can be relied on to let pods go."""

    metadata: Metadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    @property
    def is_out_of_service(self) -> bool:
        """Whether it is not ready and somebody vouches that nothing runs there any more."""
        ready = any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())
        return not ready and any(taint.key == OUT_OF_SERVICE for taint in self.spec.taints or ())


@dataclass(frozen=True, slots=True)
class Removal:
    """One pod to be removed at once, and why."""

    pod: MortalPod
    because: str
    orphaned: bool = False  # Its node is gone: users are told so by a condition before it vanishes.

    @property
    def key(self) -> Key:
        """The pod's name."""
        return self.pod.metadata.key


def doomed(
    pods: Iterable[MortalPod], gone_nodes: Collection[str], finished_allowed: int, out_of_service: Collection[str] = ()
) -> Iterator[Removal]:
    """Every pod to remove now.

    `gone_nodes` are names that surely belong to no node any more, `out_of_service` those of nodes that will not let
    their pods go by themselves.
    """
    finished: list[MortalPod] = []
    for pod in pods:
        node = pod.spec.node_name
        if node and node in gone_nodes:
            yield Removal(pod, because=f"its node {node} is gone", orphaned=True)
        elif pod.is_going and node in out_of_service:
            yield Removal(pod, because=f"it is being deleted and its node {node} is out of service")
        elif pod.is_going and not node:
            yield Removal(pod, because="it is being deleted and was never bound to a node")
        elif pod.is_finished and not pod.is_going:
            finished.append(pod)
    if finished_allowed > 0 and len(finished) > finished_allowed:
        finished.sort(key=_dispensability)
        for pod in finished[: len(finished) - finished_allowed]:
            yield Removal(pod, because=f"more than {finished_allowed} finished pods are kept")


def _dispensability(pod: MortalPod) -> tuple[bool, str, Key]:
    """The smaller, the sooner it goes."""
    return (not pod.was_evicted, pod.metadata.creation_timestamp or "", pod.metadata.key)
