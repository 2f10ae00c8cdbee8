"""One DaemonSet as it is now, listed once: by the controller's own bookkeeping, and with what else explains it.

Of each list one page is held at a time. Pods are decoded as decisions read them; in full only those that do not serve.
All other pods of the cluster are asked for only where a pod has no node, and then, as a rule, only those of that node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eachnode.cli.errands import each, find
from eachnode.cli.explaining.rooms import Unplaced, landscape_of
from eachnode.cli.explaining.stories import Stories, last_words, stories_of
from eachnode.cli.failures import Failure
from eachnode.cli.live import Look, look_at
from eachnode.client.door import Door
from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.observe import World, concerns_daemonsets
from eachnode.controllers.daemonset.options import DaemonSetOptions
from eachnode.decisions.explanation import Scene, replay_failures
from eachnode.decisions.explanation_of_pods import tells_little
from eachnode.decisions.explanation_views import NodeTold, PodStarted, PodTold
from eachnode.decisions.plan import SELECTING_ALL
from eachnode.decisions.slots import State
from eachnode.objects.clock import Clock, seconds
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from eachnode.objects.revision import ControllerRevision


@dataclass(slots=True)
class Observed:
    """What was listed about one DaemonSet."""

    charge: Charge
    look: Look
    nodes: dict[str, NodeTold]
    pods: dict[str, PodTold] = field(default_factory=dict)  # By uid: those that do not serve, or crashed of late.


async def observe_now(door: Door, clock: Clock, name: str, namespace: str) -> Observed:
    """List all that belongs to one DaemonSet, once."""
    daemonset = (await find(door, DAEMON_SETS, name, namespace)).read(DaemonSet)
    nodes, told = await list_nodes(door)
    return await observe_with(door, clock, daemonset, nodes, told)


async def list_nodes(door: Door) -> tuple[dict[Key, Node], dict[str, NodeTold]]:
    """All nodes: as placement sees them, and with what they tell of themselves."""
    nodes: dict[Key, Node] = {}
    told: dict[str, NodeTold] = {}
    async for document in each(door, NODES):
        node = document.read(Node)
        nodes[node.metadata.key] = node
        told[node.name] = document.read(NodeTold)
    return nodes, told


async def observe_with(
    door: Door, clock: Clock, daemonset: DaemonSet, nodes: dict[Key, Node], told: dict[str, NodeTold]
) -> Observed:
    """List what belongs to this DaemonSet, its nodes being known."""
    world = World(nodes, lambda _: None, DaemonSetOptions())
    world.daemonset_changed(None, daemonset)
    charge = world.charges[daemonset.metadata.key]
    if charge.problem:
        raise Failure(f"daemonset {daemonset.name} is left alone by the controller, because {charge.problem}")
    if charge.selector.empty:
        raise Failure(f"daemonset {daemonset.name} is left alone by the controller: {SELECTING_ALL}")
    labels, now = charge.selector.text, clock.now()
    pods: dict[str, PodTold] = {}
    async for document in each(door, CONTROLLER_REVISIONS, daemonset.metadata.namespace, labels=labels):
        revision = document.read(ControllerRevision)
        if concerns_daemonsets(revision):
            world.revision_changed(None, revision)
    async for document in each(door, PODS, daemonset.metadata.namespace, labels=labels):
        pod = document.read(Pod)
        if concerns_daemonsets(pod):
            world.pod_changed(None, pod)
            if not pod.is_ready or pod.is_terminating or document.read(PodStarted).has_crashed_lately(now):
                pods[pod.uid] = document.read(PodTold)
    _adopt(charge)
    look = look_at(charge, now)
    assert look is not None  # There is no problem with it.
    return Observed(charge, look, told, pods)


def _adopt(charge: Charge) -> None:
    """What belongs to nobody and is selected belongs to the DaemonSet before the controller decides anything."""
    if charge.daemonset.is_going or charge.fleet is None:
        return
    for pod in charge.orphan_pods.values():
        charge.fleet.see_pod(pod)
    charge.revisions.update(charge.orphan_revisions)


async def scene_of(door: Door, clock: Clock, observed: Observed, only: str = "") -> Scene:
    """What was observed, with what else is needed to explain it, or one node of it."""
    look, fleet = observed.look, observed.look.fleet
    concerned = [fleet.slots[only]] if only in fleet.slots else list(fleet.slots.values())
    states = fleet.tally.states  # Of all slots: what is so elsewhere can hold up this one.
    stories = Stories()
    if states[State.VACANT] or states[State.FAILED]:
        stories = await stories_of(door, look.daemonset)
        replay_failures(fleet, _since_template(stories.failures, look), clock.now())
    unplaced = [
        Unplaced(observed.pods[pod.uid], pod.target)
        for slot in concerned
        for pod in slot.alive
        if _waits_for_a_place(pod, observed)
    ]
    landscape = await landscape_of(door, unplaced, observed.nodes) if unplaced else None
    namespace = look.daemonset.metadata.namespace
    silent = {pod.uid for slot in concerned for pod in slot.alive if _is_on_its_way(pod, observed)}
    words = await last_words(door, namespace, silent) if silent else {}
    return Scene(
        look.daemonset, fleet, look.history, clock.now(), observed.nodes, observed.pods, landscape, words,
        stories.failed_create, stories.failed_create_at, stories.failed_placements,
    )  # fmt: skip


def _is_on_its_way(pod: Pod, observed: Observed) -> bool:
    told = observed.pods.get(pod.uid)
    return told is not None and not pod.is_ready and tells_little(told)


def _waits_for_a_place(pod: Pod, observed: Observed) -> bool:
    return not pod.spec.node_name and not pod.is_over and pod.uid in observed.pods


def _since_template(failures: dict[str, tuple[float, ...]], look: Look) -> dict[str, tuple[float, ...]]:
    """Those since the newest template: a changed spec gets a new chance."""
    current = look.history.current
    began = seconds(current.metadata.creation_timestamp) if current and current.metadata.creation_timestamp else 0.0
    return {node: tuple(when for when in moments if when >= began) for node, moments in failures.items()}
