"""Which pods nobody will ever finish, so that they must be removed without their node's help.

Mirrors pkg/controller/podgc of Kubernetes: pods bound to a node that is gone, pods that are deleted before they were
bound, and the oldest finished pods beyond a threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from eachnode.objects.meta import Key, Metadata


class _Spec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    phase: str = ""


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


def doomed(pods: Iterable[MortalPod], gone_nodes: Collection[str], finished_allowed: int) -> Iterator[Removal]:
    """Every pod to remove now; `gone_nodes` are names that surely belong to no node any more."""
    finished: list[MortalPod] = []
    for pod in pods:
        node = pod.spec.node_name
        if node and node in gone_nodes:
            yield Removal(pod, because=f"its node {node} is gone", orphaned=True)
        elif pod.is_going and not node:
            yield Removal(pod, because="it is being deleted and was never bound to a node")
        elif pod.is_finished and not pod.is_going:
            finished.append(pod)
    if finished_allowed > 0 and len(finished) > finished_allowed:
        finished.sort(key=lambda pod: (pod.metadata.creation_timestamp or "", pod.metadata.key))
        for pod in finished[: len(finished) - finished_allowed]:
            yield Removal(pod, because=f"more than {finished_allowed} finished pods are kept")
