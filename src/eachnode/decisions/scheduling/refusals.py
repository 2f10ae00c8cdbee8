"""What a rule answers: nothing when a pod may go to a node, or why it may not, in kube-scheduler's words.

A rule is asked in two steps, because most of the work depends on the pod alone: `prepare` looks at the pod (and at the
cluster, where the rule spans nodes) and returns a check of single nodes, or None when the pod does not care.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from eachnode.objects.workload import WorkloadPod

if TYPE_CHECKING:
    from eachnode.decisions.scheduling.landscape import Landscape
    from eachnode.decisions.scheduling.rooms import Room


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason against one node."""

    rule: str
    reason: str
    hopeless: bool = False  # Not even an empty node would do: making room does not help.


Refusals = tuple[Refusal, ...]
FITS: Refusals = ()

Check = Callable[["Room"], Refusals]


class Change(Enum):
    """What can happen in a cluster that lets a pod be placed that could not be placed before."""

    NODE_LABELS = "a node's labels changed"
    NODE_TAINTS = "a node's taints changed"
    NODE_CORDON = "a node was cordoned or uncordoned"
    NODE_ROOM = "a node has more room"
    POD_PLACED = "a pod was placed"
    POD_LABELS = "a placed pod's labels changed"
    POD_GONE = "a pod left its node"
    NAMESPACE = "a namespace's labels changed"


@dataclass(frozen=True, slots=True)
class Fact:
    """Why one node is refused to one pod: the fact in a sentence, and what would change the answer."""

    sentence: str
    remedy: str = ""
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod that has what another one wants."""

    namespace: str
    name: str
    priority: int
    holds: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One question that every placement must answer."""

    name: str
    prepare: Callable[[WorkloadPod, Landscape], Check | None]
    facts: Callable[[WorkloadPod, Room, Landscape], Sequence[Fact]]
    helped_by: frozenset[Change]
    spans_nodes: bool = False  # Its answer for one node depends on pods elsewhere.
