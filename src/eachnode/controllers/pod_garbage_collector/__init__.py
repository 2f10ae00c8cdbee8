"""Removes pods that nobody will ever finish: of nodes that are gone, never bound, or long done."""

from eachnode.controllers.pod_garbage_collector.collector import PodGarbageCollector, PodGarbageOptions

__all__ = ["PodGarbageCollector", "PodGarbageOptions"]
