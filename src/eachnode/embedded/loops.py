"""How each component of a cluster is made; a component that is left out is not even imported."""

from __future__ import annotations

import asyncio
from typing import Protocol

from eachnode.client.door import Door
from eachnode.embedded.options import ClusterOptions, Component
from eachnode.objects.clock import Chance, Clock


class Loop(Protocol):
    """What every component is."""

    @property
    def synced(self) -> asyncio.Event:
        """Set once it has seen the present objects."""
        ...

    async def run(self) -> None:
        """Work until cancelled."""
        ...


def make_loop(component: Component, door: Door, clock: Clock, chance: Chance, options: ClusterOptions) -> Loop:
    """The loop of this component."""
    match component:
        case "controller":
            from eachnode.controllers.daemonset import DaemonSetController

            return DaemonSetController(door, clock=clock, chance=chance)
        case "scheduler":
            from eachnode.controllers.scheduler import Scheduler

            return Scheduler(door, clock=clock, chance=chance)
        case "garbage-collector":
            from eachnode.controllers.garbage_collector import GarbageCollector

            return GarbageCollector(door, clock=clock, chance=chance)
        case "node-lifecycle":
            from eachnode.controllers.node_lifecycle import NodeLifecycle

            return NodeLifecycle(door, clock=clock, chance=chance)
        case "pod-garbage-collector":
            from eachnode.controllers.pod_garbage_collector import PodGarbageCollector, PodGarbageOptions

            patience = PodGarbageOptions(quarantine=options.pod_quarantine)
            return PodGarbageCollector(door, clock=clock, chance=chance, options=patience)
        case "namespaces":
            from eachnode.controllers.namespaces import NamespaceOptions, Namespaces

            contents = NamespaceOptions(root_certificates=options.root_certificates)
            return Namespaces(door, clock=clock, chance=chance, options=contents)
        case "kubelet":
            from eachnode.controllers.kubelet import Kubelet

            return Kubelet(door, clock=clock, chance=chance, options=options.kubelet)
