"""Names, on /metrics, for what the controller counts and for what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from eachnode.controllers.daemonset.charge import Charge
from eachnode.controllers.daemonset.counters import Counters
from eachnode.decisions.slots import State
from eachnode.objects.meta import Key
from eachnode.runtime.metrics import Metrics


class Shown(Protocol):
    """What is shown of a controller."""

    counters: Counters

    @property
    def charges(self) -> Mapping[Key, Charge]: ...


def show(controller: Shown, metrics: Metrics) -> None:
    """Give names to what the controller counts."""
    for name in Counters.__slots__:
        metrics.computed(
            f"daemonset_{name}", f"DaemonSet controller: {name.replace('_', ' ')}", (), _counter(controller, name)
        )
    metrics.computed(
        "daemonset_nodes", "Nodes by what is on them", ("namespace", "name", "state"), lambda: states(controller)
    )
    metrics.computed(
        "daemonset_updated_ratio",
        "Share of the wanted pods that are current",
        ("namespace", "name"),
        lambda: progress(controller),
    )


def _counter(controller: Shown, name: str) -> Callable[[], Mapping[tuple[str, ...], float]]:
    def compute() -> Mapping[tuple[str, ...], float]:
        return {(): float(getattr(controller.counters, name))}

    return compute


def states(controller: Shown) -> dict[tuple[str, ...], float]:
    """How many nodes are in which state, for each DaemonSet."""
    return {
        (*key, str(state)): float(charge.fleet.tally.states[state])
        for key, charge in controller.charges.items()
        if charge.fleet is not None
        for state in State
    }


def progress(controller: Shown) -> dict[tuple[str, ...], float]:
    """The share of the wanted pods that are current, for each DaemonSet."""
    return {
        tuple(key): charge.fleet.tally.updated / charge.fleet.tally.desired if charge.fleet.tally.desired else 1.0
        for key, charge in controller.charges.items()
        if charge.fleet is not None
    }
