"""What `get` was asked for, and how it is shown: page by page, so that no list is held twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

import click

from eachnode.cli.errands import each, find, told_name
from eachnode.cli.failures import Failure
from eachnode.cli.get.tables import Layout, Sheet, read_row, read_table, watch_rows
from eachnode.cli.printing import in_columns, structured, table
from eachnode.cli.targets import parse_kind, parse_targets
from eachnode.client.cluster import Cluster
from eachnode.objects.document import Document
from eachnode.objects.meta import MetadataOnly
from eachnode.objects.resources import Resource
from eachnode.objects.status import NotFound


@dataclass(frozen=True, slots=True)
class Asked:
    """Which objects: kinds, of each the names or none for all, and selectors."""

    kinds: tuple[tuple[Resource, tuple[str, ...]], ...]
    labels: str = ""
    fields: str = ""

    @classmethod
    def of(cls, words: Sequence[str], *, labels: str = "", fields: str = "") -> Asked:
        """`ds`, `ds,pods`, `ds x y`, `ds/x pod/y`."""
        if "/" not in words[0] and (len(words) == 1 or "," in words[0]):
            kinds = tuple((parse_kind(word), tuple(words[1:])) for word in words[0].split(",") if word)
        else:
            if "/" not in words[0]:
                parse_kind(words[0])
            grouped: dict[Resource, list[str]] = {}
            for target in parse_targets(words):
                grouped.setdefault(target.resource, []).append(target.name)
            kinds = tuple((resource, tuple(names)) for resource, names in grouped.items())
        if (labels or fields) and any(names for _, names in kinds):
            raise Failure("a name and a selector do not go together; leave out one of them")
        return cls(kinds, labels, fields)

    @property
    def query(self) -> Mapping[str, str]:
        """The selectors as the API takes them."""
        return {"labelSelector": self.labels, "fieldSelector": self.fields}


async def show(
    cluster: Cluster, asked: Asked, namespace: str, layout: Layout, output: str | None, *, watch: bool
) -> Sequence[str]:
    """Show it all; answers with a sentence for each name that is not there."""
    if watch:
        await _follow(cluster, asked, namespace, layout, output)
        return ()
    if output is None:
        return await _tables(cluster, asked, namespace, layout)
    if output == "name":
        return await _names(cluster, asked, namespace)
    return await _objects(cluster, asked, namespace, output)


# Tables


async def _tables(cluster: Cluster, asked: Asked, namespace: str, layout: Layout) -> Sequence[str]:
    missing: list[str] = []
    shown = 0
    for resource, names in asked.kinds:
        prefix = told_name(resource, "") if len(asked.kinds) > 1 else ""
        namespaced = layout.namespaces and resource.namespaced
        sheet = Sheet(replace(layout, prefix=prefix, namespaces=namespaced))
        missing += await _fill(cluster, asked, resource, names, namespace, sheet)
        if sheet.rows:
            lines = table(sheet.header, sheet.rows)
            click.echo("\n".join([*([""] if shown else []), *(lines if layout.headers else lines[1:])]))
            shown += 1
    if not shown and not missing:
        _say_nothing_found(asked, namespace)
    return missing


async def _fill(
    cluster: Cluster, asked: Asked, resource: Resource, names: Sequence[str], namespace: str, sheet: Sheet
) -> Sequence[str]:
    """The rows of one kind; answers what is missing."""
    if not names:
        await read_table(cluster, resource.path(namespace), asked.query, sheet)
        return ()
    missing = []
    for name in names:
        try:
            await read_row(cluster, resource.path(namespace, name), sheet)
        except NotFound:
            missing.append(await _not_there(cluster, resource, name, namespace))
    return missing


async def _not_there(cluster: Cluster, resource: Resource, name: str, namespace: str) -> str:
    try:
        await find(cluster, resource, name, namespace)
    except Failure as failure:
        return str(failure)
    return f"{told_name(resource, name)} came only now; ask again"


def _say_nothing_found(asked: Asked, namespace: str) -> None:
    only_cluster_wide = not any(resource.namespaced for resource, _ in asked.kinds)
    where = "" if only_cluster_wide else f" in namespace {namespace}" if namespace else " in any namespace"
    what = " and ".join(resource.plural for resource, _ in asked.kinds)
    click.echo(f"no {what} found{where}", err=True)


# Objects


async def _each(
    cluster: Cluster, asked: Asked, namespace: str, missing: list[str]
) -> AsyncIterator[tuple[Resource, Document]]:
    """All objects asked for, one after another."""
    for resource, names in asked.kinds:
        where = namespace if resource.namespaced else ""
        if not names:
            async for document in each(cluster, resource, where, labels=asked.labels, fields=asked.fields):
                yield resource, document
        for name in names:
            try:
                yield resource, await find(cluster, resource, name, namespace)
            except Failure as failure:
                missing.append(str(failure))


async def _names(cluster: Cluster, asked: Asked, namespace: str) -> Sequence[str]:
    missing: list[str] = []
    async for resource, document in _each(cluster, asked, namespace, missing):
        click.echo(told_name(resource, document.read(MetadataOnly).metadata.name))
    return missing


async def _objects(cluster: Cluster, asked: Asked, namespace: str, form: str) -> Sequence[str]:
    """One object as it is; several as a List, written while they come in."""
    missing: list[str] = []
    one = len(asked.kinds) == 1 and len(asked.kinds[0][1]) == 1
    writer = ListWriter(form, click.echo)
    async for resource, document in _each(cluster, asked, namespace, missing):
        text = structured(whole(resource, document), form)
        if one:
            click.echo(text)
        else:
            writer.item(text)
    if not one:
        writer.end()
    return missing


def whole(resource: Resource, document: Document) -> dict[str, Any]:
    """An object as people want to see it: with its kind, which lists leave out, and without who set which field."""
    tree = document.tree()
    tree["metadata"].pop("managedFields", None)
    return {"apiVersion": resource.api_version, "kind": resource.kind, **tree}


class ListWriter:
    """Writes a List item by item."""

    def __init__(self, form: str, say: Callable[..., object]) -> None:
        self._form, self._say = form, say
        self._empty = True

    def item(self, text: str) -> None:
        """One more object, as text in the list's form."""
        if self._form == "yaml":
            self._open("apiVersion: v1\nkind: List\nitems:\n")
            self._say("- " + indent(text, "  ").lstrip())
        else:
            self._open('{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n', between=",\n")
            self._say(indent(text, "    "), nl=False)
        self._empty = False

    def _open(self, opening: str, between: str = "") -> None:
        self._say(opening if self._empty else between, nl=False)

    def end(self) -> None:
        """No more objects."""
        if self._empty:
            self._say(structured({"apiVersion": "v1", "kind": "List", "items": []}, self._form))
        elif self._form == "json":
            self._say("\n  ]\n}")


