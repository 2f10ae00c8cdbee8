"""What is to be made of a node's health: its conditions once it falls silent, its taints, and who must leave it when.

Mirrors pkg/controller/nodelifecycle and pkg/controller/tainteviction of Kubernetes. A node that is not heard of for the
grace period has its conditions set to Unknown. Conditions become NoSchedule taints at once; NotReady and Unknown also
become NoExecute taints, one node after another, slower where most of a zone is dark, and not at all where everything
is: then it is more likely that we are cut off than that everything died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata
from eachnode.objects.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    Taint,
    Toleration,
)

# Condition → status → the key of the taint that says so.
_TAINT_OF = {
    "Ready": {"False": NOT_READY, "Unknown": UNREACHABLE},
    "MemoryPressure": {"True": MEMORY_PRESSURE},
    "DiskPressure": {"True": DISK_PRESSURE},
    "NetworkUnavailable": {"True": NETWORK_UNAVAILABLE},
    "PIDPressure": {"True": PID_PRESSURE},
}
# Labels of old that many node selectors still ask for → those that took their place.
_OLD_LABELS = {"beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/arch": "kubernetes.io/arch"}
_UNCOUNTED = "node.kubernetes.io/exclude-disruption"
_OWN_KEYS = frozenset({UNSCHEDULABLE, *(key for by_status in _TAINT_OF.values() for key in by_status.values())})
_SILENT = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class HealthCondition(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One thing the node says of itself."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    conditions: tuple[HealthCondition, ...] | None = None


class WatchedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node, as far as its health is concerned."""

    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        return self.spec.taints or ()

    @property
    def ready(self) -> str:
        """True, False or Unknown; nothing when it never said."""
        return next((each.status for each in self.status.conditions or () if each.type == "Ready"), "")

    @property
    def zone(self) -> str:
        """Region and zone, as far as it has them."""
        labels = self.metadata.labels or {}
        region = labels.get("topology.kubernetes.io/region", "")
        zone = labels.get("topology.kubernetes.io/zone", "")
        return f"{region}/{zone}"

    @property
    def is_counted(self) -> bool:
        """Whether its zone's health depends on it; a label says when not."""
        return _UNCOUNTED not in (self.metadata.labels or {})

    @property
    def signs_of_life(self) -> tuple[str | None, ...]:
        """What changes whenever the node posts its status."""
        return tuple(each.last_heartbeat_time for each in self.status.conditions or ())


class _TaintedPodSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    node_name: str = ""
    tolerations: tuple[Toleration, ...] | None = None


class _TaintedPodStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    start_time: str | None = None
    conditions: tuple[HealthCondition, ...] | None = None


class TaintedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, as far as it may have to leave its node."""

    metadata: Metadata
    spec: _TaintedPodSpec = _TaintedPodSpec()
    status: _TaintedPodStatus = _TaintedPodStatus()

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition says True."""
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())


def silent_conditions(node: WatchedNode, now: str) -> list[dict[str, Any]]:
    """The conditions of a node that is no longer heard of; empty when they say so already."""
    known = {each.type: each for each in node.status.conditions or ()}
    changed: list[dict[str, Any]] = []
    for kind in _SILENT:
        old = known.get(kind)
        if old is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            heartbeat = node.metadata.creation_timestamp
        elif old.status != "Unknown":
            reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
            heartbeat = old.last_heartbeat_time
        else:
            continue
        condition = {"type": kind, "status": "Unknown", "reason": reason, "message": message}
        changed.append({**condition, "lastHeartbeatTime": heartbeat, "lastTransitionTime": now})
    return changed


class Expulsion(Enum):
    """Whether pods may be expelled from a node that is not ready, by its NoExecute taint."""

    NOW = "now"
    LATER = "its turn has not come"
    NOBODY = "from no node at all"  # Taints put on before are taken off again.


def taints_for(node: WatchedNode, now: str, expulsion: Expulsion) -> tuple[Taint, ...] | None:
    """The taints the node should have, or None when it has them."""
    wanted = _no_schedule(node)
    kept = []
    for taint in node.taints:
        if taint.effect == NO_SCHEDULE and taint.key in _OWN_KEYS:
            if taint.key not in wanted:
                continue
            del wanted[taint.key]
        kept.append(taint)
    kept += [Taint(key=key, effect=NO_SCHEDULE, time_added=now) for key in wanted]
    result = tuple(_with_no_execute(kept, node.ready, now, expulsion))
    return None if result == node.taints else result


