"""What must hold once everything has come to rest: all DaemonSets complete, statuses true, nobody waiting or busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eachnode.client.intercepting import READS
from eachnode.controllers.daemonset import DaemonSetController
from eachnode.objects.daemonset import Counts
from eachnode.objects.meta import Key
from eachnode.objects.pod import Pod
from eachnode.simulation.truth import Daemons, Truth

# What goes on for ever in a healthy cluster: signs of life, and old events that are forgotten.
NEVER_RESTS = frozenset({"leases", "nodes", "events"})


def unsettled(truth: Truth, now: float) -> Iterator[str]:
    """Why not every DaemonSet is complete, one sentence for each thing that lacks; nothing when all are."""
    for daemons in truth.daemons.values():
        yield from _slots(truth, daemons, now)
        yield from _status(daemons, now)
        yield from _history(daemons)
    for key in sorted(truth.left_behind()):
        yield f"{key} belongs to a DaemonSet that is gone"


def _slots(truth: Truth, daemons: Daemons, now: float) -> Iterator[str]:
    current = daemons.current()
    label = current.revision_hash if current is not None else None
    follows = daemons.daemonset.spec.update_strategy.type == "RollingUpdate"
    for name, station in sorted(daemons.stations.items()):
        pods = list(daemons.on(name))
        if not station.verdict.should_run:
            if pods and not station.verdict.should_stay:
                yield f"{daemons.key}: {len(pods)} pods on {name}, where {station.verdict.because}"
        elif len(pods) != 1:
            yield f"{daemons.key}: {len(pods)} pods on {name}"
        elif not daemons.is_available(pods[0], now) or pods[0].is_terminating:
            yield f"{daemons.key}: pod {pods[0].name} on {name} is not available"
        elif follows and pods[0].revision_hash != label:
            yield f"{daemons.key}: pod {pods[0].name} on {name} is of revision {pods[0].revision_hash}, not {label}"
    for node in sorted(daemons.pods):
        if daemons.pods[node] and node not in truth.nodes:
            yield f"{daemons.key}: pods for {node or 'no node'}, which does not exist"


def _status(daemons: Daemons, now: float) -> Iterator[str]:
    daemonset = daemons.daemonset
    observed, generation = daemonset.status.observed_generation, daemonset.metadata.generation
    if observed != generation:
        yield f"{daemons.key}: generation {observed} is observed, not {generation}"
    reported, truth = daemonset.status.counts, counted(daemons, now)
    if reported != truth:
        yield f"{daemons.key}: the status says {reported}, but it is {truth}"


def counted(daemons: Daemons, now: float) -> Counts:
    """The counters of the status, counted one by one."""
    current = daemons.current()
    label = current.revision_hash if current is not None else None
    wanted = [name for name, station in daemons.stations.items() if station.verdict.should_run]
    first = {
        name: min(pods, key=lambda pod: pod.keep_order)
        for name in daemons.stations
        if (pods := _present(daemons, name))
    }
    there = [first[name] for name in wanted if name in first]
    available = sum(daemons.is_available(pod, now) for pod in there)
    return Counts(
        current_number_scheduled=len(there),
        number_misscheduled=sum(name not in wanted for name in first),
        desired_number_scheduled=len(wanted),
        number_ready=sum(pod.is_ready for pod in there),
        updated_number_scheduled=sum(pod.revision_hash == label for pod in there),
        number_available=available,
        number_unavailable=len(wanted) - available,
    )


def _present(daemons: Daemons, node: str) -> list[Pod]:
    return [pod for pod in daemons.on(node) if not (pod.is_over and pod.is_terminating)]


def _history(daemons: Daemons) -> Iterator[str]:
    current = daemons.current()
    if current is None:
        yield f"{daemons.key}: no revision records its template"
        return
    if current.revision < max(each.revision for each in daemons.revisions.values()):
        yield f"{daemons.key}: the current revision {current.name} is not the newest"
    in_use = {pod.revision_hash for node in daemons.pods for pod in daemons.on(node)}
    old = [each for each in daemons.revisions.values() if each is not current and each.revision_hash not in in_use]
    limit = daemons.daemonset.spec.revision_history_limit
    if limit is not None and len(old) > limit:
        yield f"{daemons.key}: {len(old)} old revisions are kept, {limit} wanted"


def waiting_in_vain(controller: DaemonSetController) -> Iterator[str]:
    """Pods that the controller waits to see although its cache shows that they came, or went, already."""
    for key, charge in controller.charges.items():
        expectations, fleet = charge.expectations, charge.fleet
        if fleet is None or not (expectations.creates or expectations.deletes):
            continue
        seen: set[Key] = {pod.metadata.key for pod in fleet.pods.values()}
        for expected in sorted(expectations.creates & seen):
            yield f"{key}: waits to see pod {expected.name}, which it sees"
        for uid in sorted(expectations.deletes):
            pod = fleet.pods.get(uid)
            if pod is None or pod.is_terminating:
                yield f"{key}: waits to see the pod with uid {uid} go, and sees it gone"


def restless(calls: Iterable[tuple[str, str, str]]) -> list[str]:
    """Of these calls (who, verb, kind) the writes that are none of those that go on for ever."""
    return [
        f"{who}: {verb} {kind}"
        for who, verb, kind in calls
        if verb not in READS and kind not in NEVER_RESTS and who != "user"
    ]
