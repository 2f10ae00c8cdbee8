"""How simulated nodes behave: their stages, their pace and their heartbeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from eachnode.decisions.pod_stages.mishaps import Mishap, read_mishaps
from eachnode.decisions.pod_stages.stages import InvalidStages, Layer, read_stages

Timing = Literal["instant", "lifelike"]
BAD_IMAGES = ("*non-existent*", "*no-such*")


@cache
def _built_in(timing: Timing, bad_images: tuple[str, ...]) -> Layer:
    text = resources.files(__package__).joinpath("stages", f"{timing}.yaml").read_text()
    return read_stages(yaml.safe_load(text), bad_images)


def load_stages(path: Path, bad_images: tuple[str, ...] = BAD_IMAGES) -> tuple[Layer, tuple[Mishap, ...]]:
    """What a user's file says of pods and of nodes; raises InvalidStages with a sentence that names the file."""
    try:
        tree = yaml.safe_load(path.read_text())
        return read_stages(tree, bad_images), read_mishaps(tree)
    except OSError as error:
        raise InvalidStages(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, InvalidStages) as error:
        raise InvalidStages(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class KubeletOptions:
    """What a simulated node does, and when."""

    timing: Timing = "instant"
    pace: float = 1.0  # Stretches the delays that the stages draw; what a pod asks for itself stays as it is.
    chaos: tuple[Layer, ...] = ()  # A user's stages; they lie over the built-in ones.
    mishaps: tuple[Mishap, ...] = ()  # What befalls nodes by themselves.
    bad_images: tuple[str, ...] = BAD_IMAGES
    workers: int = 64
    lease_every: float = 10.0  # Seconds between renewals of a node's lease.
    lease_seconds: int = 40
    status_every: float = 300.0  # Seconds between heartbeats in the node's status.
    create: int = 0  # Nodes to create at the start, those not there yet.
    template: Mapping[str, Any] | None = None  # A Node whose labels, taints and sizes they take.
    events: bool | None = None  # Whether each step of a pod is told in events; None: in lifelike timing only.
    layers: tuple[Layer, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", (*self.chaos, _built_in(self.timing, self.bad_images)))

    @property
    def tells_each_step(self) -> bool:
        """Whether pulls and starts are told in events."""
        return self.timing == "lifelike" if self.events is None else self.events
