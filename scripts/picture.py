"""Makes docs/images/board.svg: the board of `eachnode up` in the middle of an update, from a real run on virtual time.

    python scripts/picture.py [FILE]

The cluster is the embedded one with sixty nodes that start pods as slowly as real ones do; only its clock is virtual,
so that the picture is the same each time it is made.
"""

from __future__ import annotations

import asyncio
import io
import random
import re
import sys
from pathlib import Path

import msgspec
import yaml
from rich.console import Console, ConsoleDimensions

from eachnode.cli.board.show import draw_now, events_of
from eachnode.cli.live import LiveView
from eachnode.cli.manifests import apply_manifest, read_manifests
from eachnode.cli.set import set_images
from eachnode.client.door import Door, PatchKind
from eachnode.controllers.kubelet import KubeletOptions
from eachnode.decisions.pod_stages.stages import read_stages
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions
from eachnode.objects.resources import DAEMON_SETS, NODES
from eachnode.runtime.virtual_time import LoopClock, VirtualTimeLoop

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images" / "board.svg"
WIDTH = 100
NODES_SHOWN = 60
CHAOS = """
stages:
  - name: nginx crashes on one node
    when: {state: ready, images: ["nginx:1.27.1"], nodes: [node-12]}
    delay: 3s
    next: crashed
"""


async def _run() -> str:
    kubelet = KubeletOptions(timing="lifelike", chaos=(read_stages(yaml.safe_load(CHAOS)),))
    clock = LoopClock()
    options = ClusterOptions(nodes=NODES_SHOWN, kubelet=kubelet)
    async with EmbeddedCluster(options, clock=clock, chance=random.Random(7)) as cluster:
        door = cluster.server
        for manifest in read_manifests([ROOT / "examples" / "fluentd.yaml", ROOT / "examples" / "nginx.yaml"]):
            await apply_manifest(door, manifest)
        await asyncio.sleep(30)
        await _disturb(door)
        await asyncio.sleep(12)
        return await _picture(door, clock)


async def _disturb(door: Door) -> None:
    """An update that takes several nodes at a time, and a node that is set apart."""
    taints = {"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}
    await door.patch(NODES, "node-40", msgspec.json.encode(taints), PatchKind.MERGE)
    faster = {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 6}}}}
    await door.patch(DAEMON_SETS, "nginx-ds", msgspec.json.encode(faster), PatchKind.MERGE, "default")
    await set_images(door, "nginx-ds", "default", {"nginx": "nginx:1.27.1"})


async def _picture(door: Door, clock: LoopClock) -> str:
    """The board as SVG."""
    view, events = LiveView(door, clock=clock), events_of(door, clock)
    running = [asyncio.create_task(view.run()), asyncio.create_task(events.run())]
    await view.synced()
    await events.synced.wait()
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(draw_now(view, events, "~/.eachnode/kubeconfig", clock, ConsoleDimensions(WIDTH, 50)))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    svg = console.export_svg(title=f"eachnode up --nodes {NODES_SHOWN} --timing lifelike -f …", unique_id="board")
    # No fonts from elsewhere: the reader's own monospaced one will do.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def make_picture() -> str:
    """The picture's SVG text."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(_run())


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(make_picture())
    print(target)
