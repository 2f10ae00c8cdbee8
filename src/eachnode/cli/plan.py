"""`eachnode plan`: what a change of a DaemonSet would do, before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli.failures import Failure
from eachnode.cli.options import cluster_options, namespace_option
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.cli.explaining.changing import Wanted
    from eachnode.client.door import Door
    from eachnode.objects.clock import Clock

NOTHING_TO_DO, CHANGES = 0, 2


@click.command("plan", short_help="What a change would do, before it is done.")
@click.argument("daemonset", required=False, metavar="[ds/NAME]")
@click.option(
    "-f", "--filename", "files", type=click.Path(path_type=Path), multiple=True, help="What `apply` would be given."
)
@click.option("--image", "images", multiple=True, metavar="CONTAINER=IMAGE", help="Other images for ds/NAME.")
@namespace_option
@output_option("json", "yaml")
@cluster_options
def command(
    daemonset: str | None,
    files: tuple[Path, ...],
    images: tuple[str, ...],
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
    """
    from eachnode.cli.errands import errand
    from eachnode.runtime.clock import SystemClock

    async def ask(door: Door, where: str) -> tuple[str, int]:
        return await answer(
            door, SystemClock(), where, files=files, daemonset=daemonset or "", images=images, output=output
        )

    text, code = errand(kubeconfig, context, namespace, ask)
    click.echo(text)
    return code


async def answer(
    door: Door,
    clock: Clock,
    namespace: str,
    *,
    files: Sequence[Path] = (),
    daemonset: str = "",
    images: Sequence[str] = (),
    output: str | None = None,
) -> tuple[str, int]:
    """What is printed, and how the command ends."""
    from eachnode.cli.explaining.previewing import look_ahead, tell, values
    from eachnode.cli.printing import structured

    all_wanted, skipped = await _wanted(door, namespace, files, daemonset, images)
    outlooks = [await look_ahead(door, clock, wanted) for wanted in all_wanted]
    code = CHANGES if any(wanted.is_change for wanted in all_wanted) else NOTHING_TO_DO
    if output is not None:
        found: list[Any] = [values(outlook) for outlook in outlooks]
        return structured(found[0] if len(found) == 1 else found, output), code
    blocks = ["\n".join(tell(outlook)) for outlook in outlooks]
    if skipped:
        blocks.append(f"not looked at, being no DaemonSets: {', '.join(skipped)}")
    return "\n\n".join(blocks), code


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
