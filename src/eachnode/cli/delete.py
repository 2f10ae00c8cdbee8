"""`eachnode delete`: objects go, with or without what belongs to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eachnode.cli import completing
from eachnode.cli.failures import FAILED, Failure
from eachnode.cli.options import DURATION, KubectlCommand, cluster_options, dry_run_option, namespace_option
from eachnode.cli.printing import tried

if TYPE_CHECKING:
    from eachnode.client.door import Door
    from eachnode.objects.deletion import DeleteOptions, Propagation
    from eachnode.objects.resources import Resource

POLICIES: dict[str, Propagation] = {
    "background": "Background",
    "true": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
    "false": "Orphan",
}


@dataclass(frozen=True, slots=True)
class Doomed:
    """An object that is to go."""

    resource: Resource
    name: str
    namespace: str

    @property
    def told(self) -> str:
        """How kubectl names it."""
        from eachnode.cli.errands import told_name

        return told_name(self.resource, self.name)


@dataclass(frozen=True, slots=True)
class Selector:
    """Which objects of a kind are to go; false when none are named this way."""

    labels: str = ""
    fields: str = ""
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields or self.everything)

    @property
    def contradicts(self) -> bool:
        """Whether it says "all" and "these only" at once."""
        return self.everything and bool(self.labels or self.fields)


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is to go."""

    cascade: str = "background"
    grace: int | None = None
    wait: bool = True
    timeout: float = 0.0  # Seconds to wait; 0: for ever.
    dry_run: str = "none"
    ignore_not_found: bool = False


