"""`eachnode apply`: objects as their files say, by server-side apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli.failures import CONFIGURATION, FAILED, Failure
from eachnode.cli.options import KubectlCommand, cluster_options, dry_run_option, namespace_option
from eachnode.cli.printing import output_option, structured, tried

if TYPE_CHECKING:
    from eachnode.cli.manifests import Manifest
    from eachnode.client.door import Door
    from eachnode.objects.document import Document

_BOOKKEEPING = ("managedFields", "resourceVersion")
SUFFIXES = (".yaml", ".yml", ".json")


@click.command("apply", cls=KubectlCommand, short_help="Make objects as their files say.")
@click.option(
    "-f",
    "--filename",
    "paths",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="File, folder or -.",
)
@click.option("-R", "--recursive", is_flag=True, help="Folders within folders, too.")
@click.option(
    "--force-conflicts/--no-force-conflicts",
    default=True,
    show_default=True,
    help="Whether to take over fields that somebody else set.",
)
@output_option("json", "yaml", "name")
@dry_run_option
@namespace_option
@cluster_options
def command(
    paths: tuple[Path, ...],
    recursive: bool,
    force_conflicts: bool,
    output: str | None,
    dry_run: str,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Create or change objects so that they are as their files say (server-side apply).

    Every object is tried, though another one failed; the exit code is 0 only if all were accepted.

    \b
    eachnode apply -f examples/fluentd.yaml
    eachnode apply -f manifests/ --dry-run
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.manifests import read_manifests

    manifests = read_manifests(list(files_of(paths, recursive=recursive)))
    if not manifests:
        raise Failure(f"no objects in {', '.join(map(str, paths))}", CONFIGURATION)

    async def act(door: Door, where: str) -> int:
        return await apply_all(
            door, manifests, where, given_namespace=namespace, output=output, dry_run=dry_run, force=force_conflicts
        )

    return FAILED if errand(kubeconfig, context, namespace, act) else 0


def files_of(paths: Sequence[Path], *, recursive: bool = False) -> Iterator[Path]:
    """Files as they are, and the manifests in folders, by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = path.rglob("*") if recursive else path.iterdir()
        yield from sorted(each for each in inside if each.suffix in SUFFIXES and each.is_file())


async def apply_all(
    door: Door,
    manifests: Sequence[Manifest],
    namespace: str,
    *,
    given_namespace: str | None = None,
    output: str | None = None,
    dry_run: str = "none",
    force: bool = True,
) -> int:
    """Apply one after another, and say what became of each; answers how many were refused."""
    from eachnode.cli.failures import explain_failure
    from eachnode.objects.status import ApiError

    refused = 0
    for manifest in manifests:
        try:
            told = await _apply(door, manifest, namespace, given_namespace, output, dry_run, force=force)
        except (ApiError, Failure) as error:
            refused += 1
            said = explain_failure(error)[0]
            click.echo(f"error: {said if said.startswith(manifest.origin) else f'{manifest.origin}: {said}'}", err=True)
        else:
            click.echo(told)
    return refused


async def _apply(
    door: Door,
    manifest: Manifest,
    namespace: str,
    given_namespace: str | None,
    output: str | None,
    dry_run: str,
    *,
    force: bool,
) -> str:
    from eachnode.cli.errands import told_name
    from eachnode.cli.manifests import apply_manifest, resource_of
    from eachnode.objects.status import NotFound

    resource = await resource_of(door, manifest)
    says = manifest.tree["metadata"].get("namespace")
    if given_namespace and says and says != given_namespace and resource.namespaced:
        raise Failure(f"the file says namespace {says}, and the option -n says {given_namespace}")
    where = (says or namespace) if resource.namespaced else ""
    told = told_name(resource, manifest.name)
    try:
        before = await door.get(resource, manifest.name, where)
    except NotFound:
        before = None
    if dry_run == "client":
        return f"{told} {'configured' if before else 'created'}{tried(dry_run)}"
    tries = dry_run == "server"
    _, document = await apply_manifest(door, manifest, namespace, before=before, dry_run=tries, force=force)
    if output == "name":
        return told
    if output:
        return ("---\n" if output == "yaml" else "") + structured(document.tree(), output)
    if before is None:
        return f"{told} created{tried(dry_run)}"
    return f"{told} {'unchanged' if _content(before) == _content(document) else 'configured'}{tried(dry_run)}"


def _content(document: Document) -> dict[str, Any]:
    """An object without what every write changes."""
    tree = document.tree()
    metadata = {key: value for key, value in tree["metadata"].items() if key not in _BOOKKEEPING}
    return {**tree, "metadata": metadata}
