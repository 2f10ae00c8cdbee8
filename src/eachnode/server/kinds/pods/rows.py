"""Pods in tables: the one word that says how a pod is, and the columns round it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eachnode.objects.clock import seconds
from eachnode.server.kind import Column, Tree
from eachnode.server.kinds.pods.conditions import is_true
from eachnode.server.kinds.pods.parts import inner, is_sidecar
from eachnode.server.kinds.rows import AGE, NAME, NONE, age_of, name_of, since

COLUMNS = (
    NAME,
    Column("Ready", description="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", description="The aggregate status of the containers in this pod."),
    Column(
        "Restarts", description="How often containers of this pod were started again, and when the last of them was."
    ),
    AGE,
    Column("IP", priority=1, description="The address of the pod, reachable at least within the cluster."),
    Column("Node", priority=1, description="The node on which the pod is."),
    Column("Nominated Node", priority=1, description="The node on which room is being made for the pod."),
    Column("Readiness Gates", priority=1, description="Conditions that must be true before the pod counts as ready."),
)
_ENDED = ("Succeeded", "Failed")


def row(tree: Tree, now: float) -> list[Any]:
    """The cells of one pod."""
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    summary = summarise(tree)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts += f" ({since(summary.last_restart, now)} ago)"
    addresses = status.get("podIPs") or ()
    return [
        name_of(tree),
        f"{summary.ready}/{summary.containers}",
        summary.word,
        restarts,
        age_of(tree, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


@dataclass(slots=True)
class Summary:
    """How the containers of a pod are, counted together."""

    word: str
    containers: int
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def count_restarts(self, container: Tree) -> None:
        """Adds the restarts of one container."""
        self.restarts += container.get("restartCount", 0)
        ended = inner(container, "lastState", "terminated", "finishedAt") or ""
        if ended and (not self.last_restart or seconds(ended) > seconds(self.last_restart)):
            self.last_restart = ended


def summarise(tree: Tree) -> Summary:
    """How a pod is, as `kubectl get` tells it."""
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    phase = status.get("phase", "")
    inits = {item.get("name", ""): item for item in spec.get("initContainers") or ()}
    total = len(spec.get("containers") or ()) + sum(map(is_sidecar, inits.values()))
    summary = Summary(status.get("reason") or phase, total)
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            summary.word = "SchedulingGated"
    initializing = _summarise_init(summary, status, inits)
    if not initializing or is_true(status, "Initialized"):
        _summarise_running(summary, status, inits)
    if "deletionTimestamp" in tree["metadata"]:
        if status.get("reason") == "NodeLost":
            summary.word = "Unknown"
        elif phase not in _ENDED:
            summary.word = "Terminating"
    return summary


def _summarise_init(summary: Summary, status: Tree, inits: Mapping[str, Tree]) -> bool:
    """Counts the init containers; True when one of them is not done."""
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        summary.count_restarts(container)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), inner(state, "waiting", "reason")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar(inits.get(container.get("name", ""), {})) and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        if terminated is not None:
            summary.word = f"Init:{_end(terminated)}"
        elif waiting and waiting != "PodInitializing":
            summary.word = f"Init:{waiting}"
        else:
            summary.word = f"Init:{index}/{len(inits)}"
        return True
    return False


def _summarise_running(summary: Summary, status: Tree, inits: Mapping[str, Tree]) -> None:
    """Counts the containers proper; restarts of init containers that ended count no longer."""
    summary.restarts, summary.last_restart = 0, ""
    for container in status.get("initContainerStatuses") or ():
        if is_sidecar(inits.get(container.get("name", ""), {})):
            summary.count_restarts(container)
    running, failure = False, ""
    for container in reversed(status.get("containerStatuses") or []):
        summary.count_restarts(container)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if reason := inner(state, "waiting", "reason"):
            summary.word = reason
        elif terminated is not None:
            summary.word = _end(terminated)
            failure = summary.word if terminated.get("exitCode") else failure
        elif container.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.word == "Completed":
        if running and is_true(status, "Ready"):
            summary.word = "Running"
        elif failure or running:
            summary.word = failure or "NotReady"


def _end(terminated: Tree) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _gates(spec: Tree, status: Tree) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    values = {item.get("type"): item.get("status") for item in reversed(status.get("conditions") or [])}
    return f"{sum(values.get(gate.get('conditionType')) == 'True' for gate in gates)}/{len(gates)}"