@click.command("delete", cls=KubectlCommand, short_help="Delete DaemonSets, pods, nodes.")
@click.argument("words", nargs=-1, shell_complete=completing.daemonsets, metavar="KIND/NAME…")
@click.option(
    "-f", "--filename", "paths", type=click.Path(path_type=Path), multiple=True, help="What these files hold."
)
@click.option("-l", "--selector", "labels", default="", metavar="LABELS", help="All of a kind with these labels.")
@click.option("--field-selector", "fields", default="", metavar="FIELDS", help="All of a kind with these fields.")
@click.option("--all", "everything", is_flag=True, help="All of a kind in the namespace.")
@click.option(
    "--cascade",
    type=click.Choice(list(POLICIES)),
    default="background",
    help="What becomes of its pods: they go after it (background), before it (foreground), or stay (orphan).",
)
@click.option("--grace-period", "grace", type=click.IntRange(0), default=None, help="Seconds to stop in.")
@click.option("--wait", type=bool, default=True, metavar="true|false", help="Wait until it is gone (default).")
@click.option("--timeout", type=DURATION, default=0.0, help="Wait no longer than this; 0: for ever.")
@click.option(
    "--ignore-not-found", type=bool, default=False, metavar="true|false", help="What is not there is no error."
)
@dry_run_option
@namespace_option
@cluster_options
def command(
    words: tuple[str, ...],
    paths: tuple[Path, ...],
    labels: str,
    fields: str,
    everything: bool,
    cascade: str,
    grace: int | None,
    wait: bool,
    timeout: float,
    ignore_not_found: bool,
    dry_run: str,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Delete objects, and wait until they are gone.

    \b
    eachnode delete ds/fluentd
    eachnode delete ds/fluentd --cascade=orphan      # its pods stay
    eachnode delete pods -l app=fluentd --wait=false
    eachnode delete pods -l app=fluentd --field-selector spec.nodeName=node-3
    eachnode delete -f examples/fluentd.yaml
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.targets import KINDS

    selector = Selector(labels, fields, everything)
    only_a_kind = len(words) == 1 and words[0].lower() in KINDS and not selector
    if selector.contradicts or (selector and paths) or not (words or paths) or only_a_kind:
        raise Failure(
            "say what is to go: KIND/NAME…, KIND with -l LABELS or --field-selector FIELDS, KIND --all, or -f FILE; "
            "one of them"
        )
    manner = Manner(cascade, grace, wait, timeout, dry_run, ignore_not_found)

    async def act(door: Door, where: str) -> int:
        chosen = [each async for each in _chosen(door, words, paths, selector, where)]
        if not chosen:
            click.echo("nothing was there to delete", err=True)
        return await delete_all(door, chosen, manner)

    return FAILED if errand(kubeconfig, context, namespace, act) else 0


async def _chosen(
    door: Door, words: Sequence[str], paths: Sequence[Path], selector: Selector, namespace: str
) -> AsyncIterator[Doomed]:
    """What is to go."""
    from eachnode.cli.apply import files_of
    from eachnode.cli.errands import each
    from eachnode.cli.manifests import read_manifests, resource_of
    from eachnode.cli.targets import parse_kind, parse_targets
    from eachnode.objects.meta import MetadataOnly

    for manifest in read_manifests(list(files_of(paths))) if paths else ():
        resource = await resource_of(door, manifest)
        where = manifest.tree["metadata"].get("namespace") or namespace
        yield Doomed(resource, manifest.name, where if resource.namespaced else "")
    if selector:
        if len(words) != 1:
            raise Failure("name one kind: eachnode delete pods -l LABELS")
        resource = parse_kind(words[0])
        where = namespace if resource.namespaced else ""
        async for document in each(door, resource, where, labels=selector.labels, fields=selector.fields):
            metadata = document.read(MetadataOnly).metadata
            yield Doomed(resource, metadata.name, metadata.namespace)
        return
    for target in parse_targets(words):
        yield Doomed(target.resource, target.name, namespace if target.resource.namespaced else "")


async def delete_all(door: Door, chosen: Sequence[Doomed], manner: Manner) -> int:
    """Delete one after another, then wait for all of them; answers how many were refused."""
    from eachnode.cli.failures import explain_failure
    from eachnode.objects.status import ApiError

    refused = 0
    going: list[tuple[Doomed, str]] = []
    for doomed in chosen:
        try:
            uid = await _delete(door, doomed, manner)
        except (ApiError, Failure) as error:
            refused += 1
            click.echo(f"error: {explain_failure(error)[0]}", err=True)
            continue
        if uid:
            going.append((doomed, uid))
            where = f" from {doomed.namespace} namespace" if doomed.namespace else ""
            told = doomed.told.replace("/", ' "') + '"'
            click.echo(f"{told} deleted{where}{tried(manner.dry_run)}")
    if manner.wait and manner.dry_run == "none" and going:
        await _until_gone(door, going, manner.timeout)
    return refused


async def _delete(door: Door, doomed: Doomed, manner: Manner) -> str:
    """Begin the deletion; the uid of what goes, or nothing when it was not there and that is no error."""
    from eachnode.cli.errands import find
    from eachnode.objects.meta import MetadataOnly
    from eachnode.objects.status import NotFound

    try:
        if manner.ignore_not_found:
            document = await door.get(doomed.resource, doomed.name, doomed.namespace)
        else:
            document = await find(door, doomed.resource, doomed.name, doomed.namespace)
        if manner.dry_run != "client":
            await door.delete(doomed.resource, doomed.name, doomed.namespace, options=_options(manner))
    except NotFound:
        if manner.ignore_not_found:
            return ""
        raise
    return document.read(MetadataOnly).metadata.uid


def _options(manner: Manner) -> DeleteOptions:
    from eachnode.objects.deletion import DeleteOptions

    return DeleteOptions(
        propagation_policy=POLICIES[manner.cascade],
        grace_period_seconds=manner.grace,
        dry_run=("All",) if manner.dry_run == "server" else (),
    )


async def _until_gone(door: Door, going: Sequence[tuple[Doomed, str]], timeout: float) -> None:
    left = list(going)
    try:
        async with asyncio.timeout(timeout or None):
            while left:
                await _gone(door, *left[0])
                left.pop(0)
    except TimeoutError as error:
        names = ", ".join(doomed.told for doomed, _ in left)
        raise Failure(f"the deletion has begun, but after {timeout:g} s these are still there: {names}") from error


async def _gone(door: Door, doomed: Doomed, uid: str) -> None:
    """Return when the object is gone, or another one has its name."""
    from eachnode.objects.meta import MetadataOnly
    from eachnode.objects.status import Gone, NotFound

    while True:
        try:
            document = await door.get(doomed.resource, doomed.name, doomed.namespace)
        except NotFound:
            return
        metadata = document.read(MetadataOnly).metadata
        if metadata.uid != uid:
            return
        try:
            await _until_deleted_event(door, doomed, metadata.resource_version)
        except Gone:
            continue  # The watch came too late for this version: look again.


async def _until_deleted_event(door: Door, doomed: Doomed, version: str) -> None:
    """Return at the object's DELETED event, or when the server ends the watch."""
    fields = f"metadata.name={doomed.name}"
    async for batch in door.watch(doomed.resource, doomed.namespace, fields=fields, version=version, timeout=60):
        if any(event.type == "DELETED" for event in batch):
            return
