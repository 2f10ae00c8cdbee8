"""`eachnode plan`: what a change of a DaemonSet would do, before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eachnode.cli.failures import Failure
from eachnode.cli.options import cluster_options, namespace_option, optional_daemonset_argument
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.cli.explaining.changing import Wanted
    from eachnode.cli.explaining.previewing import Outlook
    from eachnode.client.door import Door
    from eachnode.objects.clock import Clock
    from eachnode.simulation.forecast import Forecast
    from eachnode.simulation.snapshot import Snapshot

NOTHING_TO_DO, CHANGES = 0, 2


@click.command("plan", short_help="What a change would do, before it is done.")
@optional_daemonset_argument
@click.option(
    "-f", "--filename", "files", type=click.Path(path_type=Path), multiple=True, help="What `apply` would be given."
)
@click.option("--image", "images", multiple=True, metavar="CONTAINER=IMAGE", help="Other images for ds/NAME.")
@click.option("--forecast", is_flag=True, help="Also play it in simulated worlds that begin as the cluster is.")
@namespace_option
@output_option("json", "yaml")
@cluster_options
def command(
    daemonset: str,
    files: tuple[Path, ...],
    images: tuple[str, ...],
    forecast: bool,
    namespace: str | None,
    output: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Say what a change of a DaemonSet would do, without doing it.

    Nodes gained and lost, pods replaced in which order, what becomes of the history, and what is to be thought of.
    It ends with 0 when there is nothing to do, with 2 when there are changes, and with 1 when it cannot be said.

    \b
    eachnode plan -f fluentd.yaml
    eachnode plan ds/fluentd --image fluentd=fluentd:1.17
    eachnode plan -f fluentd.yaml -o json | jq .replaced
    eachnode plan ds/fluentd --image fluentd=fluentd:1.17 --forecast
    """
    from eachnode.cli.errands import errand
    from eachnode.runtime.clock import SystemClock

    async def ask(door: Door, where: str) -> Looked:
        return await look(
            door,
            SystemClock(),
            where,
            files=files,
            daemonset=daemonset,
            images=images,
            forecast=forecast,
        )

    text, code = say(errand(kubeconfig, context, namespace, ask), output)
    click.echo(text)
    return code


@dataclass(frozen=True, slots=True)
class Looked:
    """What the cluster said about the changes asked for."""

    outlooks: tuple[Outlook, ...]
    skipped: tuple[str, ...]  # Objects of the files that are no DaemonSets.
    snapshots: tuple[Snapshot | None, ...] = ()  # To forecast from, one for each outlook; None where nothing is yet.


async def look(
    door: Door,
    clock: Clock,
    namespace: str,
    *,
    files: Sequence[Path] = (),
    daemonset: str = "",
    images: Sequence[str] = (),
    forecast: bool = False,
) -> Looked:
    """Ask the cluster all that is needed to say what the changes would do."""
    from eachnode.cli.explaining.previewing import look_ahead

    all_wanted, skipped = await _wanted(door, namespace, files, daemonset, images)
    outlooks = tuple([await look_ahead(door, clock, wanted) for wanted in all_wanted])
    snapshots = tuple([await _snapshot(door, wanted) for wanted in all_wanted]) if forecast else ()
    return Looked(outlooks, tuple(skipped), snapshots)


async def _snapshot(door: Door, wanted: Wanted) -> Snapshot | None:
    from eachnode.simulation.snapshot import take

    if wanted.before is None or not wanted.is_change:
        return None
    return await take(door, wanted.before.name, wanted.before.metadata.namespace)


def say(looked: Looked, output: str | None = None) -> tuple[str, int]:
    """What is printed, and how the command ends; forecasts run event loops of their own."""
    from eachnode.cli.explaining.previewing import tell, values
    from eachnode.cli.printing import structured

    code = CHANGES if any(outlook.wanted.is_change for outlook in looked.outlooks) else NOTHING_TO_DO
    forecasts = [_forecast(outlook, snapshot) for outlook, snapshot in _pairs(looked)]
    if output is not None:
        found = [values(outlook, forecast) for outlook, forecast in zip(looked.outlooks, forecasts, strict=True)]
        return structured(found[0] if len(found) == 1 else found, output), code
    blocks = ["\n".join(tell(outlook, forecast)) for outlook, forecast in zip(looked.outlooks, forecasts, strict=True)]
    if looked.skipped:
        blocks.append(f"not looked at, being no DaemonSets: {', '.join(looked.skipped)}")
    return "\n\n".join(blocks), code


def _pairs(looked: Looked) -> Iterator[tuple[Outlook, Snapshot | None]]:
    nothing = (None,) * len(looked.outlooks)
    yield from zip(looked.outlooks, looked.snapshots or nothing, strict=True)


def _forecast(outlook: Outlook, snapshot: Snapshot | None) -> Forecast | None:
    if snapshot is None:
        return None
    from eachnode.simulation.forecast import forecast

    return forecast(snapshot, outlook.wanted.tree)


async def _wanted(
    door: Door, namespace: str, files: Sequence[Path], daemonset: str, images: Sequence[str]
) -> tuple[list[Wanted], list[str]]:
    """The changes asked for, and the objects of the files that are none."""
    from eachnode.cli.explaining.changing import from_images, from_manifest
    from eachnode.cli.manifests import read_manifests
    from eachnode.cli.targets import parse_daemonset

    if bool(files) == bool(daemonset):
        raise Failure("say what is to change: eachnode plan -f FILE, or eachnode plan ds/NAME --image CONTAINER=IMAGE")
    if daemonset:
        wanted = await from_images(door, parse_daemonset(daemonset), namespace, dict(map(_assignment, images)))
        return [wanted], []
    manifests = read_manifests(files)
    of_daemonsets = [manifest for manifest in manifests if manifest.kind == "DaemonSet"]
    if not of_daemonsets:
        raise Failure(f"there is no DaemonSet in {', '.join(map(str, files))}")
    others = [f"{manifest.kind} {manifest.name}" for manifest in manifests if manifest.kind != "DaemonSet"]
    return [await from_manifest(door, manifest, namespace) for manifest in of_daemonsets], others


def _assignment(text: str) -> tuple[str, str]:
    container, _, image = text.partition("=")
    if not container or not image:
        raise Failure(f"--image {text!r} says no image; write --image CONTAINER=IMAGE")
    return container, image
