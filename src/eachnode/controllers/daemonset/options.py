"""How the DaemonSet controller is to work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eachnode.decisions.backoff import BackoffOptions

PlacementMode = Literal["scheduler", "direct"]


@dataclass(frozen=True, slots=True)
class DaemonSetOptions:
    """Choices of whoever runs the controller."""

    placement: PlacementMode = "scheduler"  # `direct` binds pods itself, where no scheduler runs.
    workers: int = 2  # DaemonSets that are worked on at the same time.
    namespace: str = ""  # Only this namespace; all when empty.
    backoff: BackoffOptions = field(default_factory=BackoffOptions)
    expectation_timeout: float = 300.0  # Seconds after which a write that we never saw is no longer waited for.