# Changes as they come


async def _follow(cluster: Cluster, asked: Asked, namespace: str, layout: Layout, output: str | None) -> None:
    ((resource, names),) = asked.kinds
    if len(names) > 1:
        raise Failure("--watch follows one name, or all that a selector chooses")
    for name in names:
        await find(cluster, resource, name, namespace)
        asked = replace(asked, fields=f"metadata.name={name}")
    where = namespace if resource.namespaced else ""
    if output is None:
        await _follow_rows(cluster, asked, resource.path(where), layout)
    else:
        await _follow_objects(cluster, asked, resource, where, output)


async def _follow_rows(cluster: Cluster, asked: Asked, path: str, layout: Layout) -> None:
    """A table that grows; its columns stay as wide as they were at first."""
    sheet = Sheet(layout)
    await read_table(cluster, path, asked.query, sheet)
    widths = [max(map(len, column)) for column in zip(sheet.header, *sheet.rows, strict=True)]
    for row in [*([sheet.header] if layout.headers else []), *sheet.rows]:
        click.echo(in_columns(row, widths))
    async for row in watch_rows(cluster, path, asked.query, sheet):
        click.echo(in_columns(row, widths))


async def _follow_objects(cluster: Cluster, asked: Asked, resource: Resource, namespace: str, output: str) -> None:
    stream = cluster.watch(resource, namespace, labels=asked.labels, fields=asked.fields, initial=True)
    async for batch in stream:
        for event in batch:
            if event.type == "BOOKMARK":
                continue
            if output == "name":
                click.echo(told_name(resource, event.document.read(MetadataOnly).metadata.name))
            else:
                separator = "---\n" if output == "yaml" else ""
                click.echo(separator + structured(whole(resource, event.document), output))
    raise Failure("the server ended the watch; run it again to go on")
