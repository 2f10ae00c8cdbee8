"""Mishaps: what befalls simulated nodes by themselves, as data in the same file as stages.

nodes:
  - name: node-7 falls silent for a while
    when: {nodes: [node-7]}
    after: 60s..90s
    do: stop
    for: 2m
  - name: a tenth of zone b is rebooted every ten minutes
    when: {nodeLabels: {topology.kubernetes.io/zone: simulated-1b}, share: 10%}
    after: 1m
    do: reboot
    every: 10m
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

import msgspec

from eachnode.decisions.pod_stages.stages import Delay, InvalidStages, matches_any, read_delay, read_share
from eachnode.decisions.pod_stages.view import SimulatedNode

Deed = Literal["stop", "start", "reboot"]


@dataclass(frozen=True, slots=True)
class Mishap:
    """One thing that befalls nodes."""

    name: str
    do: Deed
    nodes: tuple[str, ...] = ()
    node_labels: Mapping[str, str] = field(default_factory=dict)
    share: float = 1.0
    after: Delay = field(default_factory=Delay)  # Since the node was first seen.
    lasts: Delay | None = None  # After which a stopped node starts again.
    every: Delay | None = None  # After which it befalls the node once more.

    def befalls(self, node: SimulatedNode) -> bool:
        """Whether this node is one of them; always the same ones."""
        if self.nodes and not matches_any(node.name, self.nodes):
            return False
        if not self.node_labels.items() <= node.labels.items():
            return False
        return self.share >= 1.0 or crc32(f"{self.name}\0{node.name}".encode()) / 2**32 < self.share


class _When(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    nodes: tuple[str, ...] = ()
    node_labels: dict[str, str] = {}
    share: str = "100%"


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    do: Deed
    when: _When = _When()
    after: str | int | float = 0
    lasts: str | int | float | None = msgspec.field(default=None, name="for")
    every: str | int | float | None = None


def read_mishaps(tree: Any) -> tuple[Mishap, ...]:
    """What a parsed YAML file says under `nodes`; nothing when it says nothing."""
    lines = (tree.get("nodes") or []) if isinstance(tree, dict) else None
    if not isinstance(lines, list):
        raise InvalidStages("'nodes' is a list of what befalls nodes")
    return tuple(_read(line, number) for number, line in enumerate(lines, 1))


def _read(line: Any, number: int) -> Mishap:
    try:
        read = msgspec.convert(line, _Line)
        if read.lasts is not None and read.do != "stop":
            raise InvalidStages(f"'for' says how long a node is stopped; a node cannot {read.do} for a while")
        return Mishap(
            name=read.name,
            do=read.do,
            nodes=read.when.nodes,
            node_labels=read.when.node_labels,
            share=read_share(read.when.share),
            after=read_delay(read.after),
            lasts=None if read.lasts is None else read_delay(read.lasts),
            every=None if read.every is None else read_delay(read.every),
        )
    except (msgspec.ValidationError, InvalidStages) as error:
        raise InvalidStages(f"nodes, number {number}: {error}") from error
