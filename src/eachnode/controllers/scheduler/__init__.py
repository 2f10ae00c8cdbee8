"""Gives each pod a node, or says in kube-scheduler's words why it cannot."""

from eachnode.controllers.scheduler.scheduler import Scheduler, SchedulerOptions

__all__ = ["Scheduler", "SchedulerOptions"]
