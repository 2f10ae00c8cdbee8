"""What an embedded cluster is made of and how it behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eachnode.controllers.kubelet import KubeletOptions

Component = Literal[
    "controller",
    "scheduler",
    "garbage-collector",
    "node-lifecycle",
    "pod-garbage-collector",
    "namespaces",
    "kubelet",
]
COMPONENTS: tuple[Component, ...] = (
    "controller",
    "scheduler",
    "garbage-collector",
    "node-lifecycle",
    "pod-garbage-collector",
    "namespaces",
    "kubelet",
)
SERVER_COMPONENTS: tuple[Component, ...] = ("garbage-collector", "namespaces")  # What `eachnode server` runs too.


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Everything about a cluster that is decided before it starts."""

    data_dir: Path | None = None  # None: nothing outlives the process.
    components: tuple[Component, ...] = COMPONENTS
    nodes: int = 0
    node_template: Mapping[str, Any] | None = None
    kubelet: KubeletOptions = field(default_factory=KubeletOptions)
    root_certificates: str = ""  # PEM, for the config map that every namespace has.
    pod_quarantine: float = 5.0  # Seconds until pods of a vanished node follow it: nodes here do not vanish by mistake.
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
