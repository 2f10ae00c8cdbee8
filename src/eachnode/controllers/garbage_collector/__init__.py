"""Deletes what lost its owners, and carries out foreground and orphaning deletion."""

from eachnode.controllers.garbage_collector.collector import GarbageCollector

__all__ = ["GarbageCollector"]
