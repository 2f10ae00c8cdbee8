"""Manifests as people write them: several YAML documents a file, of any kind the server knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from eachnode.cli.client_side_apply import hand_over, last_applied, without_dropped
from eachnode.cli.failures import CONFIGURATION, Failure
from eachnode.client.door import Door, PatchKind
from eachnode.objects.document import Document
from eachnode.objects.resources import Resource

Tree = dict[str, Any]

FIELD_MANAGER = "eachnode"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a file, and where it stands."""

    tree: dict[str, Any]
    origin: str

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.tree["kind"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.tree["metadata"]["name"])


def read_manifests(paths: Sequence[Path]) -> list[Manifest]:
    """Every object of these files; `-` is standard input."""
    return [manifest for path in paths for manifest in _read(path)]


def _read(path: Path) -> Iterator[Manifest]:
    try:
        text = _standard_input() if str(path) == "-" else path.read_text()
        documents = list(yaml.safe_load_all(text))
    except OSError as error:
        if str(path).startswith(("http:/", "https:/")):
            fetched = str(path).replace(":/", "://", 1)
            raise Failure(f"{fetched} is not a file; fetch it first: curl -sL {fetched}", CONFIGURATION) from error
        raise Failure(f"{path}: cannot be read: {error.strerror}", CONFIGURATION) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: is no YAML: {error}", CONFIGURATION) from error
    for number, tree in enumerate(documents, 1):
        if tree is None:
            continue
        origin = f"{path}, document {number}" if len(documents) > 1 else str(path)
        yield from _objects(tree, origin)


def _objects(tree: Any, origin: str) -> Iterator[Manifest]:
    if not isinstance(tree, dict) or not tree.get("kind") or not tree.get("apiVersion"):
        raise Failure(f"{origin}: an object needs apiVersion and kind", CONFIGURATION)
    if str(tree["kind"]).endswith("List") and isinstance(tree.get("items"), list):
        for item in tree["items"]:
            yield from _objects(item, origin)
        return
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise Failure(f"{origin}: the {tree['kind']} needs metadata.name", CONFIGURATION)
    yield Manifest(tree, origin)


def _standard_input() -> str:
    """All of standard input."""
    import sys

    return sys.stdin.read()


async def resource_of(door: Door, manifest: Manifest) -> Resource:
    """Under which name the server serves a manifest's kind."""
    for resource in await door.served():
        if resource.kind == manifest.kind and resource.api_version == manifest.tree["apiVersion"]:
            return resource
    raise Failure(
        f"{manifest.origin}: the server has no kind {manifest.kind!r} in version {manifest.tree['apiVersion']!r}"
    )


async def apply_manifest(
    door: Door,
    manifest: Manifest,
    namespace: str = "default",
    *,
    before: Document | None = None,
    dry_run: bool = False,
    force: bool = True,
) -> tuple[Resource, Document]:
    """Server-side apply; the object as it then is. `before`: as it is, if it is there."""
    resource = await resource_of(door, manifest)
    where = manifest.tree["metadata"].get("namespace", namespace) if resource.namespaced else ""
    last = last_applied(before) if before is not None else None
    if before is not None and last is not None and not dry_run:
        await hand_over(door, resource, before, FIELD_MANAGER)
    document = await door.patch(
        resource,
        manifest.name,
        msgspec.json.encode(manifest.tree),
        PatchKind.APPLY,
        where,
        field_manager=FIELD_MANAGER,
        force=force,
        dry_run=dry_run,
    )
    if dry_run and last is not None:
        document = await _without_dropped(door, resource, document, last, manifest)
    return resource, document


async def _without_dropped(
    door: Door, resource: Resource, document: Document, last: Tree, manifest: Manifest
) -> Document:
    """The answer of a dry run, without what the file no longer says; what is absent then, the server fills in."""
    tree = document.tree()
    rest = without_dropped(tree, last, manifest.tree)
    if rest == tree:
        return document
    where = tree["metadata"].get("namespace", "")
    body = msgspec.json.encode(rest)
    return await door.update(resource, manifest.name, body, where, field_manager=FIELD_MANAGER, dry_run=True)