def _no_schedule(node: WatchedNode) -> dict[str, None]:
    """The keys, in the order of the conditions they come from."""
    keys: dict[str, None] = {}
    for each in node.status.conditions or ():
        key = _TAINT_OF.get(each.type, {}).get(each.status)
        if key is not None:
            keys[key] = None
    if node.spec.unschedulable:
        keys[UNSCHEDULABLE] = None
    return keys


def _with_no_execute(taints: Sequence[Taint], ready: str, now: str, expulsion: Expulsion) -> list[Taint]:
    right = None if expulsion is Expulsion.NOBODY else {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready)
    own = (NOT_READY, UNREACHABLE)
    there = {taint.key for taint in taints if taint.effect == NO_EXECUTE and taint.key in own}
    kept = [taint for taint in taints if not (taint.effect == NO_EXECUTE and taint.key in own and taint.key != right)]
    # A node whose trouble only changed its name was tainted already: no need to wait for its turn again.
    if right is not None and right not in there and (expulsion is Expulsion.NOW or there):
        kept.append(Taint(key=right, effect=NO_EXECUTE, time_added=now))
    return kept


def old_labels_for(node: WatchedNode) -> dict[str, str]:
    """The labels of old that the node lacks, or that say something else than those that took their place."""
    labels = node.metadata.labels or {}
    return {old: labels[new] for old, new in _OLD_LABELS.items() if new in labels and labels.get(old) != labels[new]}


def wants_no_execute(node: WatchedNode) -> bool:
    """Whether the node is not ready and waits for its NoExecute taint."""
    if node.ready not in ("False", "Unknown"):
        return False
    return not any(taint.effect == NO_EXECUTE and taint.key in (NOT_READY, UNREACHABLE) for taint in node.taints)


class ZoneHealth(Enum):
    """How a zone is doing as a whole."""

    NORMAL = "normal"
    PARTLY_DARK = "partly dark"
    DARK = "dark"


UNHEALTHY_SHARE = 0.55  # From this share of nodes on a zone counts as partly dark.
LARGE_ZONE = 50  # In a partly dark zone up to this size nobody is expelled.
RATE, SLOW_RATE = 0.1, 0.01  # Nodes given their NoExecute taint per second and zone.


def zone_health(nodes: Iterable[WatchedNode]) -> tuple[ZoneHealth, int]:
    """How the zone with these nodes is doing, and how many they are."""
    states = [node.ready == "True" for node in nodes]
    dark = states.count(False)
    if dark and dark == len(states):
        return ZoneHealth.DARK, len(states)
    if dark > 2 and dark / len(states) >= UNHEALTHY_SHARE:
        return ZoneHealth.PARTLY_DARK, len(states)
    return ZoneHealth.NORMAL, len(states)


def expulsion_rate(health: ZoneHealth, size: int) -> float:
    """How many nodes of a zone may be given their NoExecute taint per second."""
    if health is ZoneHealth.PARTLY_DARK:
        return SLOW_RATE if size > LARGE_ZONE else 0.0
    return RATE


def leaves_at(pod: TaintedPod, taints: Iterable[Taint], came: float, undated: Mapping[Taint, float]) -> float | None:
    """When the pod must leave a node with these taints, which may be past; None for never.

    Of its tolerations the first that fits a taint counts, and its seconds run from when the taint was put on or, if
    that was later, from when the pod `came`. `undated` says since when taints are known that do not say it themselves.
    """
    deadline: float | None = None
    for taint in taints:
        if not taint.expels:
            continue
        first = next((each for each in pod.spec.tolerations or () if each.tolerates(taint)), None)
        if first is None:
            return came
        if first.toleration_seconds is None:
            continue
        put_on = seconds(taint.time_added) if taint.time_added else undated.get(taint, came)
        leaves = max(came, put_on) + max(0, first.toleration_seconds)
        deadline = leaves if deadline is None else min(deadline, leaves)
    return deadline
